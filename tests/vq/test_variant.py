"""The grouped parameter: by name, as itself, part by part; set whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import clone

from vqpu import Variant, VQKMeansClassifier
from vqpu.errors import ParameterError
from vqpu.vq import PAPER_FORM, VARIANTS
from vqpu.vq._variant import VARIANT_FIELDS, resolve_variant


def test_parts__every_one__reached_by_one_name() -> None:
    parameters = VQKMeansClassifier().get_params()
    assert {f"variant__{name}" for name in VARIANT_FIELDS} <= set(parameters)
    for name in VARIANT_FIELDS:
        part: dict[str, Any] = {name: "anything"}
        model = VQKMeansClassifier().set_params(**{f"variant__{name}": "anything"})
        assert model.variant == Variant(**part)


def test_parameters__at_most_22_by_plain_names() -> None:
    assert len(VQKMeansClassifier().get_params(deep=False)) == 22


def test_set_params__several__on_the_variant_that_comes_with_them() -> None:
    model = VQKMeansClassifier().set_params(variant="paper", variant__n_init=9, max_steps=3)
    assert model.variant == Variant(**{**vars(VARIANTS["paper"]), "n_init": 9})
    assert model.max_steps == 3


def test_set_params__what_is_there_already__keeps_the_name() -> None:
    model = VQKMeansClassifier(variant="paper")
    assert model.set_params(**model.get_params()).variant == "paper"


@pytest.mark.parametrize(
    ("variant", "params", "message"),
    [
        ("default", {"variant__anchor": "moving"}, "Valid parts of the variant are"),
        ("default", {"check_every": 5}, "say 'variant__check_every'"),
        ("nope", {"variant__anchors": "moving"}, "Unknown variant 'nope'"),
    ],
)
def test_set_params__wrong__one_sentence_and_nothing_set(
    variant: str, params: dict[str, Any], message: str
) -> None:
    model = VQKMeansClassifier(variant=variant)
    with pytest.raises(ParameterError, match=message):
        model.set_params(max_steps=3, **params)
    assert (model.max_steps, model.variant) == (None, variant)


@pytest.mark.parametrize("variant", ["papr", 3, None, {"anchors": "moving"}])
def test_fit__no_variant__refused(variant: Any) -> None:
    model = VQKMeansClassifier(variant=variant)
    assert "variant__anchors" not in model.get_params()
    with pytest.raises(ParameterError, match=r"variant"):
        model.fit([[0.0], [1.0]], [0, 1])


def test_clone__and_repr__show_what_differs() -> None:
    model = VQKMeansClassifier(variant=Variant(anchors="moving"))
    assert clone(model).variant == model.variant
    assert repr(model) == "VQKMeansClassifier(variant=Variant(anchors='moving'))"


def test_paper_form__is_the_text_of_the_paper() -> None:
    model = VQKMeansClassifier(**PAPER_FORM)
    variant = resolve_variant(model.variant)
    assert (variant.anchors, variant.codebook_update, variant.decision) == (
        "moving", "adam", "nearest-center",
    )  # fmt: skip
    assert (variant.stopping_signal, variant.weight_average) == ("center-distance", 0)
    assert (model.learning_rate, variant.codebook_rate) == (1e-4, 1e-4)
    assert (model.n_members, model.n_rounds, model.holdout, model.dropout) == (1, 1, 0, 0)
