"""Rows of a table as a network takes them: numbers with gaps, and category codes."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

_MOST_INDICATORS = 64  # a category of more codes gets a fixed random vector a code
_WIDE, _NARROW = 32, 8  # length of such a vector; the second where there are many categories
_WIDEST = 4096  # inputs of all categories together before they become narrow
_SEED = 20231
_MOST_FEATURES, _MOST_CODES = 1 << 22, 1 << 20  # that a file may claim
_MOST_SIGNS = 1 << 27  # of all columns together, in memory


class TableInputs(NamedTuple):
    """What the columns of a matrix are to a network. Plain data.

    Attributes
    ----------
    n_features : int
        d, the columns of the matrix.
    gaps : tuple of int
        Columns of numbers with missing values in training; each has an indicator of them.
    empty : tuple of int
        Columns without a single value in training; they are left out.
    categories : tuple of (int, int)
        Columns of codes, and how many codes each has.
    """

    n_features: int
    gaps: tuple[int, ...] = ()
    empty: tuple[int, ...] = ()
    categories: tuple[tuple[int, int], ...] = ()

    @property
    def numbers(self) -> list[int]:
        """Columns that are used as numbers, in order."""
        others = {*self.empty, *(column for column, _ in self.categories)}
        return [column for column in range(self.n_features) if column not in others]

    @property
    def category_widths(self) -> list[int]:
        """How many inputs each category has: one a code where they are few."""
        plain = [n if n <= _MOST_INDICATORS else _WIDE for _, n in self.categories]
        if sum(plain) <= _WIDEST:
            return plain
        return [n if n <= _NARROW else _NARROW for _, n in self.categories]

    @property
    def width(self) -> int:
        """Number of the network's inputs."""
        return len(self.numbers) + len(self.gaps) + sum(self.category_widths)

    def is_sound(self) -> bool:
        """Whether all columns are columns of the matrix, each in one part, and codes are counted.

        A file that somebody changed may say anything.
        """
        try:
            coded = [column for column, _ in self.categories]
            counts = [n for _, n in self.categories]
        except (TypeError, ValueError):
            return False
        columns = [*self.gaps, *self.empty, *coded]
        return (
            all(type(value) is int for value in (self.n_features, *columns, *counts))
            and self.n_features <= _MOST_FEATURES
            and all(0 <= column < self.n_features for column in columns)
            and len(set(columns)) == len(columns)
            and all(1 <= n <= _MOST_CODES for n in counts)
            and self.width > 0
            and sum(n for n in counts if n > _NARROW) * _WIDE <= _MOST_SIGNS
        )


class TableNormalizer(nn.Module):
    """Standardised numbers with gaps at the mean, indicators of gaps, category codes spread out.

    Part of the network, so that a saved or exported model takes NaN and codes. A code of few
    becomes an indicator; a code of many a fixed random vector of signs, so that a column of
    thousands costs no more than some tens of inputs. A missing code is all zeros.

    Parameters
    ----------
    mean, std : Tensor of shape (n_features,)
        Of the present training values, in double precision.
    inputs : TableInputs
    """

    def __init__(self, mean: Tensor, std: Tensor, inputs: TableInputs) -> None:
        super().__init__()
        self.mean: Tensor
        self.std: Tensor
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.inputs = inputs
        self._numbers = inputs.numbers
        self._coded = [
            (column, n, width)
            for (column, n), width in zip(inputs.categories, inputs.category_widths, strict=True)
        ]
        for column, n, width in self._coded:
            if width < n:
                self.register_buffer(f"signs{column}", _signs(column, n, width))

    def forward(self, x: Tensor) -> Tensor:
        """Turn (n, n_features) into float32 of shape (n, inputs.width)."""
        parts = [standardized(x, self.mean, self.std)[:, self._numbers]]
        if self.inputs.gaps:
            parts.append(x[:, list(self.inputs.gaps)].isnan().float())
        parts += [self._spread(x[:, column], column, n, w) for column, n, w in self._coded]
        return torch.cat(parts, dim=1)

    def _spread(self, values: Tensor, column: int, n: int, width: int) -> Tensor:
        # Any other value than a code is none: it must not become an index.
        codes = torch.where((values >= 0) & (values < n), values, float(n)).long()
        if width < n:
            signs: Tensor = getattr(self, f"signs{column}")
            return signs[codes]
        return (codes[:, None] == torch.arange(n, device=values.device)).float()


def standardized(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Return numbers of mean 0 and deviation 1 as float32; missing ones are at the mean.

    Double input is standardised in double precision before it becomes single.

    Parameters
    ----------
    x : Tensor of shape (n, n_features)
        NaN means missing.
    mean, std : Tensor of shape (n_features,)
    """
    if x.dtype == torch.float64:
        normal = ((x - mean) / std).float()
    else:
        normal = (x.float() - mean.float()) / std.float()
    # Infinity stays: it is refused where encodings are looked at, and never becomes a number.
    return torch.nan_to_num(normal, nan=0.0, posinf=math.inf, neginf=-math.inf)


def _signs(column: int, n: int, width: int) -> Tensor:
    """Return a vector of signs of length 1 for every code, and zeros for none: (n + 1, width)."""
    if torch.get_default_device().type == "meta":
        return torch.empty(n + 1, width)
    generator = torch.Generator().manual_seed(_SEED + column)
    signs = torch.randint(0, 2, (n + 1, width), generator=generator).float() * 2 - 1
    signs[n] = 0.0
    return signs / math.sqrt(width)
