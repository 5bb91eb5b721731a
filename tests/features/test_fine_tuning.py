"""Fine-tuning: the first layers extract once, the last ones are trained by the fit."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.features_tools import pictures
from vqpu import VQKMeansClassifier, load, stack_pu
from vqpu.errors import ParameterError
from vqpu.features import Extractor, ImageInput, extract, fine_tune

IMAGE = ImageInput(size=16, resize=16, mean=(0.5,) * 3, std=(0.25,) * 3)


@pytest.fixture
def network() -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Conv2d(3, 6, 5, stride=4),
            nn.ReLU(),
            nn.Conv2d(6, 8, 3),
            nn.BatchNorm2d(8),
            nn.Flatten(),
        )


def data(extractor: Extractor) -> tuple[np.ndarray, np.ndarray]:
    unlabeled = [
        *pictures(40, is_positive=True, seed=1),
        *pictures(60, is_positive=False, seed=2),
    ]
    return stack_pu(
        extract(extractor, pictures(60, is_positive=True, seed=0)),
        extract(extractor, unlabeled),
    )


def quick(encoder: object) -> VQKMeansClassifier:
    return VQKMeansClassifier(
        encoder=encoder, max_steps=60, n_rounds=1, n_members=2, random_state=0
    )


def test_fine_tune__fit_save_load__last_layers_learn_and_ours_stay(
    network: nn.Sequential, tmp_path: Path
) -> None:
    before = copy.deepcopy(network.state_dict())
    extractor, encoder = fine_tune(network[:2], network[2:], image=IMAGE)
    X, y = data(extractor)
    assert X.shape[1] == 6 * 3 * 3
    model = quick(encoder).fit(X, y)
    hidden = np.arange(len(y))[y == 0]
    assert np.mean((model.predict(X[hidden]) == 1) == (np.arange(100) < 40)) > 0.85
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    learned: Any = model.network_.encoder
    assert not torch.equal(learned.members[0].layers[0].weight, network.state_dict()["2.weight"])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model", encoder=encoder)
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_last_layers__at_the_start__the_pretrained_ones_on_raw_input(
    network: nn.Sequential,
) -> None:
    _, make = fine_tune(network[:2], network[2:], image=IMAGE, n_vectors=3)
    encoder = make((54,), 7)
    x = torch.rand(4, 54)
    expected = network.eval()[2:](x.view(4, 6, 3, 3))
    vectors = encoder.eval()(x)
    assert vectors.shape == (4, 3, 7)
    assert torch.equal(vectors, encoder.linear(expected).view(4, 3, 7))


def test_fit__last_layers__input_is_not_standardised(network: nn.Sequential) -> None:
    extractor, encoder = fine_tune(network[:2], network[2:], image=IMAGE)
    model = quick(encoder).fit(*data(extractor))
    normalizer: Any = model.network_.encoder.normalizer
    assert not normalizer.mean.any()
    assert (normalizer.std == 1).all()


def test_fine_tune__refusals(network: nn.Sequential) -> None:
    with pytest.raises(ParameterError, match="last must be a torch module"):
        fine_tune(network[:2], len, image=IMAGE)
    with pytest.raises(ParameterError, match="It turned one sample into list"):
        fine_tune(nn.Identity(), network)
    with pytest.raises(ParameterError, match="n_vectors"):
        fine_tune(network[:2], network[2:], image=IMAGE, n_vectors=0)
    with pytest.raises(ParameterError, match=r"last cannot take .* shape \(6, 3, 3\)"):
        fine_tune(network[:2], nn.Linear(7, 2), image=IMAGE)
    _, encoder = fine_tune(network[:2], network[2:], image=IMAGE)
    with pytest.raises(ParameterError, match="54 numbers"):
        quick(encoder).fit(np.random.default_rng(0).random((50, 5)), np.arange(50) % 2)
