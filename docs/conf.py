"""Sphinx settings of the site: ``make docs`` builds it, offline and without a warning.

The site needs no foreign host: formulas become MathML, scripts and fonts are the theme's own.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

# The fits are small: beside other work, threads that wait for each other cost minutes.
os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_extensions"))

import vqpu  # noqa: E402

project = "vqpu"
author = "the authors of vqpu"
project_copyright = "the authors of vqpu, BSD-3-Clause"
release = version = vqpu.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "examples", "api/generated/*.md"]
nitpicky = True
smartquotes = False  # "auto" and --label are to be copied as they stand

highlight_language = "none"  # what is Python says so
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

# Types stand in the docstrings, with shapes; signatures stay short.
autodoc_typehints = "none"
autodoc_inherit_docstrings = False  # of torch and Python
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"  # fit(), not VQKMeansClassifier.fit(), in the margin
autosummary_generate = True
autosummary_imported_members = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "vqpu"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # it fetches pages, which a site opened as files cannot
html_use_index = False
html_math_renderer = "mathml"
html_theme_options: dict[str, Any] = {
    "logo": {"text": "vqpu", "image_light": "_static/icon.svg", "image_dark": "_static/icon.svg"},
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "commands": []}  # pages without neighbours

sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("vqpu",),
    "reference_url": {"vqpu": None},
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": True,
    "abort_on_example_error": False,
    "write_computation_times": False,  # its page would load scripts from elsewhere
    "thumbnail_size": (400, 280),
}


def keep_our_own(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out members that come from scikit-learn, torch or Python and are documented there."""
    if type(obj).__name__ == "_tuplegetter":  # a field of a NamedTuple, under Attributes already
        return True
    target = getattr(obj, "fget", None) or getattr(obj, "__func__", None) or obj
    home = getattr(target, "__module__", None) or "builtins"
    return True if callable(target) and not home.startswith("vqpu") else None


def name_records(app: Any, page: str, source: list[str]) -> None:
    """Turn links to records of the repository into their names: the site does not carry them."""
    source[0] = re.sub(r"\[[^\]]*\]\(\.\./(results/[^)]*\.md)\)", r"`\1`", source[0])


def setup(app: Any) -> None:
    """Connect what this file adds to Sphinx."""
    app.connect("source-read", name_records)
    app.connect("autodoc-skip-member", keep_our_own)
