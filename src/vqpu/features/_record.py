"""What is known of an extractor: enough to find it again, and to refuse another one."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vqpu.errors import InputError

Pooling = Literal["none", "class", "mean", "places"]
Resample = Literal["box", "bilinear", "bicubic"]
Side = Annotated[int, Field(ge=8, le=1024)]


class PlainData(BaseModel):
    """Plain data that is checked when it is read; an unknown entry is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


AnyData = TypeVar("AnyData", bound=PlainData)


class ImageInput(PlainData):
    """How a picture becomes input of the network.

    Its largest centred square is read at ``resize`` x ``resize`` pixels, of which the middle
    ``size`` x ``size`` are taken; values are divided by 255, less ``mean``, divided by ``std``.

    Attributes
    ----------
    size, resize : int
        Pixels a side.
    mode : {"RGB", "L"}
    mean, std : tuple of float
        One a channel.
    resample : {"box", "bilinear", "bicubic"}
        How pictures are made smaller or larger.
    """

    size: Side
    resize: Side
    mode: Literal["RGB", "L"] = "RGB"
    mean: tuple[float, ...]
    std: tuple[Annotated[float, Field(gt=0)], ...]
    resample: Resample = "bicubic"

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.resize < self.size:
            raise ValueError(f"resize ({self.resize}) must be at least size ({self.size})")
        n_channels = 3 if self.mode == "RGB" else 1
        if len(self.mean) != n_channels or len(self.std) != n_channels:
            raise ValueError(f"mean and std need {n_channels} values for mode {self.mode}")
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a picture as it is read."""
        return (self.resize, self.resize) + ((3,) if self.mode == "RGB" else ())


class TextInput(PlainData):
    """How a text becomes input of the network.

    Attributes
    ----------
    max_tokens : int
        What is beyond is cut off.
    prefix : str
        Put before every text.
    """

    max_tokens: Annotated[int, Field(ge=2, le=8192)] = 256
    prefix: str = ""


class ExtractorRecord(PlainData):
    """What an extractor is, as it is saved with a model.

    Attributes
    ----------
    kind : {"onnx", "huggingface", "function"}
    name : str
        Of the file, the directory or the function.
    path : str or None
        Where it lay.
    digest : str
        SHA-256 of its files; of a function, of its name, its version and its weights if it has any.
    n_features : int
        Length of the vectors.
    image, text : ImageInput or None, and TextInput or None
        Preprocessing; one of them is there.
    pooling : {"none", "class", "mean", "places"}
        How an output becomes one vector a sample: it is one already, the first token is taken, the
        mean of the tokens, or the mean of the places of a map.
    unit_length : bool
        Whether vectors are divided by their length.
    output : str or None
        The network's output that is taken.
    precision : {"float32", "bfloat16"}
        What the network computes in.
    versions : dict of str
        Of the libraries at work, which may change last digits.
    """

    kind: Literal["onnx", "huggingface", "function"]
    name: str
    path: str | None = None
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    n_features: Annotated[int, Field(ge=1, le=1 << 20)]
    image: ImageInput | None = None
    text: TextInput | None = None
    pooling: Pooling = "none"
    unit_length: bool = False
    output: str | None = None
    precision: Literal["float32", "bfloat16"] = "float32"
    versions: dict[str, str] = {}

    @model_validator(mode="after")
    def _has_one_input(self) -> Self:
        if (self.image is None) == (self.text is None):
            raise ValueError("an extractor takes images or text, one of them")
        return self

    @property
    def input(self) -> str:
        """What it takes: "image" or "text"."""
        return "text" if self.image is None else "image"

    @property
    def identity(self) -> str:
        """Digest of all that decides what the vectors are; two extractors are one if it is equal.

        Neither the place on disk nor the libraries' versions count.
        """
        apart = self.model_dump(mode="json", exclude={"path", "name", "versions"})
        return hashlib.sha256(json.dumps(apart, sort_keys=True).encode()).hexdigest()

    @property
    def cache_key(self) -> str:
        """Digest of the identity and of the versions: another library, other last digits."""
        text = self.identity + json.dumps(self.versions, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def describe(self) -> str:
        """Return in a few words what it is."""
        return f"{self.n_features} features of {self.name}"

    def check_same(self, other: ExtractorRecord) -> None:
        """Refuse another extractor than this one, which a model was fitted with."""
        if other.identity == self.identity:
            return
        mine, theirs = self.model_dump(), other.model_dump()
        names = [name for name in mine if mine[name] != theirs[name]]
        differing = ", ".join(name for name in names if name not in ("path", "name", "versions"))
        raise InputError(
            f"{other.path or other.name} is another extractor than the {self.name} that the model "
            f"was fitted with: they differ in {differing}. Give that one by --features, or fit the "
            "model again."
        )


def parse_record(plain: Any) -> ExtractorRecord:
    """Return the record that plain data of a model's file hold, or raise.

    Parameters
    ----------
    plain : object
        As read from JSON.
    """
    return checked(ExtractorRecord, plain, "The record of the extractor")


def checked(kind: type[AnyData], plain: Any, where: str) -> AnyData:
    """Return plain data as ``kind``, or raise one sentence about the first wrong entry.

    Parameters
    ----------
    kind : type
    plain : object
        As read from JSON or TOML.
    where : str
        Where it stands, for the sentence.
    """
    try:
        return kind.model_validate_json(json.dumps(plain, default=str))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        what = f"{name} = {first['input']!r:.80}" if name else "its entries"
        raise InputError(f"{where} cannot be used: {what}: {first['msg']}.") from None
