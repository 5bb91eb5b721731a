"""From the user's files to a model directory."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from vqpu.errors import UsageError
from vqpu.files import PUData
from vqpu.files._decisions import apply_decisions, read_decisions
from vqpu.files._feature_data import with_feature_defaults
from vqpu.files._input_format import INPUT_FILE
from vqpu.files._models import is_model
from vqpu.files._settings import FitSettings
from vqpu.files._training_data import TrainingData, check_sources, read_sources
from vqpu.persistence._model import check_free
from vqpu.training import ALONE, Ranks, was_restarted
from vqpu.vq._classifier import VQKMeansClassifier

Describe = Callable[[VQKMeansClassifier, PUData], dict[str, bytes]]


def fit_files(
    settings: FitSettings, describe: Describe, *, quiet: bool = False, ranks: Ranks = ALONE
) -> VQKMeansClassifier:
    """Read the data, fit a classifier and save it with its input format.

    Ctrl-C during training keeps the best state so far and saves it.

    Parameters
    ----------
    settings : FitSettings
    describe : callable
        Makes further files of the model and its training data, by name, that are saved with it.
    quiet : bool
        Whether to show no progress.
    ranks : Ranks
        The processes that fit together; the first one saves. Ctrl-C ends several without a model.

    Returns
    -------
    VQKMeansClassifier
        Its ``stop_reason_`` is "interrupted" after Ctrl-C.
    """
    # What others find there is of the first one, or of a start before this one.
    is_new = not ranks.any(was_restarted()) and ranks.is_first
    checkpoints = check_fit(settings, is_new=is_new)
    assert settings.out is not None
    quiet = quiet or not ranks.is_first
    parameters = {"verbose": 0 if quiet else 1} | settings.estimator_parameters()
    if settings.features is not None:
        parameters = with_feature_defaults(parameters)
    model = VQKMeansClassifier().set_params(**parameters)
    model._check_parameters()  # a wrong one is refused before images are decoded
    decisions = None if settings.decisions is None else read_decisions(settings.decisions)
    with ranks.first_alone():
        data, input_format = read_sources(settings, quiet=quiet)
    known: dict[str, Any] = {}
    if decisions is not None:
        decided = apply_decisions(
            data, decisions, are_paths=input_format.kind in ("images", "texts")
        )
        if not quiet:
            print(decided.describe(), file=sys.stderr)
        data, known = data._replace(y=decided.y), decided.masks()
    with patient_interrupts() as training_has_ended:
        model.fit(
            data.X,
            data.y,
            checkpoint_dir=checkpoints,
            on_interrupt="keep-best" if ranks.size == 1 else "raise",
            ranks=ranks,
            **known,
        )
        training_has_ended()
        if not ranks.is_first:
            return model
        _name_examples(model, data)
        extras = {INPUT_FILE: input_format.to_json(), **describe(model, data)}
        model.save(settings.out, extras=extras)
    return model


def check_fit(settings: FitSettings, *, is_new: bool = True) -> Path | None:
    """Raise if the data or the places of a fit cannot be used; return its folder of checkpoints.

    Parameters
    ----------
    settings : FitSettings
    is_new : bool
        Whether what lies at the places is of an earlier fit, and not of this one.
    """
    if settings.out is None:
        raise UsageError("Say where the model goes: --out MODEL.")
    check_free(settings.out)
    check_sources(settings)
    checkpoints = _checkpoint_folder(settings, is_new=is_new)
    refuse_model(settings.out, overwrite=settings.overwrite or settings.resume or not is_new)
    return checkpoints


def refuse_model(out: str, *, overwrite: bool) -> None:
    """Raise if there is a model already that is not to be replaced.

    Parameters
    ----------
    out : path
    overwrite : bool
    """
    if is_model(out) and not overwrite:
        raise UsageError(
            f"{out} is a model already. Pass --overwrite to replace it, or choose another path."
        )


def fit_method(model: Any, training: TrainingData, out: str, describe: Describe) -> None:
    """Fit a method on all samples and save it with its input format.

    Parameters
    ----------
    model : classifier
        Of a comparison; it can be saved.
    training : TrainingData
    out : path
    describe : callable
        As in :func:`fit_files`; for VQ K-means only, as findings and pages are.
    """
    data, input_format = training
    extras = {INPUT_FILE: input_format.to_json()}
    with patient_interrupts() as training_has_ended:
        model.fit(data.X, data.y, on_interrupt="keep-best")
        training_has_ended()
        _name_examples(model, data)
        if isinstance(model, VQKMeansClassifier):
            extras |= describe(model, data)
        model.save(out, extras=extras)


def _name_examples(model: Any, data: PUData) -> None:
    """Let findings name samples as the user knows them, by file or id."""
    if getattr(model, "evidence_", None) is not None and not isinstance(data.names, range):
        model.evidence_ = model.evidence_.naming(data.names)


def _checkpoint_folder(settings: FitSettings, *, is_new: bool) -> Path | None:
    """Return where checkpoints go; going on with old ones must be asked for."""
    if settings.checkpoint_dir is None and not settings.resume:
        return None
    assert settings.out is not None
    default = f"{settings.out.rstrip('/')}.checkpoints"
    folder = Path(settings.checkpoint_dir or default)
    if folder.resolve().is_relative_to(Path(settings.out).resolve()):
        raise UsageError(
            f"Checkpoints in {folder} would lie in the model's own directory {settings.out}, which "
            "takes no further file. Choose another --checkpoint-dir."
        )
    if is_new and not settings.resume and folder.is_dir() and any(folder.iterdir()):
        raise UsageError(
            f"{folder} is not empty. Pass --resume to go on from its checkpoints, or choose "
            "another folder."
        )
    return folder


@contextmanager
def patient_interrupts() -> Iterator[Callable[[], None]]:
    """Let the first Ctrl-C end training, take no notice of a second one and obey the third.

    Who presses twice out of impatience must not lose the model that is being saved. Give a function
    that says that training has ended by itself: from then on the next Ctrl-C is the second. Other
    threads than the main one get no signals, so nothing changes there.
    """
    n_pressed = 0

    def has_ended() -> None:
        nonlocal n_pressed
        n_pressed = max(n_pressed, 1)

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal n_pressed
        n_pressed += 1
        if n_pressed == 2:
            # print may be under way in the code that was interrupted
            os.write(2, b"vqpu: saving; press Ctrl-C once more to give up.\n")
            return
        signal.default_int_handler(number, frame)

    before = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or before is not signal.default_int_handler:  # ignored, or somebody else's
        yield has_ended
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield has_ended
    finally:
        signal.signal(signal.SIGINT, before)
