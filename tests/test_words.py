"""The pages stay short, and the code speaks the words of its field."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A private language that was left behind: decision rule, predictions, diagnosis, unlabelled data
# and package say the same and need no explanation.
LEFT_BEHIND = re.compile(
    r"\b(Answers?|Judged|Conclusion|Verdict|Evidence|Subject|Exhibit|Twin|Shown|heap|rooms?)\b"
)
LONGEST_PAGE = 90


def speaking_files() -> list[Path]:
    folders = [ROOT / "src", ROOT / "docs"]
    found = [path for folder in folders for path in sorted(folder.rglob("*"))]
    kinds = {".py", ".md", ".jinja", ".toml"}
    return [ROOT / "README.md", *(path for path in found if path.suffix in kinds)]


def test_words__none_of_those_left_behind() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in speaking_files()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for match in LEFT_BEHIND.finditer(line)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md"])
def test_page__one_sitting(name: str) -> None:
    assert len((ROOT / name).read_text("utf-8").splitlines()) <= LONGEST_PAGE
