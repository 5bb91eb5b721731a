"""Networks in local Hugging Face directories as extractors; nothing is fetched, no code is run."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, MissingDependencyError
from vqpu.features._extractor import image_vectors, n_threads, text_vectors
from vqpu.features._model_files import (
    check_model_file,
    digest_of,
    inside,
    read_settings,
    settings_beside,
)
from vqpu.features._preprocessing import (
    PROCESSOR,
    Settings,
    image_input,
    network_pixels,
    resolve_pooling,
    stated_pooling,
    text_input,
)
from vqpu.features._record import ExtractorRecord, ImageInput
from vqpu.features._tokens import TOKENIZER, Tokenizer, Tokens

CONFIG, WEIGHTS = "config.json", "model.safetensors"
_INDEX = "model.safetensors.index.json"
_MOST_WEIGHT_BYTES = 1 << 36
Precision = Literal["float32", "bfloat16"]


class HuggingFaceExtractor:
    """A network of transformers, as its directory has it.

    Parameters
    ----------
    folder : Path
        With config.json, weights in safetensors, and tokenizer.json or preprocessor_config.json.
    precision : {"float32", "bfloat16"} or None
        What a model was fitted with, whatever this machine is best at; None: what it is best at.
    """

    def __init__(self, folder: Path, precision: Precision | None = None) -> None:
        weights = _checked_weights(folder)
        self._transformers = _require_transformers()
        is_text = (folder / TOKENIZER).exists() and not (folder / PROCESSOR).exists()
        image = None if is_text else image_input(Settings(), folder, folder / PROCESSOR)
        text = text_input(Settings(), folder) if is_text else None
        self._tokenizer = Tokenizer(folder / TOKENIZER, text) if text is not None else None
        self._network, self._precision = self._loaded(folder), precision or _precision()
        found = self._tried(image, folder)
        pooling, is_unit = stated_pooling(folder) if is_text else (None, False)
        read = [folder / CONFIG, *weights, folder / (TOKENIZER if is_text else PROCESSOR)]
        self.record = ExtractorRecord(
            kind="huggingface",
            name=folder.resolve().name,
            path=str(folder.resolve()),
            digest=digest_of(read),
            n_features=found.shape[1] if found.ndim != 3 else found.shape[2],
            image=image,
            text=text,
            pooling=resolve_pooling(found.shape, pooling, is_text, str(folder)),
            unit_length=is_unit,
            precision=self._precision,
            versions=_versions(),
        )

    def __call__(self, samples: Sequence[Any]) -> NDArray[np.float32]:
        """Return the vectors of texts or pictures, as :class:`Extractor` has it."""
        if self._tokenizer is not None:
            return text_vectors(samples, self._tokenizer, self.record, self._run_text)
        return image_vectors(samples, self.record, self._run_image)

    def _run_image(self, pixels: NDArray[np.uint8], image: ImageInput) -> NDArray[Any]:
        return self._run(pixel_values=network_pixels(pixels, image))

    def _run_text(self, tokens: Tokens) -> NDArray[Any]:
        return self._run(input_ids=tokens.ids, attention_mask=tokens.mask)

    def _run(self, **arrays: NDArray[Any]) -> NDArray[Any]:
        import torch

        given = {name: torch.from_numpy(array) for name, array in arrays.items()}
        use_bfloat16 = self._precision == "bfloat16"
        with (
            _threads(n_threads()),
            torch.inference_mode(),
            torch.autocast("cpu", torch.bfloat16, enabled=use_bfloat16),
        ):
            return np.asarray(self._network(**given).last_hidden_state.float().numpy())

    def _loaded(self, folder: Path) -> Any:
        """Load the weights; whatever is not of transformers itself is refused."""
        try:
            with _quiet(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                network = self._transformers.AutoModel.from_pretrained(
                    str(folder), local_files_only=True, trust_remote_code=False,
                    use_safetensors=True,
                )  # fmt: skip
        except Exception as error:  # whatever a foreign directory makes transformers say
            reason = " ".join(str(error).split())[:240].rstrip(".")
            raise InputError(f"{folder} cannot be loaded by transformers: {reason}.") from None
        return network.float().eval()

    def _tried(self, image: ImageInput | None, folder: Path) -> NDArray[Any]:
        try:
            if image is not None:
                return self._run_image(np.zeros((2, *image.shape), np.uint8), image)
            assert self._tokenizer is not None
            return self._run_text(self._tokenizer.padded(self._tokenizer.encode(["a", "a b"])))
        except Exception as error:  # a network of another kind, or for another size
            reason = " ".join(str(error).split())[:240].rstrip(".")
            raise InputError(
                f"{folder} holds no network that turns samples into vectors: {reason}."
            ) from None


def _require_transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise MissingDependencyError(
            f"A Hugging Face directory needs {error.name}: pip install 'vqpu[hf]'."
        ) from error
    return transformers


def _checked_weights(folder: Path) -> list[Path]:
    """Return the files of weights, or refuse a directory that needs pickle or code of its own."""
    config = read_settings(folder / CONFIG)
    for name, entries in ((CONFIG, config), (PROCESSOR, settings_beside(folder, PROCESSOR))):
        if "auto_map" in entries:
            raise InputError(
                f"{folder / name} asks to run code of its own (auto_map). It is not run: take a "
                "model that transformers knows by itself, or export this one to ONNX."
            )
    if (folder / WEIGHTS).exists():
        weights = [folder / WEIGHTS]
    elif (folder / _INDEX).exists():
        names = read_settings(folder / _INDEX).get("weight_map", {})
        weights = [inside(folder, str(name), folder / _INDEX) for name in sorted({*names.values()})]
    else:
        raise InputError(
            f"{folder} has no {WEIGHTS}. Only safetensors are read, as other weights (.bin, .pt) "
            "may run code: convert them first."
        )
    for path in weights:
        check_model_file(path, _MOST_WEIGHT_BYTES, "a file of weights")
    return weights


def _precision() -> Precision:
    import torch

    from vqpu.base._precision import has_native_bfloat16

    return "bfloat16" if has_native_bfloat16(torch.device("cpu")) else "float32"


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("torch", "transformers", "tokenizers", "pillow")}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep bars and remarks of transformers out of the user's sight."""
    from transformers.utils import logging as library

    level, had_bars = library.get_verbosity(), library.is_progress_bar_enabled()
    library.set_verbosity(logging.CRITICAL)
    library.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        library.set_verbosity(level)
        if had_bars:
            library.enable_progress_bar()  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
