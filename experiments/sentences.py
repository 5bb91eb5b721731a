"""English sentences of installed packages: what the docstrings of their functions begin with.

Written by people, about subjects that differ by package, and there wherever the packages are. They
are read from source files, which are not run.
"""

from __future__ import annotations

import ast
import re
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# Subject of a task, and the packages whose sentences are its positives.
SUBJECTS: dict[str, tuple[str, ...]] = {
    "graphs": ("networkx",),
    "plots": ("matplotlib",),
    "statistics": ("scipy/stats", "sklearn"),
    "internet": ("std:http", "std:urllib", "std:email", "std:xmlrpc", "std:ftplib.py",
                 "std:smtplib.py", "std:imaplib.py", "std:ssl.py", "std:socket.py",
                 "std:socketserver.py", "requests", "urllib3"),
}  # fmt: skip
# What else is drawn from: other subjects of the same kind of English.
OTHERS = (
    "numpy", "pandas", "scipy/signal", "scipy/linalg", "scipy/optimize", "scipy/sparse",
    "scipy/spatial", "torch/nn", "torch/distributed", "PIL", "sympy/core", "sympy/geometry",
    "sympy/physics", "std:asyncio", "std:multiprocessing", "std:unittest", "std:tkinter",
    "std:logging", "pyarrow", "fontTools",
)  # fmt: skip
_FEWEST_WORDS, _MOST_WORDS = 5, 40
_SKIPPED = {"tests", "test", "testing", "_vendor", "externals"}


@cache
def sentences(place: str) -> list[str]:
    """Return the first sentences of all docstrings below a package, each once, sorted.

    Parameters
    ----------
    place : str
        A folder or file of the installed packages, or of the standard library after "std:".
    """
    is_standard = place.startswith("std:")
    root = Path(sysconfig.get_path("stdlib" if is_standard else "purelib"))
    path = root / place.removeprefix("std:")
    files = [path] if path.suffix == ".py" else sorted(path.rglob("*.py"))
    found = {
        sentence
        for file in files
        if not _SKIPPED & {*file.relative_to(root).parts}
        for sentence in _first_sentences(file)
    }
    return sorted(found)


def labeled_sentences(subject: str) -> tuple[list[str], list[int]]:
    """Return sentences, sorted, and 1 for those about a subject.

    A sentence that stands both there and elsewhere is left out.

    Parameters
    ----------
    subject : str
        A key of :data:`SUBJECTS`.
    """
    own = {one for place in SUBJECTS[subject] for one in sentences(place)}
    elsewhere = [p for name, places in SUBJECTS.items() if name != subject for p in places]
    others = {one for place in (*elsewhere, *OTHERS) for one in sentences(place)}
    both = own & others
    texts = sorted((own | others) - both)
    return texts, [int(text in own) for text in texts]


def _first_sentences(file: Path) -> Iterator[str]:
    try:
        tree = ast.parse(file.read_text("utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):  # of templates and of other versions
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node) or ""
            first = " ".join(docstring.split("\n\n")[0].split())
            first = re.split(r"(?<=[a-z)])\. ", first)[0].rstrip(".")
            n_words = len(re.findall(r"[A-Za-z]{2,}", first))
            if _FEWEST_WORDS <= n_words <= _MOST_WORDS and first.isascii():
                yield first
