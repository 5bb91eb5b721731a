"""What a fitted model predicts for a sample of its training data, kept with it for a later report.

The sample is two extra files of the model, and neither runs any code when it is read.

``sample.safetensors``, one row for every kept sample, unlabelled ones first:

==============  ========  =======  ==================================================
name            dtype     shape    meaning
==============  ========  =======  ==================================================
``is_labeled``  uint8     (n,)     1 for labelled positives
``score``       float64   (n,)     log odds of being positive
``projection``  float64   (n,)     s(x), 0 at the unlabelled anchor, 1 at the positive one
``codes``       int16     (n, K)   code indices (int32 above 32,768 codes); left out for
                                   continuous encodings
==============  ========  =======  ==================================================

``sample.json``: ``format`` (1), ``kind`` ("images" or "rows"), ``n_positive`` and ``n_unlabeled``
(of the whole training data), ``names`` (n entries: path, id or row number), ``findings`` (of
:func:`vqpu.diagnose`: name, level, value, sentence) and ``galleries``: under "positive",
"negative" and "doubtful" up to 24 entries each, out of the kept unlabelled samples, the clearest
first ("doubtful": nearest to the border), with

- ``sample``: its row in the tensors;
- ``image``: for images, a JPEG of at most 64 x 64 pixels in base64, else null;
- ``row``: for tables and vectors, its values by column (at most 200 columns), else null.

Most of the samples were trained on, so their scores look better than those of fresh samples would;
those of held-out ones are in the model itself (``holdout_projections_``, ``holdout_log_odds_``).
"""

from __future__ import annotations

import base64
import binascii
import io
import json
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from vqpu.errors import ModelFileError
from vqpu.files import ColumnPlan, PUData
from vqpu.persistence._bundle import Bundle
from vqpu.persistence._tensors import pack, unpack
from vqpu.report._diagnosis import diagnose
from vqpu.vq._classifier import VQKMeansClassifier

JSON_FILE, TENSOR_FILE = "sample.json", "sample.safetensors"
GALLERIES = ("positive", "negative", "doubtful")
MOST_UNLABELED, MOST_LABELED = 2000, 500
GALLERY = 24
THUMBNAIL = 64
_MOST_COLUMNS = 200
_LONGEST_TEXT = 600
_FORMAT = 1
_JPEG = b"\xff\xd8"


class TrainingSample(NamedTuple):
    """What was kept, read back; see the module's description for its parts.

    Attributes
    ----------
    is_labeled : ndarray of bool, shape (n,)
    scores, projections : ndarray of float64, shape (n,)
    codes : ndarray of int, shape (n, K), or None
    names : list of length n
    kind : {"images", "rows"}
    n_positive, n_unlabeled : int
    findings : list of dict
    galleries : dict of list of dict
    """

    is_labeled: NDArray[np.bool_]
    scores: NDArray[np.float64]
    projections: NDArray[np.float64]
    codes: NDArray[Any] | None
    names: list[Any]
    kind: str
    n_positive: int
    n_unlabeled: int
    findings: list[dict[str, Any]]
    galleries: dict[str, list[dict[str, Any]]]


def make_training_sample(model: VQKMeansClassifier, data: PUData) -> dict[str, bytes]:
    """Return the two files of a sample, by name, for ``model.save(path, extras=...)``.

    Parameters
    ----------
    model : VQKMeansClassifier
        Fitted.
    data : PUData
        What it was fitted on.
    """
    kept = _choose(data.y)
    encodings = model.encode(np.array(data.X[kept], order="C"))
    scores = model.decision_rule_.log_odds(encodings)
    tensors = {
        "is_labeled": data.y[kept].astype(np.uint8),
        "score": scores,
        "projection": encodings.projection,
    }
    if model.variant_.encoding == "codes":
        tensors["codes"] = encodings.representation
    galleries = {
        name: [_entry(data, kept, sample) for sample in members]
        for name, members in _galleries(scores, data.y[kept] == 0).items()
    }
    plain = {
        "format": _FORMAT,
        "kind": "images" if _are_images(galleries) else "rows",
        "n_positive": int(data.y.sum()),
        "n_unlabeled": int((data.y == 0).sum()),
        "names": [_plain(data.names[int(row)]) for row in kept],
        "findings": findings_of(model),
        "galleries": galleries,
    }
    text = json.dumps(plain, default=_plain, allow_nan=False)
    as_torch = {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in tensors.items()}
    return {JSON_FILE: text.encode(), TENSOR_FILE: pack(as_torch)}


def read_training_sample(bundle: Bundle) -> TrainingSample | None:
    """Return the sample that was kept with a model, None if it was saved without one.

    What does not hold together is refused rather than shown.

    Parameters
    ----------
    bundle : Bundle
        Of the model.
    """
    if JSON_FILE not in bundle.manifest.get("extras", []):
        return None
    try:
        sample = _parse(json.loads(bundle.read(JSON_FILE)), unpack(bundle.read(TENSOR_FILE)))
        _check_sample(sample)
    except (LookupError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise ModelFileError(
            f"The training sample in {bundle.path} does not hold together ({error!r:.200}). Fit "
            "the model again."
        ) from error
    return sample


def findings_of(
    model: VQKMeansClassifier, sample: TrainingSample | None = None
) -> list[dict[str, Any]]:
    """Return the findings that were kept at the fit, or make them of a model saved in Python.

    Parameters
    ----------
    model : VQKMeansClassifier
    sample : TrainingSample or None
    """
    if sample is not None:
        return sample.findings
    return [finding._asdict() for finding in diagnose(model)]


def _parse(plain: dict[str, Any], tensors: dict[str, torch.Tensor]) -> TrainingSample:
    if plain["format"] != _FORMAT:
        raise ValueError(f"format {plain['format']!r}, where this vqpu reads {_FORMAT}")
    columns = {name: tensor.numpy() for name, tensor in tensors.items()}
    return TrainingSample(
        columns["is_labeled"].astype(bool),
        columns["score"],
        columns["projection"],
        columns.get("codes"),
        *(plain[name] for name in TrainingSample._fields[4:]),
    )


def _check_sample(sample: TrainingSample) -> None:
    n, codes = len(sample.names), sample.codes
    columns = (sample.is_labeled, sample.scores, sample.projections, codes)
    lengths = {len(column) for column in columns if column is not None}
    if lengths != {n}:
        raise ValueError(f"{n} names for columns of {sorted(lengths)} samples")
    if not np.isfinite(sample.scores).all():
        raise ValueError("scores are not finite")
    if codes is not None and (codes.ndim != 2 or codes.min() < 0):
        raise ValueError("codes must be a matrix of indices")
    for finding in sample.findings:
        if not {"level", "name", "sentence"} <= set(finding):
            raise ValueError(f"a finding lacks a part: {finding}")
    for gallery in GALLERIES:
        for entry in sample.galleries[gallery]:
            _check_entry(entry, n)


def _check_entry(entry: dict[str, Any], n: int) -> None:
    if not 0 <= entry["sample"] < n:
        raise ValueError(f"a gallery shows sample {entry['sample']} of {n}")
    image, row = entry["image"], entry["row"]
    if image is None and not isinstance(row, dict):
        raise ValueError("a gallery entry has neither an image nor a row")
    if image is not None and not base64.b64decode(image, validate=True).startswith(_JPEG):
        raise ValueError("an image is no JPEG")


def _choose(y: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return rows to keep: a fixed random sample of U in order, then one of P."""
    rng = np.random.default_rng(0)
    parts = []
    for label, most in ((0, MOST_UNLABELED), (1, MOST_LABELED)):
        rows = np.flatnonzero(y == label)
        parts.append(np.sort(rng.choice(rows, min(most, len(rows)), replace=False)))
    return np.concatenate(parts)


def _galleries(
    scores: NDArray[np.float64], is_unlabeled: NDArray[np.bool_]
) -> dict[str, list[int]]:
    """Name the clearest and the most doubtful unlabelled samples by their place in the sample."""
    places = np.flatnonzero(is_unlabeled)
    own = scores[places]
    keys: dict[str, tuple[Callable[[NDArray[Any]], NDArray[Any]], NDArray[np.bool_]]] = {
        "positive": (np.negative, own > 0),
        "negative": (np.positive, own <= 0),
        "doubtful": (np.abs, np.ones(len(own), bool)),
    }
    chosen = {}
    for name, (key, allowed) in keys.items():
        candidates = places[allowed]
        order = np.argsort(key(scores[candidates]), kind="stable")[:GALLERY]
        chosen[name] = candidates[order].tolist()
    return chosen


def _entry(data: PUData, kept: NDArray[np.int64], sample: int) -> dict[str, Any]:
    row = int(kept[sample])
    values = np.asarray(data.X[row] if data.raw is None else data.raw(row))
    if values.dtype.kind == "U":
        return {"sample": sample, "image": None, "row": {"text": str(values)[:_LONGEST_TEXT]}}
    is_image = values.ndim > 1
    return {
        "sample": sample,
        "image": _thumbnail(values) if is_image else None,
        "row": None if is_image else _row(values, data.plan),
    }


def _are_images(galleries: dict[str, list[dict[str, Any]]]) -> bool:
    return any(entry["image"] is not None for name in galleries for entry in galleries[name])


def _thumbnail(pixels: NDArray[Any]) -> str:
    from PIL import Image

    if pixels.ndim == 3 and pixels.shape[0] < pixels.shape[2]:
        pixels = pixels.transpose(1, 2, 0)
    if pixels.ndim == 3 and pixels.shape[2] != 3:
        pixels = pixels.mean(axis=2)
    if pixels.dtype != np.uint8:  # floats have no fixed range: the picture's own is stretched
        low, high = float(pixels.min()), float(pixels.max())
        pixels = ((pixels - low) * (255 / max(high - low, 1e-12))).astype(np.uint8)
    picture = Image.fromarray(pixels)
    picture.thumbnail((THUMBNAIL, THUMBNAIL))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=85)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _row(values: NDArray[Any], plan: ColumnPlan | None) -> dict[str, Any]:
    if plan is None:
        return {
            str(index): None if np.isnan(value) else float(value)
            for index, value in enumerate(values[:_MOST_COLUMNS])
        }
    return dict(islice(plan.row(values).items(), _MOST_COLUMNS))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
