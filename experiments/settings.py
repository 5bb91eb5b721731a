"""Strict TOML: an item's settings by profile, and the paper's own numbers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from experiments.item import ItemSettings
from experiments.registry import PAPER_ITEMS, load_item, runs_of
from vqpu.errors import InputError, did_you_mean

PROFILES = ("smoke", "cpu", "paper")
_EXPECTED = "expected.toml"


def check_profile(profile: str) -> None:
    """Refuse an unknown profile."""
    if profile not in PROFILES:
        raise InputError(f"Unknown profile {profile!r}. Valid profiles are {list(PROFILES)}.")


def read_settings(name: str, profile: str, paper_dir: Path) -> ItemSettings:
    """Read one profile of ``paper/ITEM.toml``; what it shares with the others is in [shared].

    Parameters
    ----------
    name : str
        An item of the paper.
    profile : {"smoke", "cpu", "paper"}
    paper_dir : Path
        Where the TOML files are.
    """
    check_profile(profile)
    kind = load_item(runs_of(name)).settings
    if kind is None:
        raise InputError(f"{name} is a study: it has no settings in {paper_dir}.")
    path = paper_dir / f"{runs_of(name)}.toml"
    tables = _read_toml(path)
    for key, value in tables.items():
        _check_known(key, ("shared", *PROFILES), str(path))
        if not isinstance(value, dict):
            raise InputError(f"{key} in {path} must be a table. Got {value!r} instead.")
    if profile not in tables:
        raise InputError(f"{path} has no table [{profile}]: add it, or ask for another profile.")
    merged = _merge(tables.get("shared", {}), tables[profile])
    try:
        return kind.model_validate(merged)
    except ValidationError as error:
        raise InputError(_sentence(error, f"{path} [{profile}]")) from error


def read_expected(name: str, paper_dir: Path) -> dict[str, Any]:
    """Return the paper's numbers for an item, empty where it has none."""
    path = paper_dir / _EXPECTED
    tables = _read_toml(path)
    for key in tables:
        _check_known(key, tuple(PAPER_ITEMS), str(path))
    return dict(tables.get(name, {}))


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"{path} is not there: run from the folder that holds paper/, or give --paper-dir."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}. Correct the file.") from error


def _merge(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Put a profile's values over the shared ones, table by table."""
    merged = dict(shared)
    for key, value in own.items():
        is_table = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if is_table else value
    return merged


def _check_known(key: str, known: tuple[str, ...], where: str) -> None:
    if key not in known:
        hint = did_you_mean(key, known) or f" Valid keys are {list(known)}."
        raise InputError(f"Unknown key {key!r} in {where}.{hint}")


def _sentence(error: ValidationError, where: str) -> str:
    # A misspelt key is told as such and not as the missing one.
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    if not first["loc"]:  # of parts that do not go together
        return f"{where} cannot be used: {first['msg'].removeprefix('Value error, ')}."
    *tables, key = (str(part) for part in first["loc"])
    place = ".".join([where, *tables]) if tables else where
    if first["type"] == "extra_forbidden":
        return f"Unknown key {key!r} in {place}. Remove it or correct its name."
    if first["type"] == "missing":
        return f"Key {key!r} is missing in {place}. Add it."
    return f"{key} in {place} cannot be used: {first['msg']}. Got {first['input']!r} instead."
