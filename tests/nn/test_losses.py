from __future__ import annotations

import math

import pytest
import torch

from tests.reference import method
from vqpu.nn import codebook_loss, equation_1, gaussian_kl_loss, nearest_code, target_loss


def test_target_loss__hand_computed__sum_over_vectors_mean_over_samples() -> None:
    vectors = torch.tensor([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 2.0], [1.0, 1.0]]])
    # sample 1: 1 + 0, sample 2: 4 + 2, mean 3.5
    assert target_loss(vectors, torch.zeros(2)).item() == 3.5


def test_equation_1__hand_computed__four_named_terms() -> None:
    positive = torch.tensor([[[3.0]], [[5.0]]])
    unlabeled = torch.tensor([[[1.0]], [[0.0]], [[2.0]]])
    codebook = torch.tensor([[0.0], [4.0]])
    terms = equation_1(
        positive,
        unlabeled,
        codebook[nearest_code(positive, codebook)],
        codebook[nearest_code(unlabeled, codebook)],
        positive_anchor=torch.tensor([4.0]),
        unlabeled_anchor=torch.tensor([0.0]),
    )
    assert terms.positive_target.item() == 1.0  # (1 + 1) / 2
    assert terms.positive_codebook.item() == 1.0
    assert terms.unlabeled_target.item() == pytest.approx(5 / 3)  # (1 + 0 + 4) / 3
    # 2 is as near to 0 as to 4: code 0, hence 4 again
    assert terms.unlabeled_codebook.item() == pytest.approx(5 / 3)


def test_equation_1__random__equals_reference() -> None:
    generator = torch.Generator().manual_seed(0)
    positive = torch.randn(4, 3, 5, generator=generator)
    unlabeled = torch.randn(6, 3, 5, generator=generator)
    codebook = torch.randn(8, 5, generator=generator)
    terms = equation_1(
        positive,
        unlabeled,
        codebook[nearest_code(positive, codebook)],
        codebook[nearest_code(unlabeled, codebook)],
        codebook[-1],
        codebook[0],
    )
    expected = method.equation_1(
        *(t.double().numpy() for t in (positive, unlabeled, codebook, codebook[-1], codebook[0]))
    )
    for name, value in terms._asdict().items():
        assert value.item() == pytest.approx(expected[name], rel=1e-5), name


def test_gradients__first_terms_reach_the_encoder_and_second_terms_the_codes_alone() -> None:
    vectors = torch.tensor([[[1.0]]], requires_grad=True)
    code = torch.tensor([[[3.0]]], requires_grad=True)
    anchor = torch.tensor([5.0], requires_grad=True)
    target_loss(vectors, anchor).backward()  # type: ignore[no-untyped-call]
    assert vectors.grad is not None
    assert vectors.grad.item() == -8.0
    assert anchor.grad is None
    vectors.grad = None
    codebook_loss(vectors, code).backward()  # type: ignore[no-untyped-call]
    assert vectors.grad is None
    assert code.grad is not None
    assert code.grad.item() == 4.0


def test_equation_1__sets_of_different_size__each_is_averaged() -> None:
    one, many = torch.ones(1, 2, 3), torch.ones(100, 2, 3)
    zero = torch.zeros(3)
    terms = equation_1(one, many, one, many, zero, zero)
    assert terms.positive_target.item() == terms.unlabeled_target.item() == 6.0


def test_gaussian_kl__hand_computed() -> None:
    mean, log_variance = torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[0.0, math.log(4.0)]]])
    # KL(N(1,1) || N(0,1)) = 1/2 and KL(N(0,4) || N(0,1)) = (4 - 1 - log 4) / 2
    expected = 0.5 + (3 - math.log(4)) / 2
    assert gaussian_kl_loss(mean, log_variance, torch.zeros(2)).item() == pytest.approx(expected)


def test_gaussian_kl__random__equals_integration() -> None:
    generator = torch.Generator().manual_seed(0)
    mean, log_variance = torch.randn(2, 3, 2, 2, generator=generator)
    target = torch.tensor([0.5, -1.0])
    expected = method.gaussian_kl(
        *(tensor.double().numpy() for tensor in (mean, log_variance, target))
    )
    assert gaussian_kl_loss(mean, log_variance, target).item() == pytest.approx(expected, rel=1e-5)
