"""``make dist`` looks into the wheel; here, what it must see."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tools.check_dist import FIELDS, NEEDED, faults_of, main

METADATA = "".join(f"{field}: vqpu\n" for field in FIELDS) + "\n# vqpu\n"


def wheel(folder: Path, *more: str, without: str = "", metadata: str = METADATA) -> Path:
    path = folder / "vqpu-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in (*NEEDED, *more):
            if name != without:
                archive.writestr(name, "")
        archive.writestr("vqpu-1.dist-info/METADATA", metadata)
    return path


def test_faults_of__sound_wheel__none(tmp_path: Path) -> None:
    assert faults_of(wheel(tmp_path)) == []


@pytest.mark.parametrize("name", ["experiments/__main__.py", "tests/test_cli.py"])
def test_faults_of__foreign_folder__named(name: str, tmp_path: Path) -> None:
    (fault,) = faults_of(wheel(tmp_path, name))
    assert name.split("/")[0] in fault


def test_faults_of__untyped_or_without_readme__named(tmp_path: Path) -> None:
    faults = faults_of(wheel(tmp_path, without="vqpu/py.typed", metadata="Name: vqpu\n\n"))
    assert "vqpu/py.typed is missing." in faults
    assert "The metadata lack the README." in faults
    assert "The metadata lack Summary." in faults


def test_main__no_wheel__fails(tmp_path: Path) -> None:
    assert main(str(tmp_path)) == 1
    wheel(tmp_path)
    assert main(str(tmp_path)) == 0
