"""Folders of images: what is decoded, when, and what is said of broken files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageOps

from vqpu.errors import BrokenImageError, BrokenImageWarning, CacheError, InputError, ParameterError
from vqpu.files import (
    find_images,
    iter_images,
    read_image_folders,
    read_labeled_images,
    show_progress,
)


def noise(height: int, width: int, *channels: int, seed: int = 0) -> NDArray[np.uint8]:
    # Smooth, so that JPEG keeps it: a coarse pattern enlarged.
    coarse = np.random.default_rng(seed).integers(0, 256, (4, 5, *channels), dtype=np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))


def save(path: Path, pixels: NDArray[Any], **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)
    return path


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for i in range(3):
        save(tmp_path / "p" / f"{i}.png", noise(40, 60, 3, seed=i))
    for i in range(4):
        save(tmp_path / "u" / "deep" / f"{i}.png", noise(90, 70, 3, seed=10 + i))
    return tmp_path / "p", tmp_path / "u"


def read(folders: tuple[Path, Path], **options: Any) -> Any:
    options = {"size": 16, "cache_dir": folders[0].parent / "cache", **options}
    return read_image_folders(*folders, **options)


def decode_plainly(path: Path, size: int) -> NDArray[np.uint8]:
    with Image.open(path) as image:
        colours = ImageOps.exif_transpose(image).convert("RGB")
    side = min(colours.size)
    left, top = (colours.width - side) / 2, (colours.height - side) / 2
    box = (left, top, left + side, top + side)
    return np.asarray(colours.resize((size, size), Image.Resampling.BOX, box=box))


def test_two_folders__pixels_equal_plain_pillow(folders: tuple[Path, Path]) -> None:
    data = read(folders)
    assert isinstance(data.X, np.memmap)
    assert not data.X.flags.writeable
    assert data.X.shape == (7, 16, 16, 3)
    assert data.y.tolist() == [1, 1, 1, 0, 0, 0, 0]
    assert data.names == [str(p) for f in folders for p in sorted(f.rglob("*.png"))]
    for row, name in zip(data.X, data.names, strict=True):
        np.testing.assert_array_equal(row, decode_plainly(Path(name), 16))


@pytest.mark.parametrize("ending", ["jpg", "png", "webp", "bmp", "gif", "tif"])
def test_every_format__as_plain_pillow(ending: str, tmp_path: Path) -> None:
    path = save(tmp_path / f"a.{ending}", noise(30, 24, 3))
    (chunk,) = iter_images(tmp_path, size=16, mode="RGB")
    np.testing.assert_array_equal(chunk.X[0], decode_plainly(path, 16))
    assert chunk.names == [str(path)]


def test_large_jpeg__decoded_small__a_few_grey_levels_off(tmp_path: Path) -> None:
    path = save(tmp_path / "a.jpg", noise(1024, 1536, 3), quality=95)
    (chunk,) = iter_images(tmp_path, size=32, mode="RGB")
    difference = np.abs(chunk.X[0].astype(int) - decode_plainly(path, 32))
    assert difference.max() <= 6
    assert difference.mean() <= 1


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("ending", ["jpg", "png", "tif"])
def test_exif_orientation__followed(orientation: int, ending: str, tmp_path: Path) -> None:
    quadrants = np.kron(np.array([[10, 90], [170, 250]], np.uint8), np.ones((32, 32), np.uint8))
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = save(tmp_path / f"a.{ending}", np.stack([quadrants] * 3, axis=-1), exif=exif)
    (chunk,) = iter_images(tmp_path, size=8, mode="RGB")
    np.testing.assert_allclose(chunk.X[0].astype(int), decode_plainly(path, 8), atol=1)


def image_of(mode: str) -> tuple[Image.Image, list[int]]:
    """An image of one colour, and that colour as RGB by our rule."""
    if mode == "palette":
        return Image.new("RGB", (9, 9), (10, 200, 30)).convert("P"), [0, 204, 51]  # web palette
    if mode == "transparent palette":
        image = Image.new("P", (9, 9), 1)
        image.putpalette([0, 0, 0, 9, 9, 9])
        image.info["transparency"] = 1
        return image, [255, 255, 255]
    if mode == "16-bit":
        return Image.fromarray(np.full((9, 9), 0x1234, np.uint16)), [0x12] * 3
    colours: dict[str, tuple[Any, list[int]]] = {
        "1": (1, [255, 255, 255]),
        "L": (77, [77, 77, 77]),
        "LA": ((50, 0), [255, 255, 255]),
        "RGBA": ((0, 100, 200, 51), [204, 224, 244]),  # a fifth of the colour, the rest white
    }
    value, expected = colours[mode]
    return Image.new(mode, (9, 9), value), expected


@pytest.mark.parametrize(
    "mode", ["1", "L", "LA", "RGBA", "palette", "transparent palette", "16-bit"]
)
def test_modes__by_the_stated_rule(mode: str, tmp_path: Path) -> None:
    image, expected = image_of(mode)
    image.save(tmp_path / "a.png")
    (chunk,) = iter_images(tmp_path, size=8, mode="RGB")
    np.testing.assert_allclose(chunk.X[0, 4, 4].astype(int), expected, atol=1)
    (grey,) = iter_images(tmp_path, size=8, mode="L")
    assert grey.X.shape == (1, 8, 8)


def test_cmyk_jpeg__becomes_rgb(tmp_path: Path) -> None:
    Image.new("CMYK", (20, 20), (0, 255, 255, 0)).save(tmp_path / "a.jpg")
    (chunk,) = iter_images(tmp_path, size=8, mode="RGB")
    red, green, blue = chunk.X[0, 4, 4].tolist()
    assert red > 240
    assert max(green, blue) < 15


def test_gif__first_frame(tmp_path: Path) -> None:
    frames = [Image.new("L", (9, 9), value) for value in (40, 200)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    (chunk,) = iter_images(tmp_path, size=8, mode="L")
    assert chunk.X[0, 0, 0] == 40


def refuse_to_decode(*_: Any, **__: Any) -> None:
    raise AssertionError("decoded again")


def test_second_read__opens_the_cache(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read(folders)
    monkeypatch.setattr(Image, "open", refuse_to_decode)
    second = read(folders)
    np.testing.assert_array_equal(first.X, second.X)
    assert first.names == second.names


def test_second_read__files_long_at_rest__not_even_hashed(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Files written just now are never trusted by their times; pretend that two seconds passed.
    monkeypatch.setattr("vqpu.files.readers._imagecache._REST_NS", -(10**10))
    stages: list[str] = []
    read(folders, progress=lambda stage, done, total: stages.append(f"{stage} {done}/{total}"))
    assert stages[0] == "checking 1/7"
    assert stages[-1] == "decoding 7/7"
    stages.clear()
    read(folders, progress=lambda stage, *_: stages.append(stage))
    assert stages == []


def test_shown_progress__no_terminal__a_line_a_tenth(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with show_progress() as progress:
        read(folders, progress=progress)
        for done in range(1, 1001):
            progress("decoding", done, 1000)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "checking images: 1 of 7"
    assert lines[-1] == "decoding images: 1000 of 1000"
    assert len(lines) == 7 + 7 + 10


def test_moved_folder__same_content__not_decoded_again(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read(folders)
    moved = folders[0].rename(folders[0].parent / "elsewhere")
    monkeypatch.setattr(Image, "open", refuse_to_decode)
    np.testing.assert_array_equal(first.X, read((moved, folders[1])).X)


@pytest.mark.parametrize("rest", [2_000_000_000, -(10**10)])
def test_changed_file__same_size_and_time__decoded_again(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, rest: int
) -> None:
    monkeypatch.setattr("vqpu.files.readers._imagecache._REST_NS", rest)
    path = save(folders[0] / "0.bmp", np.zeros((20, 20, 3), np.uint8))
    before, status = read(folders), path.stat()
    save(path, np.full((20, 20, 3), 255, np.uint8))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    after = read(folders)
    row = before.names.index(str(path))
    assert before.X[row].max() == 0
    assert after.X[row].min() == 255


@pytest.mark.parametrize("change", [{"size": 24}, {"mode": "L"}])
def test_other_rule__other_entry(folders: tuple[Path, Path], change: dict[str, Any]) -> None:
    assert read(folders).X.shape != read(folders, **change).X.shape


@pytest.mark.parametrize("damage", ["truncate", "manifest", "no pixels"])
def test_damaged_cache__decoded_again(folders: tuple[Path, Path], damage: str) -> None:
    first = np.array(read(folders).X)
    (pixels,) = (folders[0].parent / "cache").rglob("pixels.u8")
    if damage == "truncate":
        os.truncate(pixels, 100)
    elif damage == "manifest":
        (pixels.parent / "manifest.json").write_text('{"n_good": 7}')
    else:
        pixels.unlink()
    np.testing.assert_array_equal(first, read(folders).X)


KILLED = """
import os, sys
from vqpu.files import read_image_folders
def kill(stage, done, total):
    if (stage, done) == ("decoding", 3):
        os.kill(os.getpid(), 9)
read_image_folders(*sys.argv[1:3], size=16, cache_dir=sys.argv[3], progress=kill)
"""


def test_killed_decode__leaves_nothing_finished(folders: tuple[Path, Path]) -> None:
    cache = folders[0].parent / "cache"
    program = [sys.executable, "-c", KILLED, *map(str, folders), str(cache)]
    assert subprocess.run(program, check=False).returncode == -9
    (left,) = (cache / "images").iterdir()
    assert left.name.startswith(".decoding.")
    for path in (left, *left.iterdir()):
        os.utime(path, (0, 0))  # as if killed long ago
    read_image_folders(*folders, size=16, cache_dir=cache)
    assert not left.exists()
    assert len(read(folders).X) == 7


def test_another_process_is_faster__its_entry_is_taken(folders: tuple[Path, Path]) -> None:
    found: list[NDArray[np.uint8]] = []

    def be_faster(stage: str, done: int, total: int) -> None:
        if stage == "decoding" and done == total and not found:
            found.append(read(folders).X)

    X = read(folders, progress=be_faster).X
    np.testing.assert_array_equal(X, found[0])
    entries = [path.name for path in (folders[0].parent / "cache" / "images").iterdir()]
    assert [len(name) for name in entries if name != "quick"] == [64]


def test_interrupted_decode__cleans_up(folders: tuple[Path, Path]) -> None:
    def interrupt(stage: str, *_: int) -> None:
        if stage == "decoding":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(folders, progress=interrupt)
    assert list((folders[0].parent / "cache" / "images").iterdir()) == []


def test_broken_files__raise__counted_and_named(folders: tuple[Path, Path]) -> None:
    (folders[1] / "x.jpg").write_bytes(b"no image")
    (folders[1] / "y.heic").write_bytes(b"....ftypheic")
    with pytest.raises(BrokenImageError, match=r"^2 of 9 images cannot .*x\.jpg.*y\.heic.*skip"):
        read(folders)


def test_broken_files__skip__left_out_with_a_warning(folders: tuple[Path, Path]) -> None:
    whole = read(folders)
    path = folders[0] / "1.png"
    path.write_bytes(path.read_bytes()[:300])
    for _ in range(2):  # decoded, then from the cache
        with pytest.warns(BrokenImageWarning, match=r"^1 of 7 images .*1\.png.*left out"):
            data = read(folders, on_broken="skip")
        assert [broken.name for broken in data.broken] == [str(path)]
        assert data.y.tolist() == [1, 1, 0, 0, 0, 0]
        np.testing.assert_array_equal(data.X, np.delete(whole.X, 1, axis=0))
        assert data.names == [name for name in whole.names if name != str(path)]


def test_broken_files__none_left__refused(folders: tuple[Path, Path]) -> None:
    for path in folders[0].iterdir():
        path.write_bytes(b"no image")
    with (
        pytest.warns(BrokenImageWarning),
        pytest.raises(InputError, match="No positive image is left without the 3 broken ones"),
    ):
        read(folders, on_broken="skip")


def test_stream__broken_files__in_their_chunk(folders: tuple[Path, Path]) -> None:
    (folders[0] / "1.png").write_bytes(b"no image")
    chunks = list(iter_images(folders[0], size=8, mode="RGB", chunk_size=2, on_broken="skip"))
    assert [len(chunk.X) for chunk in chunks] == [1, 1]
    assert [len(chunk.broken) for chunk in chunks] == [1, 0]
    with pytest.raises(BrokenImageError, match=r"1\.png"):
        list(iter_images(find_images(folders[0])[1:], size=8, mode="RGB"))


def test_labels_file__in_its_order(folders: tuple[Path, Path], tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("label,file,note\nyes,deep/2.png,a\n,deep/0.png,b\nno,deep/3.png,\n")
    data = read_labeled_images(
        folders[1], labels, positive="yes", size=8, cache_dir=tmp_path / "cache"
    )
    assert data.y.tolist() == [1, 0, 0]
    assert [Path(name).name for name in data.names] == ["2.png", "0.png", "3.png"]
    np.testing.assert_array_equal(data.X[0], decode_plainly(folders[1] / "deep/2.png", 8))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have one column 'file'"),
        ("file,kind\n", "must have one column 'label'"),
        ("file,label\n", "has no rows"),
        ("file,label\n0.png,1\n0.png,0\n", "more than once: '0.png'"),
        ("file,label\n0.png,1\nnone.png,0\n", "1 of 2 files .* are not in"),
        ("file,label\n../u/deep/0.png,1\n", "not inside"),
        ("file,label\n/etc/passwd,1\n", "not inside"),
        ("file,label\n0.png,2\n1.png,0\n", "no row with the positive value '1'.*'0', '2'"),
        ("file,label\n0.png,1\n", "needs unlabelled samples too"),
        ("file,label\n0.png\n", "1 values in line 2, but 2 columns"),
        ("file,label\n" + "x" * 100_000, "line of more than 65535 characters"),
        ('file,label\n"0.png,1\n', "cannot be read as CSV"),
    ],
)
def test_labels_file__bad__refused(
    folders: tuple[Path, Path], tmp_path: Path, text: str, message: str
) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text(text)
    with pytest.raises(InputError, match=message):
        read_labeled_images(folders[0], labels, positive=1, cache_dir=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_hidden_files_and_others__passed_over(folders: tuple[Path, Path]) -> None:
    (folders[0] / "._0.png").write_bytes(b"resource fork")
    (folders[0] / "notes.txt").write_text("text")
    (folders[0] / ".thumbs").mkdir()
    save(folders[0] / ".thumbs" / "0.png", noise(9, 9))
    assert len(find_images(folders[0])) == 3


def test_linked_folders__entered_once(folders: tuple[Path, Path]) -> None:
    (folders[0] / "back").symlink_to(folders[0], target_is_directory=True)
    (folders[0] / "more").symlink_to(folders[1] / "deep", target_is_directory=True)
    names = [path.relative_to(folders[0]).as_posix() for path in find_images(folders[0])]
    assert names == ["0.png", "1.png", "2.png", *(f"more/{i}.png" for i in range(4))]


def test_overlapping_folders__refused(folders: tuple[Path, Path]) -> None:
    for pair in ((folders[0], folders[0]), (folders[1] / "deep", folders[1])):
        with pytest.raises(InputError, match="overlap"):
            read(pair)


def test_folders_that_share_one_by_a_link__refused(folders: tuple[Path, Path]) -> None:
    (folders[1] / "known").symlink_to(folders[0], target_is_directory=True)
    with pytest.raises(InputError, match="overlap"):
        read(folders)


def test_stream__broken_file__named_without_a_count(folders: tuple[Path, Path]) -> None:
    (folders[0] / "1.png").write_bytes(b"no picture")
    with pytest.raises(BrokenImageError, match=r"1\.png cannot be used: .*--skip-broken"):
        list(iter_images(folders[0], size=16, mode="RGB"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 7}, "size must be an integer >= 8"),
        ({"size": 5000}, "size must be at most 1024"),
        ({"mode": "CMYK"}, "Unknown mode 'CMYK'"),
        ({"on_broken": "zero"}, "Unknown on_broken 'zero'"),
        ({"max_pixels": 0}, "max_pixels must be"),
    ],
)
def test_options__bad__refused(
    folders: tuple[Path, Path], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        read(folders, **options)


def test_cache_dir__cannot_be_written__one_error(folders: tuple[Path, Path]) -> None:
    blocked = folders[0].parent / "file"
    blocked.write_text("not a folder")
    with pytest.raises(CacheError, match=r"cannot be used: .* choose another cache_dir"):
        read(folders, cache_dir=blocked)


def test_full_disk__one_error_and_nothing_left(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CacheError, match="No space left on device"):
        read(folders)
    assert list((folders[0].parent / "cache" / "images").iterdir()) == []
