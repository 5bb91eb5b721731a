from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import BODY, Server, names, serving
from vqpu.datasets import DATASETS
from vqpu.datasets._catalogue import Remote
from vqpu.datasets._fetch import Patience, check_address, check_host, download
from vqpu.errors import DownloadError

SHORT = Patience(silence=0.4, window=0.3, least_bytes=1 << 20)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.mark.parametrize("path", ["good", "whole", "redirect//good", "steps/5", "endless_redirect"])
def test_download__sound_response__whole_file(server: Server, tmp_path: Path, path: str) -> None:
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
        ("other", "SHA256 hash of downloaded file .* does not match .* Nothing was kept"),
        ("more", "sends more than 300000 bytes. Nothing was kept"),
        ("huge", "cannot be fetched: .* Nothing was kept"),
        ("cut", "cannot be fetched: .*100000 bytes read.* Nothing was kept; fetch again"),
        ("packed", "cannot be fetched: .*"),
        ("drip", "sent [0-9]+ bytes in 0 seconds, too slow to wait for. Nothing was kept"),
        ("drip_header", "did not answer within 0.7 seconds"),
        ("status/404", "answers 404"),
        ("status/500", "answers 500"),
        ("nonsense", "cannot be fetched: .*SSH"),
        ("silent", "cannot be fetched: .*Read timed out"),
        ("steps/6", "more than 5 redirects"),
        ("redirect/file:///etc/passwd", "file:///etc/passwd is refused"),
        ("redirect/ftp://127.0.0.1/x", "is refused: only https"),
        ("redirect/http://169.254.169.254/latest", "169.254.169.254/latest is refused"),
        ("redirect/http://10.0.0.1/x", "is refused"),
        ("redirect/https://10.0.0.1/x", "is refused"),
        ("redirect/https://example.org/x", "is refused"),
        ("redirect/http://[bad/x", "is refused"),
        ("redirect/", "more than 5 redirects"),
    ],
)
def test_download__wrong_response__refused_and_nothing_left(
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
    assert server.requests == ["example.org:443"]
    assert names(tmp_path) == []


def test_download__first_mirrors_fail__next_one_asked(server: Server, tmp_path: Path) -> None:
    assert download(server.remote("status/404", "cut", "good"), tmp_path).read_bytes() == BODY
    assert server.requests == ["/status/404", "/cut", "/good"]
    assert names(tmp_path) == ["file"]


def test_download__mode_of_the_file__that_of_the_umask(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    fetched = download(server.remote("good"), tmp_path)
    assert fetched.stat().st_mode == (tmp_path / "mine").stat().st_mode


def test_download__nothing_printed(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    download(server.remote("good"), tmp_path)
    assert capsys.readouterr() == ("", "")


def test_download__disk_full__both_numbers_named(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 12

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    with pytest.raises(DownloadError, match="has 12 bytes free, but 300000 are needed"):
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
    if sound:
        check_address(address, local=local)
    else:
        with pytest.raises(DownloadError, match="is refused"):
            check_address(address, local=local)


def test_catalogue__every_remote__https_and_sha256() -> None:
    for dataset in DATASETS.values():
        assert bool(dataset.remotes) != bool(dataset.by_hand)
        for remote in dataset.remotes:
            assert len(remote.sha256) == 64
            assert dataset.digests[remote.place] == remote.sha256
            for address in remote.addresses:
                check_address(address, local=False)


@pytest.mark.parametrize(
    ("peer", "sound"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("::1", False),
        ("::ffff:10.0.0.1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("0.0.0.0", False),
    ],
)
def test_check_host__every_address_of_the_name_must_be_public(
    peer: str, sound: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_up(*_: object, **__: object) -> list[tuple[Any, ...]]:
        return [(0, 0, 0, "", ("93.184.216.34", 443)), (0, 0, 0, "", (peer, 443))]

    monkeypatch.setattr("socket.getaddrinfo", look_up)
    if sound:
        check_host("https://example.org/a")
        return
    with pytest.raises(DownloadError, match="is not a public address"):
        check_host("https://example.org/a")


def test_download__name_of_a_private_address__refused_before_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    private = [(0, 0, 0, "", ("169.254.169.254", 443))]
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: private)
    remote = Remote("a", ("https://example.org/a",), 3, "0" * 64)
    with pytest.raises(DownloadError, match=r"169\.254\.169\.254 is not a public address"):
        download(remote, tmp_path)
    assert not list(tmp_path.iterdir())
