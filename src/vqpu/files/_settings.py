"""Settings of a fit: from a TOML file, the command line or both, checked before any work."""

from __future__ import annotations

import json
import re
import tomllib
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from vqpu.errors import InputError, ParameterError, UsageError, did_you_mean
from vqpu.vq._classifier import VQKMeansClassifier
from vqpu.vq._variant import Variant

_LARGEST_FILE = 1 << 20
# Options with a name of their own.
_OPTIONS = {"id": "id_column", "seed": "random_state", "skip_broken": "on_broken"}


class Sources(BaseModel):
    """Where positives and unlabelled samples are, and how they are read.

    Attributes
    ----------
    data : path or None
        One table, one folder of images or one ``.npz`` file with both kinds of samples.
    label, positive : str or None
        Column of labels of ``data`` (or of ``labels``), and the value of positives.
    labels, file_column : path or None, and str
        For a folder as ``data``: the CSV that names its files and their labels.
    positives, unlabeled : path or None
        Instead of ``data``: two folders, two arrays or two tables.
    id_column : str or None
        Column of tables that names the rows.
    columns : list of str or None
        The only columns of tables to learn from; None means all.
    drop : list of str
        Columns of tables to leave out.
    number, category, text : list of str
        Columns of tables that are taken as such, whatever they look like.
    features : path or None
        A pretrained network, an ONNX file or a local Hugging Face directory: pictures, or the
        texts of a folder or of the column ``text``, are learned from by its features.
    missing : {"keep", "refuse"}
        Whether missing values of tables are values like others, or an error.
    image_size, image_mode, on_broken
        How images are read.
    cache_dir : path or None
        Where decoded images lie; None means the user's cache folder.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    data: str | None = None
    label: str | None = None
    positive: str | int | float | bool | None = None
    labels: str | None = None
    file_column: str = "file"
    positives: str | None = None
    unlabeled: str | None = None
    id_column: str | None = None
    columns: list[str] | None = None
    drop: list[str] = []
    number: list[str] = []
    category: list[str] = []
    text: list[str] = []
    features: str | None = None
    missing: str = "keep"
    image_size: int = 64
    image_mode: str = "RGB"
    on_broken: str = "raise"
    cache_dir: str | None = None


class FitSettings(Sources):
    """Sources, where the model goes, and every parameter of the estimator by its own name.

    ``decisions`` is a file of ``vqpu review``: a yes is a labelled positive, a no a known negative.
    """

    out: str | None = None
    decisions: str | None = None
    checkpoint_dir: str | None = None
    resume: bool = False
    overwrite: bool = False

    def estimator_parameters(self) -> dict[str, Any]:
        """Return the parameters that were set, for ``VQKMeansClassifier().set_params``."""
        names = set(VQKMeansClassifier().get_params())
        return {name: getattr(self, name) for name in self.model_fields_set & names}


def fit_settings(config: Path | None, options: dict[str, Any]) -> FitSettings:
    """Read the settings of a fit; what ``options`` name takes the place of the file's entries.

    Parameters
    ----------
    config : Path or None
        A TOML or JSON file with the names of :class:`FitSettings` and of parameters.
    options : dict
        Those that were given on the command line.
    """
    entries = {} if config is None else _named_as_options(_read_config(config))
    for name in entries:
        _check_name(name, str(config), _setting_names())
    try:
        return _model().model_validate(entries | _named_as_options(options))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"][:1]))
        raise ParameterError(
            f"{name} = {first['input']!r:.100} cannot be used: {first['msg']}."
        ) from None


def parse_assignments(assignments: list[str], known: Sequence[str] | None = None) -> dict[str, Any]:
    """Read ``name=value`` pairs; values are TOML, bare words text; a parameter may be None.

    Parameters
    ----------
    assignments : list of str
    known : sequence of str or None
        Names that may be set; None means those of :class:`FitSettings` and of VQ K-means.

    Examples
    --------
    >>> parse_assignments(["max_steps=500", "augment=none", "batch_size=None"])
    {'max_steps': 500, 'augment': 'none', 'batch_size': None}
    """
    parsed: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if equals and name.startswith("variant."):
            hint = f"{name.replace('.', '__')}={value}"
            raise UsageError(f"A field of the variant is set by two underscores: --set {hint}.")
        if not equals or not name.isidentifier():
            raise UsageError(f"--set needs NAME=VALUE, as max_steps=500. Got {assignment!r}.")
        _check_name(name, "--set", _setting_names() if known is None else known)
        try:
            parsed[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            is_unset = value == "None" and name not in FitSettings.model_fields  # may be a label
            parsed[name] = None if is_unset else value
    return parsed


_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def parse_duration(text: str) -> float:
    """Return the seconds of a time such as 90, 90s, 2m or 1.5h.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> parse_duration("2m")
    120.0
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)([smh]?)", text.strip())
    if found is None or float(found[1]) == 0:
        raise UsageError(f"A time is a number above 0 with s, m or h, such as 2m. Got {text!r}.")
    return float(found[1]) * _UNITS[found[2]]


def parse_share(text: str) -> float | list[float]:
    """Return a share such as 0.15, or the two of an interval such as 0.1,0.2.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> parse_share("0.1,0.2")
    [0.1, 0.2]
    """
    try:
        shares = [float(part) for part in text.split(",")]
    except ValueError:
        shares = []
    if not 1 <= len(shares) <= 2:
        raise UsageError(f"A share is a number such as 0.15, or two, 0.1,0.2. Got {text!r}.")
    return shares[0] if len(shares) == 1 else shares


def _model() -> type[FitSettings]:
    """Return the settings with a field for every parameter of the estimator, type included."""
    hints = typing.get_type_hints(VQKMeansClassifier.__init__)
    parts = typing.get_type_hints(Variant)
    hints |= {f"variant__{name}": hint for name, hint in parts.items()}
    # What a text can say of them.
    hints |= {"encoder": str, "random_state": int | None, "variant": str}
    defaults = VQKMeansClassifier().get_params()
    fields: dict[str, Any] = {name: (hints[name], value) for name, value in defaults.items()}
    return create_model("FitSettings", __base__=FitSettings, **fields)


def _named_as_options(entries: dict[str, Any]) -> dict[str, Any]:
    """Return a file's entries by the names of settings; those of options are as good."""
    for option, name in _OPTIONS.items():
        if option in entries and name in entries:
            raise ParameterError(f"{option} and {name} mean the same: give one of them.")
    named = {_OPTIONS.get(name, name): value for name, value in entries.items()}
    if "skip_broken" in entries:
        if not isinstance(entries["skip_broken"], bool):
            raise ParameterError(
                f"skip_broken must be true or false. Got {entries['skip_broken']!r} instead."
            )
        named["on_broken"] = "skip" if entries["skip_broken"] else "raise"
    return named


def _setting_names() -> list[str]:
    return [*_OPTIONS, *FitSettings.model_fields, *VQKMeansClassifier().get_params()]


def _check_name(name: str, where: str, known: Sequence[str]) -> None:
    if name in known:
        return
    hint = did_you_mean(name, known) or f" Known are {', '.join(sorted(known))}."
    raise ParameterError(f"Unknown key {name!r} in {where}.{hint}")


def _read_config(path: Path) -> dict[str, Any]:
    is_json = path.suffix.lower() == ".json"
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError(f"{path} is too large for a file of settings.")
        text = path.read_text("utf-8")
        found: dict[str, Any] = json.loads(text) if is_json else tomllib.loads(text)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:  # of decoding too
        kind = "JSON" if is_json else "TOML"
        raise InputError(f"{path} cannot be read as {kind}: {error}.") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} must hold an object of settings. It holds {found!r:.50}.")
    return found
