"""Progress on a terminal, elsewhere, and not at all."""

from __future__ import annotations

import sys

import pytest

from vqpu.training._progress import _Clock, progress_reporter

ROW = {"center_distance": 12.5, "positive_share": 0.25, "codes_in_use": 3, "holdout_loss": 0.5}


def report_twice(verbose: int) -> None:
    with progress_reporter(verbose, "VQ K-means", 40) as report:
        report(20, ROW)
        report(40, ROW)


def test_silent__prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    report_twice(verbose=0)
    assert capsys.readouterr() == ("", "")


def test_no_terminal__a_line_a_check(capsys: pytest.CaptureFixture[str]) -> None:
    report_twice(verbose=1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("VQ K-means: step 20 of at most 40, center distance 12.5")


def test_terminal__a_bar_with_the_last_check(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    report_twice(verbose=1)
    shown = capsys.readouterr().err
    assert "VQ K-means" in shown
    assert "40/40" in shown
    assert "positive 0.25" in shown


def test_time_left__by_the_pace_since_the_first_step_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = iter([100.0, 104.0, 104.5, 200.0])
    monkeypatch.setattr("vqpu.training._progress.time.monotonic", lambda: next(now))
    clock = _Clock(60)
    assert clock.time_left(20) == ""  # of a resumed fit: no pace yet
    assert clock.time_left(30) == ", at most 12 s left"
    assert clock.time_left(58) == ""  # under a second
    assert clock.time_left(60) == ""
