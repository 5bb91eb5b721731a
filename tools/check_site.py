"""Looks at the built site: ``python tools/check_site.py docs/_build/html``.

Every link inside the site must lead to a page and a place on it, and no page may load anything from
elsewhere: no script, style, font or picture of a foreign host.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADING = {"script", "link", "img", "iframe", "source", "video", "audio", "embed", "object"}
_ELSEWHERE = re.compile(r"^(?:[a-z]+:)?//")
_IN_STYLE = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")


class Page(HTMLParser):
    """What a page links to, what it loads, and the places on it.

    Parameters
    ----------
    text : str
        Of an HTML file.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one element."""
        found = {name: value for name, value in attrs if value is not None}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        address = found.get("src") or found.get("href") or found.get("data")
        if tag in _LOADING and address:
            self.loaded.append(address)
        elif tag == "a" and address:
            self.links.append(address)


def faults_of(site: Path) -> list[str]:
    """Return what is wrong with a site, a sentence each.

    Parameters
    ----------
    site : Path
        Folder of HTML files.
    """
    pages = {path: Page(path.read_text("utf-8")) for path in _pages(site)}
    faults = [fault for path in pages for fault in _faults_of_page(path, pages, site)]
    for path in sorted(site.rglob("*.css")):
        foreign = _IN_STYLE.findall(path.read_text("utf-8"))
        faults += [f"{path.relative_to(site)} loads {address}." for address in foreign]
    return faults


def _pages(site: Path) -> list[Path]:
    """Return the pages; what lies in _static are the theme's templates."""
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def _faults_of_page(path: Path, pages: dict[Path, Page], site: Path) -> list[str]:
    name, page = path.relative_to(site), pages[path]
    faults = []
    for address in page.loaded:
        if _ELSEWHERE.match(address):
            faults.append(f"{name} loads {address} from elsewhere.")
        elif not _leads_somewhere(address, path, pages):
            faults.append(f"{name} loads {address}, which is not there.")
    inside = [one for one in page.links if not urlsplit(one).scheme and not _ELSEWHERE.match(one)]
    dead = sorted({one for one in inside if not _leads_somewhere(one, path, pages)})
    return faults + [f"{name} links to {address}, which is not there." for address in dead]


def _leads_somewhere(address: str, path: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(address)
    if parts.scheme == "data":
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not parts.fragment or target not in pages:
        return target.exists()
    return unquote(parts.fragment) in pages[target].places


def main(folder: str) -> int:
    """Print the faults of a site and return the exit code."""
    site = Path(folder).resolve()
    faults = faults_of(site)
    pages = len(_pages(site))
    if not pages:
        faults = [f"{folder} holds no page."]
    print("\n".join(faults) or f"{pages} pages: every link leads somewhere, nothing is foreign.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
