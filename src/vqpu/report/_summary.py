"""The parts in words and numbers: findings, alpha and its cross-check, what was fitted."""

from __future__ import annotations

from typing import Any, NamedTuple

from vqpu.estimators._finding import DOUBT, FAILED, OK
from vqpu.persistence._saving import plain_parameters
from vqpu.report._reported_model import ReportedModel
from vqpu.report._training_sample import findings_of
from vqpu.vq._classifier import VQKMeansClassifier

LEVELS = (OK, DOUBT, FAILED)  # from good to bad
_MOST_COLUMNS = 20
_SILENT = ("verbose", "device", "random_state")  # how a fit was run, not what was fitted


class Diagnosis(NamedTuple):
    """The findings and what they amount to.

    Attributes
    ----------
    level : {"ok", "doubt", "failed"}
        The worst of the findings' levels.
    headline : str
    findings : list of dict
        With "name", "level" and "sentence", the worst first.
    """

    level: str
    headline: str
    findings: list[dict[str, Any]]


def diagnosis_of(reported: ReportedModel) -> Diagnosis:
    """Return the findings of the fit, or make them if none were kept.

    Parameters
    ----------
    reported : ReportedModel
    """
    findings = findings_of(reported.model, reported.sample)
    badness = {level: place for place, level in enumerate(LEVELS)}
    ordered = sorted(findings, key=lambda finding: -badness.get(finding["level"], 1))
    worst = max((badness.get(finding["level"], 1) for finding in findings), default=1)
    count = sum(badness.get(finding["level"], 1) == worst for finding in findings)
    headline = (
        f"Nothing that was looked at speaks against this model ({count} findings).",
        f"There is reason to doubt this model ({count} of {len(findings)} findings).",
        f"This model did not work ({count} of {len(findings)} findings say so).",
    )[worst]
    return Diagnosis(LEVELS[worst], headline, ordered)


class AlphaCheck(NamedTuple):
    """alpha, the share of positives among the unlabelled samples, beside what it is checked by.

    Attributes
    ----------
    alpha : float
    interval : tuple of two float
        Where it lies with 90 % confidence.
    n_samples : int
        Unlabelled samples that it rests on.
    positive_share : float
    theoretical_alpha : float
        ``1 / s_P - 1``, the paper's limit.
    sentence : str or None
        Of the finding about alpha.
    """

    alpha: float
    interval: tuple[float, float]
    n_samples: int
    positive_share: float
    theoretical_alpha: float
    sentence: str | None


def alpha_check(reported: ReportedModel, diagnosis: Diagnosis) -> AlphaCheck:
    """Gather the estimates of alpha.

    Parameters
    ----------
    reported : ReportedModel
    diagnosis : Diagnosis
    """
    model = reported.model
    sentences = [found["sentence"] for found in diagnosis.findings if found["name"] == "alpha"]
    return AlphaCheck(
        model.alpha_,
        model.alpha_interval_,
        len(model.holdout_projections_[1]),
        model.positive_share_,
        model.theoretical_alpha_,
        sentences[0] if sentences else None,
    )


def changed_parameters(parameters: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return name, value and default of the parameters that were set otherwise than by default.

    Parameters
    ----------
    parameters : dict
        As the manifest has them.

    Examples
    --------
    >>> changed_parameters({"patience": 7, "holdout": 0.15, "verbose": 1})
    [('patience', '7', '5')]
    """
    defaults = plain_parameters(VQKMeansClassifier().get_params())
    return [
        (name, _shown(value), _shown(defaults.get(name)))
        for name, value in parameters.items()
        if name not in _SILENT and value != defaults.get(name)
    ]


def facts(reported: ReportedModel) -> list[tuple[str, str]]:
    """Return what was fitted on what, as pairs of a heading and a text.

    Parameters
    ----------
    reported : ReportedModel
    """
    model, sample = reported.model, reported.sample
    held_out = "{:,} labelled, {:,} unlabelled".format(*model.n_holdout_)
    found = [
        ("Method", f"{type(model).__name__}, {_encoders(model.n_members_)}"),
        ("Takes", reported.takes),
        ("Classes", "{} (negative), {} (positive)".format(*reported.classes)),
    ]
    if sample is not None:
        found.append(("Labelled positives", f"{sample.n_positive:,}"))
        found.append(("Unlabelled samples", f"{sample.n_unlabeled:,}"))
    found.append(("Never trained on by the encoder that scored them", held_out))
    rounds = f" in {model.n_rounds_} rounds" if model.n_rounds_ > 1 else ""
    found.append(("Training", f"{model.n_steps_:,} steps{rounds}, ended by {model.stop_reason_}"))
    found.append(("Seed", _shown(reported.parameters.get("random_state"))))
    versions = ", ".join(f"{name} {number}" for name, number in reported.versions.items())
    found.append(("Versions", versions))
    return found


def training_note(n_members: int, n_held_out: int, n_unlabeled: int) -> str:
    """Return in a sentence which of the unlabelled samples were trained on.

    Parameters
    ----------
    n_members : int
    n_held_out : int
        Unlabelled samples that some member is kept from.
    n_unlabeled : int

    Examples
    --------
    >>> training_note(1, 63, 420)
    'Of all 420, 63 were held out and the others trained on.'
    """
    if not n_held_out:
        return "They were trained on."
    if n_members > 1:
        return f"Each was held out from one of the {n_members} encoders and trained on by others."
    return f"Of all {n_unlabeled:,}, {n_held_out:,} were held out and the others trained on."


def importance_rows(reported: ReportedModel) -> list[tuple[str, str]] | None:
    """Return the columns that matter most to trees with their shares, None for networks.

    Parameters
    ----------
    reported : ReportedModel
    """
    shares = getattr(reported.model, "feature_importances_", None)
    if shares is None or reported.columns is None:
        return None
    names, summed = reported.columns.names, reported.columns.summed(shares).tolist()
    ranked = sorted(zip(summed, names, strict=True), key=lambda pair: -pair[0])
    return [(name, f"{share:.1%}") for share, name in ranked[:_MOST_COLUMNS] if share > 0]


def _encoders(count: int) -> str:
    return "one encoder" if count == 1 else f"{count} encoders"


def _shown(value: Any) -> str:
    if isinstance(value, dict) and "callable" in value:
        return f"the function {value['callable']}"
    return "none" if value is None else str(value)
