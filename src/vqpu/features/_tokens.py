"""Texts as numbers of tokens, by the tokenizer that belongs to a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, MissingDependencyError
from vqpu.features._model_files import MOST_TOKENIZER_BYTES, check_model_file
from vqpu.features._record import TextInput

TOKENIZER = "tokenizer.json"
# Texts are padded to a multiple of it, so that a network meets few different shapes.
_PAD_TO = 16


class Tokens(NamedTuple):
    """Texts of about one length.

    Attributes
    ----------
    ids, mask, types : ndarray of int64, shape (n, tokens)
        Numbers of tokens, 1 for those of the text, and which sentence each belongs to: 0.
    """

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    types: NDArray[np.int64]


class Tokenizer:
    """Turns texts into tokens.

    Parameters
    ----------
    path : Path
        Of ``tokenizer.json``, at most 64 MB.
    text : TextInput
    """

    def __init__(self, path: Path, text: TextInput) -> None:
        check_model_file(path, MOST_TOKENIZER_BYTES, "a tokenizer")
        self._tokenizer, self._prefix = _read(path), text.prefix
        self._tokenizer.enable_truncation(text.max_tokens)
        self._tokenizer.no_padding()
        numbers = map(self._tokenizer.token_to_id, ("[PAD]", "<pad>"))
        self._pad = next((number for number in numbers if number is not None), 0)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the tokens of every text."""
        prefixed = [self._prefix + text for text in texts]
        encoded = self._tokenizer.encode_batch(prefixed, add_special_tokens=True)
        return [one.ids for one in encoded]

    def padded(self, ids: Sequence[Sequence[int]]) -> Tokens:
        """Return tokens of several texts as arrays of one length."""
        longest = max(1, *map(len, ids)) if ids else 1
        shape = (len(ids), -(-longest // _PAD_TO) * _PAD_TO)
        numbers, mask = np.full(shape, self._pad, np.int64), np.zeros(shape, np.int64)
        for row, own in enumerate(ids):
            numbers[row, : len(own)] = own
            mask[row, : len(own)] = 1
        return Tokens(numbers, mask, np.zeros(shape, np.int64))


def _read(path: Path) -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise MissingDependencyError(
            f"Texts need the package tokenizers: {error}. pip install 'vqpu[hf]'."
        ) from error
    try:
        return tokenizers.Tokenizer.from_str(path.read_text("utf-8"))
    except Exception as error:  # a parser of another language on foreign text
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path} is no tokenizer: {reason}.") from None
