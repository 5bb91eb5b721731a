from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.loopback import BODY, Server, names, serving
from vqpu.datasets import DATASETS
from vqpu.datasets._digests import digest_fault
from vqpu.datasets._download import download
from vqpu.datasets._http import Patience, check_address, check_peer
from vqpu.errors import DownloadError

SHORT = Patience(answer=0.4, window=0.3, least_bytes=1000)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.mark.parametrize("path", ["good", "whole", "redirect//good", "steps/5", "endless_redirect"])
def test_download__sound_answer__whole_file(server: Server, tmp_path: Path, path: str) -> None:
    seen: list[tuple[int, int]] = []
    target = download(server.remote(path), tmp_path, report=lambda *now: seen.append(now))
    assert target == tmp_path / "toy/file"
    assert target.read_bytes() == BODY
    assert names(tmp_path) == ["file"]
    assert seen[0] == (0, len(BODY))
    assert seen[-1] == (len(BODY), len(BODY))


def test_download__there_already__nothing_asked(server: Server, tmp_path: Path) -> None:
    for _ in range(2):
        download(server.remote("good"), tmp_path)
    assert len(server.requests) == 1


def test_download__another_file_there__left_alone(server: Server, tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy/file").write_text("mine")
    with pytest.raises(DownloadError, match=r"is there, but its sha256 is .* Move it away"):
        download(server.remote("good"), tmp_path)
    assert (tmp_path / "toy/file").read_text() == "mine"
    assert server.requests == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("other", "does not hold the official file: its sha256 is .* Nothing was kept"),
        ("more", "sends more than 300000 bytes. Nothing was kept"),
        ("huge", "announces 10000000000 bytes, expected 300000"),
        ("packed", "in an encoding that was not asked for"),
        ("wrong_range", "answers 206"),
        ("status/404", "answers 404"),
        ("status/500", "answers 500"),
        ("nonsense", "cannot be fetched: SSH"),
        ("silent", "did not answer within 0.4 seconds|cannot be fetched: timed out"),
        ("drip_header", "did not answer within 0.4 seconds"),
        ("steps/6", "more than 5 redirects"),
        ("redirect/file:///etc/passwd", "file:///etc/passwd is refused"),
        ("redirect/ftp://127.0.0.1/x", "is refused: only https"),
        ("redirect/http://169.254.169.254/latest", "169.254.169.254/latest is refused"),
        ("redirect/http://10.0.0.1/x", "is refused"),
        ("redirect/https://10.0.0.1/x", "is refused"),
        ("redirect/https://example.org/x", "is refused"),
        ("redirect/http://[bad/x", "cannot be fetched"),
        ("redirect/", "more than 5 redirects"),
    ],
)
def test_download__wrong_answer__refused_and_nothing_left(
    server: Server, tmp_path: Path, path: str, message: str
) -> None:
    with pytest.raises(DownloadError, match=message) as caught:
        download(server.remote(path), tmp_path, patience=SHORT)
    assert "\n" not in str(caught.value)
    assert names(tmp_path) == []


def test_download__no_server__refused(server: Server, tmp_path: Path) -> None:
    remote = server.remote("good")._replace(addresses=("http://127.0.0.1:1/x",))
    with pytest.raises(DownloadError, match=r"127.0.0.1:1/x cannot be fetched: .*refused"):
        download(remote, tmp_path)
    assert names(tmp_path) == []


def test_download__proxy_in_the_environment__asked_for_a_tunnel(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", server.address(""))
    remote = server.remote("good")._replace(addresses=("https://example.org/x",))
    with pytest.raises(DownloadError, match="Tunnel connection failed: 403"):
        download(remote, tmp_path)
    assert server.requests == [("example.org:443", None)]
    assert names(tmp_path) == []


def test_download__slow__given_up_but_kept(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"too slow to wait for. Fetch again to go on"):
        download(server.remote("drip"), tmp_path, patience=SHORT)
    kept = (tmp_path / "toy/.file.part").read_bytes()
    assert 0 < len(kept) < 1000
    assert BODY.startswith(kept)


def test_download__cut__goes_on_where_it_ended(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"ended after 100000 of 300000 bytes. Fetch again"):
        download(server.remote("cut"), tmp_path)
    assert names(tmp_path) == [".file.part"]
    assert download(server.remote("cut"), tmp_path).read_bytes() == BODY
    assert server.requests == [("/cut", None), ("/cut", "bytes=100000-")]
    assert names(tmp_path) == ["file"]


def with_part(folder: Path, content: bytes) -> Path:
    (folder / "toy").mkdir()
    (folder / "toy/.file.part").write_bytes(content)
    return folder


def test_download__server_without_ranges__starts_again(server: Server, tmp_path: Path) -> None:
    assert download(server.remote("whole"), with_part(tmp_path, b"x" * 500)).read_bytes() == BODY


@pytest.mark.parametrize(
    ("path", "part", "message"),
    [
        ("good", b"wrong", "does not hold the official file"),
        ("wrong_range", BODY[:10], "announces the range 'bytes 0-299999/300000', expected from"),
        ("status/416", BODY[:10], "answers 416"),
    ],
)
def test_download__bad_resumption__part_removed(
    server: Server, tmp_path: Path, path: str, part: bytes, message: str
) -> None:
    with pytest.raises(DownloadError, match=message):
        download(server.remote(path), with_part(tmp_path, part))
    assert names(tmp_path) == []


@pytest.mark.parametrize("part", [BODY, BODY[:-1] + b"x", BODY + b"x"])
def test_download__part_of_full_length__judged_by_digest(
    server: Server, tmp_path: Path, part: bytes
) -> None:
    assert download(server.remote("good"), with_part(tmp_path, part)).read_bytes() == BODY
    assert len(server.requests) == (0 if part == BODY else 1)


def test_download__first_mirror_fails__second_goes_on(server: Server, tmp_path: Path) -> None:
    remote = server.remote("status/404", "always_cut", "good")
    assert download(remote, tmp_path).read_bytes() == BODY
    assert server.requests[-1] == ("/good", "bytes=100000-")


def test_download__link_in_the_way__not_followed(server: Server, tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "toy/.file.part").symlink_to(tmp_path / "mine")
    with pytest.raises(DownloadError, match="cannot be written"):
        download(server.remote("good"), tmp_path)
    assert (tmp_path / "mine").read_text() == "mine"


def test_download__another_fetch_under_way__refused(server: Server, tmp_path: Path) -> None:
    with (with_part(tmp_path, b"x") / "toy/.file.part").open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(DownloadError, match="being written by another fetch"):
            download(server.remote("good"), tmp_path)
    assert names(tmp_path) == [".file.part"]


def test_download__no_room__both_numbers_named(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 12

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    with pytest.raises(DownloadError, match="has room for 12 bytes, but 300000 are needed"):
        download(server.remote("good"), tmp_path)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("address", "local", "sound"),
    [
        ("https://example.org/x", False, True),
        ("http://example.org/x", False, False),
        ("http://127.0.0.1/x", False, False),  # from https never to http
        ("http://localhost:80/x", True, True),
        ("https://example.org/x", True, False),  # from loopback never out
        ("https://user:secret@example.org/x", False, False),
        ("https:///x", False, False),
        ("file:///etc/passwd", False, False),
        ("", False, False),
    ],
)
def test_check_address(address: str, local: bool, sound: bool) -> None:
    judged(lambda: check_address(address, local=local), sound)


@pytest.mark.parametrize(
    ("peer", "local", "sound"),
    [
        ("93.184.216.34", False, True),
        ("2606:4700::6810:84e5", False, True),
        ("127.0.0.1", False, False),
        ("10.1.2.3", False, False),
        ("172.16.0.1", False, False),
        ("192.168.1.1", False, False),
        ("169.254.169.254", False, False),
        ("::1", False, False),
        ("::ffff:10.0.0.1", False, False),
        ("fe80::1%eth0", False, False),
        ("fd00::1", False, False),
        ("0.0.0.0", False, False),
        ("127.0.0.1", True, True),
        ("93.184.216.34", True, False),
    ],
)
def test_check_peer(peer: str, local: bool, sound: bool) -> None:
    judged(lambda: check_peer(peer, "https://example.org", local=local), sound)


def judged(check: Callable[[], None], sound: bool) -> None:
    if sound:
        check()
    else:
        with pytest.raises(DownloadError, match="is refused"):
            check()


def test_digests__unknown_or_none__programming_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    with (tmp_path / "a").open("rb") as file:
        for digests in ((), ("crc32:00",)):
            with pytest.raises(ValueError, match="Digests must be of"):
                digest_fault(file, digests)
        assert digest_fault(file, ("md5:0cc175b9c0f1b6a831c399e269772661",)) is None
        assert digest_fault(file, ("md5:00",)) == (
            "its md5 is 0cc175b9c0f1b6a831c399e269772661, expected 00"
        )


def test_catalogue__every_remote__https_and_sha256() -> None:
    for dataset in DATASETS.values():
        assert bool(dataset.remotes) != bool(dataset.by_hand)
        for remote in dataset.remotes:
            assert any(len(digest) == len("sha256:") + 64 for digest in remote.digests)
            assert dataset.digests[remote.place] == remote.digests
            for address in remote.addresses:
                check_address(address, local=False)
