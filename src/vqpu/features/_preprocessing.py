"""From raw samples to a network's input: what its files say of it, and doing so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from vqpu.errors import InputError
from vqpu.features._model_files import read_settings, settings_beside
from vqpu.features._record import ImageInput, PlainData, Pooling, Resample, Side, TextInput, checked

PROCESSOR = "preprocessor_config.json"
# The numbers that Pillow, and hence Hugging Face, give to ways of resizing.
_RESAMPLES = {2: "bilinear", 3: "bicubic", 4: "box"}
_CLOSE = 1e-6


class Settings(PlainData):
    """What the TOML file beside a network may say; see :class:`ExtractorRecord` for the meaning.

    Attributes
    ----------
    input : {"image", "text"} or None
    size, resize, mode, mean, std, resample
        As in :class:`ImageInput`; ``resize`` is ``size`` unless it is given.
    max_tokens, prefix
        As in :class:`TextInput`.
    output, pooling, unit_length
    """

    input: Literal["image", "text"] | None = None
    size: Side | None = None
    resize: Side | None = None
    mode: Literal["RGB", "L"] = "RGB"
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    resample: Resample = "bicubic"
    max_tokens: Annotated[int, Field(ge=2, le=8192)] | None = None
    prefix: str = ""
    output: str | None = None
    pooling: Pooling | None = None
    unit_length: bool | None = None


def settings_of(path: Path) -> Settings:
    """Return what the TOML file beside an ONNX file says, nothing if there is none.

    Parameters
    ----------
    path : Path
        Of the ONNX file; the other has its name and ends in ``.toml``.
    """
    beside = path.with_suffix(".toml")
    return checked(Settings, read_settings(beside), str(beside)) if beside.exists() else Settings()


def image_input(settings: Settings, folder: Path, beside: Path) -> ImageInput:
    """Return how pictures become input: by the settings, or by the folder's preprocessor config.

    Parameters
    ----------
    settings : Settings
    folder : Path
        Of the network.
    beside : Path
        Where settings would stand, for the sentence that asks for them.
    """
    if settings.size is not None and settings.mean is not None and settings.std is not None:
        plain = settings.model_dump(include={"size", "mode", "mean", "std", "resample"})
        plain["resize"] = settings.resize or settings.size
        return checked(ImageInput, plain, str(beside))
    if (folder / PROCESSOR).exists():
        return processor_input(settings_beside(folder, PROCESSOR), folder / PROCESSOR)
    raise InputError(
        f"Nothing says how pictures become input of {beside.stem}. Write {beside.name} beside it "
        "with size, mean and std, such as: size = 224, mean = [0.485, 0.456, 0.406], "
        f"std = [0.229, 0.224, 0.225]; or put its {PROCESSOR} there."
    )


def processor_input(config: Mapping[str, Any], path: Path) -> ImageInput:
    """Return what a Hugging Face image processor does, as far as it can be done here.

    Parameters
    ----------
    config : mapping
        Entries of ``preprocessor_config.json``.
    path : Path
        Where it lies, for errors.
    """
    resize = _side(config.get("size"), path)
    size = _side(config["crop_size"], path) if config.get("do_center_crop") else resize
    scale = config.get("rescale_factor", 1 / 255)
    if not isinstance(scale, float) or abs(scale - 1 / 255) > _CLOSE:
        raise InputError(f"{path} divides pixels otherwise than by 255: {scale!r:.50}.")
    plain = {
        "size": size,
        "resize": max(size, resize),
        "mean": config.get("image_mean", [0.0] * 3),
        "std": config.get("image_std", [1.0] * 3),
        "resample": _RESAMPLES.get(config.get("resample", 2), "bicubic"),
    }
    if config.get("do_normalize") is False:
        plain |= {"mean": [0.0] * 3, "std": [1.0] * 3}
    return checked(ImageInput, plain, str(path))


def _side(size: Any, path: Path) -> int:
    """Return the one side of a square that a processor names in one of its ways."""
    if isinstance(size, dict):
        sides = {size[name] for name in ("shortest_edge", "height", "width") if name in size}
        size = sides.pop() if len(sides) == 1 else size
    if not isinstance(size, int):
        raise InputError(f"{path} must name one side of a square. Got {size!r:.80} instead.")
    return size


def text_input(settings: Settings, folder: Path) -> TextInput:
    """Return how texts become input: by the settings, else by what lies beside the network."""
    stated = settings_beside(folder, "sentence_bert_config.json").get("max_seq_length")
    most = settings_beside(folder, "config.json").get("max_position_embeddings")
    known = [limit for limit in (stated, most) if isinstance(limit, int)]
    limit = settings.max_tokens or min([*known, TextInput().max_tokens] if not stated else known)
    return checked(TextInput, {"max_tokens": limit, "prefix": settings.prefix}, str(folder))


def stated_pooling(folder: Path) -> tuple[Pooling | None, bool]:
    """Return what a directory of sentence-transformers says of pooling and of unit length.

    Parameters
    ----------
    folder : Path
    """
    pooling = settings_beside(folder, "1_Pooling/config.json")
    modules = folder / "modules.json"
    is_unit = (
        modules.exists()
        and modules.stat().st_size < 1 << 16
        and ("Normalize" in modules.read_text("utf-8", errors="replace"))
    )
    if pooling.get("pooling_mode_cls_token"):
        return "class", is_unit
    return ("mean" if pooling.get("pooling_mode_mean_tokens") else None), is_unit


def network_pixels(
    pixels: NDArray[np.uint8], image: ImageInput, *, channels_last: bool = False
) -> NDArray[np.float32]:
    """Return pictures as the network takes them.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (n, resize, resize, 3) or (n, resize, resize)
    image : ImageInput
    channels_last : bool
        Whether the network takes (n, size, size, c) instead of (n, c, size, size).
    """
    start = (image.resize - image.size) // 2
    middle = slice(start, start + image.size)
    cut = pixels[:, middle, middle]
    if cut.ndim == 3:
        cut = cut[..., np.newaxis]
    std = np.asarray(image.std, np.float32)
    factor = np.float32(1 / 255) / std
    shift = -np.asarray(image.mean, np.float32) / std
    if channels_last:
        return np.asarray(cut * factor + shift)
    normal = cut.transpose(0, 3, 1, 2).astype(np.float32, order="C")
    normal *= factor[:, np.newaxis, np.newaxis]
    normal += shift[:, np.newaxis, np.newaxis]
    return normal


def square_pixels(picture: NDArray[Any], image: ImageInput) -> NDArray[np.uint8]:
    """Return an array of any size as a picture is read: its largest centred square, resized.

    Parameters
    ----------
    picture : ndarray of uint8, shape (h, w), (h, w, 1) or (h, w, 3)
    image : ImageInput
    """
    from PIL import Image

    if picture.dtype != np.uint8 or picture.ndim not in (2, 3) or picture.shape[2:] not in (
        (), (1,), (3,),
    ):  # fmt: skip
        raise InputError(
            "A picture must be an array of uint8 and shape (h, w), (h, w, 1) or (h, w, 3). Got "
            f"{picture.dtype} and {picture.shape}."
        )
    if picture.shape == image.shape:
        return picture
    plain = Image.fromarray(picture[..., 0] if picture.shape[2:] == (1,) else picture)
    side = min(plain.size)
    left, top = ((length - side) / 2 for length in plain.size)
    box = (left, top, left + side, top + side)
    way = Image.Resampling[image.resample.upper()]
    small = plain.convert(image.mode).resize((image.resize, image.resize), way, box=box)
    return np.asarray(small, dtype=np.uint8)


def pooled(
    output: NDArray[Any], pooling: Pooling, mask: NDArray[np.int64] | None = None
) -> NDArray[np.float32]:
    """Return one vector a sample of what a network gives.

    Parameters
    ----------
    output : ndarray of shape (n, d), (n, tokens, d) or (n, d, h, w)
    pooling : {"none", "class", "mean", "places"}
    mask : ndarray of shape (n, tokens) or None
        1 for tokens of the text, 0 for padding, which no mean takes in.
    """
    output = np.asarray(output, dtype=np.float32)
    if pooling == "none":
        return output
    if pooling == "places":
        return np.asarray(output.mean(axis=(2, 3)))
    if pooling == "class":
        return output[:, 0]
    if mask is None:
        return np.asarray(output.mean(axis=1))
    weights = mask[..., np.newaxis].astype(np.float32)
    return np.asarray((output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1))


def with_unit_length(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors divided by their lengths; one of zeros stays as it is."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-12)))


def resolve_pooling(
    shape: Sequence[int], wanted: Pooling | None, is_text: bool, where: str
) -> Pooling:
    """Return how an output becomes one vector a sample, or refuse what does not fit.

    Parameters
    ----------
    shape : sequence of int
        Of the network's output.
    wanted : {"none", "class", "mean", "places"} or None
        None: nothing for (n, d), the mean for texts and for maps, the class token for pictures.
    is_text : bool
    where : str
        The network, for errors.
    """
    fitting: dict[int, tuple[Pooling, ...]] = {2: ("none",), 3: ("class", "mean"), 4: ("places",)}
    if len(shape) not in fitting:
        raise InputError(
            f"{where} gives an output of shape {tuple(shape)}. Expected (n, d), (n, tokens, d) or "
            '(n, d, height, width): say by output = "NAME" in its TOML file which one is meant.'
        )
    possible = fitting[len(shape)]
    if wanted == "mean" and len(shape) == 4:
        wanted = "places"
    if wanted is None:
        return possible[-1] if is_text else possible[0]
    if wanted not in possible:
        raise InputError(
            f"pooling must be {' or '.join(possible)} for an output of shape {tuple(shape)} of "
            f"{where}. Got {wanted!r} instead."
        )
    return wanted
