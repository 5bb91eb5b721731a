from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.reference import method
from vqpu.nn import Codebook, nearest_code, nearest_code_pruned, project_on_anchors


def test_codebook__drawn_in_any_order__sorted_by_norm_with_anchors_at_the_ends() -> None:
    book = Codebook(torch.tensor([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]]))
    assert book.vectors.tolist() == [[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]]
    assert book.unlabeled_anchor.tolist() == [1.0, 0.0]
    assert book.positive_anchor.tolist() == [3.0, 4.0]


def test_nearest_code__hand_computed__including_ties() -> None:
    codes = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0]])
    vectors = torch.tensor([[[0.9, 0.0], [1.0, 0.0]], [[1.1, 0.0], [0.0, 2.0]]])
    # (1, 0) is as near to code 0 as to code 1, (0, 2) as near to 0 as to 2: the first wins.
    assert nearest_code(vectors, codes).tolist() == [[0, 0], [1, 0]]


def test_nearest_code__equal_codes__first_index() -> None:
    codes = torch.tensor([[5.0], [1.0], [1.0]])
    assert nearest_code(torch.tensor([[1.2]]), codes).tolist() == [1]


def test_nearest_code__random__equals_reference() -> None:
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(7, 5, 6, generator=generator)
    codes = torch.randn(20, 6, generator=generator)
    expected = method.nearest_code(vectors.double().numpy(), codes.double().numpy())
    assert np.array_equal(nearest_code(vectors, codes).numpy(), expected)


def test_nearest_code__differentiable_input__no_gradient() -> None:
    vectors = torch.randn(3, 2, 4, requires_grad=True)
    codes = nearest_code(vectors, torch.randn(5, 4, requires_grad=True))
    assert not codes.requires_grad
    assert codes.dtype == torch.int64


@pytest.mark.parametrize("spread", [0.01, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("n_used", [1, 2, 3, 20])
def test_pruned__vectors_around_few_or_many_codes__equals_the_full_search(
    spread: float, n_used: int
) -> None:
    generator = torch.Generator().manual_seed(n_used)
    book = torch.randn(64, 16, generator=generator)
    centers = book[torch.randint(0, n_used, (4096,), generator=generator)]
    vectors = (centers + spread * torch.randn(4096, 16, generator=generator)).view(512, 8, 16)
    assert torch.equal(nearest_code_pruned(vectors, book), nearest_code(vectors, book))


def test_pruned__two_codes_in_all__equals_the_full_search() -> None:
    book = torch.tensor([[0.0, 0.0], [4.0, 0.0]])
    vectors = torch.rand(100, 2, 2) * 4
    assert torch.equal(nearest_code_pruned(vectors, book), nearest_code(vectors, book))


def test_projection__hand_computed__mean_over_vectors() -> None:
    positive, unlabeled = torch.tensor([4.0, 0.0]), torch.tensor([0.0, 0.0])
    vectors = torch.tensor([[[4.0, 9.0], [2.0, -1.0]], [[0.0, 3.0], [0.0, 0.0]]])
    assert project_on_anchors(vectors, positive, unlabeled).tolist() == [0.75, 0.0]


def test_projection__random__equals_reference() -> None:
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(6, 4, 3, generator=generator)
    anchors = torch.randn(2, 3, generator=generator)
    ours = project_on_anchors(vectors, anchors[0], anchors[1]).numpy()
    expected = method.projection(
        vectors.double().numpy(), anchors[0].double().numpy(), anchors[1].double().numpy()
    )
    np.testing.assert_allclose(ours, expected, rtol=1e-6)


def test_anchors__codes_move__frozen_stay_and_moving_follow() -> None:
    for moving in (False, True):
        book = Codebook(torch.tensor([[1.0], [2.0], [9.0]]), moving_anchors=moving)
        with torch.no_grad():
            book.vectors[-1] = 0.5  # now the smallest norm: still the positives' code
        assert book.positive_anchor.item() == (0.5 if moving else 9.0)
        assert book.unlabeled_anchor.item() == 1.0


def test_follow__hand_computed__anchors_codes_move_towards_their_mean() -> None:
    book = Codebook(torch.tensor([[0.0], [5.0], [10.0]]))
    vectors = torch.tensor([[[8.0]], [[10.0]], [[1.0]], [[3.0]]])  # two positives, two unlabelled
    codes = torch.tensor([[2], [2], [0], [0]])
    book.follow(vectors, codes, n_positive=2, rate=0.5)
    # code 2: halfway from 10 to mean(8, 10); code 0: halfway from 0 to mean(1, 3).
    assert book.vectors.flatten().tolist() == [1.0, 5.0, 9.5]


def test_follow__another_code_in_use__stays() -> None:
    book = Codebook(torch.tensor([[0.0], [5.0], [10.0]]))
    book.follow(torch.tensor([[[9.0]], [[6.0]]]), torch.tensor([[2], [1]]), 1, rate=0.5)
    assert book.vectors.flatten().tolist() == [3.0, 5.0, 9.5]


def test_follow__nothing_falls_on_the_positives_code__it_comes_to_them() -> None:
    book = Codebook(torch.tensor([[0.0], [5.0], [10.0]]))
    vectors = torch.tensor([[[4.0]], [[0.0]]])
    book.follow(vectors, torch.tensor([[0], [0]]), n_positive=1, rate=0.5)
    assert book.vectors.flatten().tolist() == [1.0, 5.0, 7.0]


def test_follow__random__equals_reference() -> None:
    generator = torch.Generator().manual_seed(0)
    book = Codebook(torch.randn(3, 2, generator=generator))
    vectors = 2 * torch.randn(6, 4, 2, generator=generator)
    codes = nearest_code(vectors, book.vectors)
    before = book.vectors.detach().double().numpy().copy()
    book.follow(vectors, codes, n_positive=2, rate=0.3)
    expected = method.follow(before, vectors.double().numpy(), codes.numpy(), 2, 0.3)
    np.testing.assert_allclose(book.vectors.detach().numpy(), expected, rtol=1e-5)
