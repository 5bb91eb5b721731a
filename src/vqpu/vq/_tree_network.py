"""Trees and codebook behind the same face as a network: what they say of many samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vqpu.base._source import ArraySource
from vqpu.errors import InputError, ModelFileError
from vqpu.nn import Codebook
from vqpu.trees import TreeArrays, TreeScorer, TreeSizes, blank_trees, check_trees
from vqpu.vq._network import Encodings

Floats = NDArray[np.float64]

_CHUNK_VALUES = 1 << 20


class CodeLine(NamedTuple):
    """Q along the line between the anchors, where the vectors of trees lie.

    Attributes
    ----------
    borders : ndarray of float64, shape (n - 1,)
        Ascending places s at which the nearest code changes.
    codes : ndarray of int16 or int32, shape (n,)
        The nearest code between them.
    """

    borders: Floats
    codes: NDArray[Any]

    def nearest(self, projections: Floats) -> NDArray[Any]:
        """Return the index of the code nearest to c_1 + s (c_m - c_1)."""
        return np.asarray(self.codes[np.searchsorted(self.borders, projections)])


def line_of_codes(codebook: Codebook) -> CodeLine:
    r"""Return which code is the nearest where.

    :math:`|c_1 + s d - c_k|^2 = |s d|^2 + |c_1 - c_k|^2 + 2 s \langle d, c_1 - c_k \rangle` with
    :math:`d = c_m - c_1`: but for the first term, which is the same for all, a line in s for every
    code. The nearest codes are those on the lower envelope of these lines.

    Parameters
    ----------
    codebook : Codebook
    """
    anchor = codebook.unlabeled_anchor.double().cpu().numpy()
    axis = codebook.positive_anchor.double().cpu().numpy() - anchor
    away = anchor - codebook.vectors.detach().double().cpu().numpy()
    slopes, heights = 2 * away @ axis, np.einsum("kp,kp->k", away, away)
    borders: list[float] = []
    codes: list[int] = []
    # From -infinity on the steepest line is the lowest; of equal ones the lower, then the first.
    for code in np.lexsort((np.arange(len(slopes)), heights, -slopes)):
        while codes:
            fall = slopes[codes[-1]] - slopes[code]
            if fall <= 0:  # parallel, and not lower
                break
            border = float((heights[code] - heights[codes[-1]]) / fall)
            if not borders or border > borders[-1]:
                break
            codes.pop()
            borders.pop()
        if not codes or slopes[codes[-1]] > slopes[code]:
            borders += [border] if codes else []
            codes.append(int(code))
    narrow = np.int16 if len(slopes) <= 1 << 15 else np.int32
    return CodeLine(np.array(borders), np.array(codes, dtype=narrow))


_MOST_CATEGORIES = 1 << 20


class Columns(NamedTuple):
    """What is known of the columns of training.

    Attributes
    ----------
    low, high : ndarray of float64, shape (d,)
        The least and the largest value; 0 where there is none.
    n_categories : ndarray of int64, shape (d,)
        Codes of a column of categories; 0 for numbers.
    """

    low: Floats
    high: Floats
    n_categories: NDArray[np.int64]


class TreeEncoder(nn.Module):
    """The trees of all members, as buffers.

    Parameters
    ----------
    buffers : mapping of Tensor
        Named as the fields of :class:`vqpu.trees.TreeArrays` and of :class:`Columns`.
    n_members : int
    """

    def __init__(self, buffers: Mapping[str, Tensor], n_members: int) -> None:
        super().__init__()
        self.n_members = n_members
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer)
        self._scorer: TreeScorer | None = None

    @property
    def arrays(self) -> TreeArrays:
        """The trees as arrays."""
        return TreeArrays(*(getattr(self, name).cpu().numpy() for name in TreeArrays._fields))

    @property
    def columns(self) -> Columns:
        """What is known of the columns."""
        return Columns(*(getattr(self, name).cpu().numpy() for name in Columns._fields))

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return len(self.columns.low)

    @property
    def scorer(self) -> TreeScorer:
        """What scores with them; made at first use."""
        if self._scorer is None:
            self._scorer = TreeScorer(self.arrays, self.n_members, self.n_features)
        return self._scorer

    def check(self) -> None:
        """Raise unless the buffers are trees."""
        check_trees(self.arrays, self.n_members, self.n_features)
        low, high, n_categories = self.columns
        is_sound = np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all()
        if not is_sound or n_categories.min() < 0 or n_categories.max() > _MOST_CATEGORIES:
            raise ModelFileError("The ranges of the columns of trees make no sense.")


class TreeNetwork(nn.Module):
    """Trees for f_theta, a vector a member, and the codebook.

    Vector k of x is c_1 + s_k(x) (c_m - c_1), where s_k(x) is what the trees of member k say.

    Parameters
    ----------
    encoder : TreeEncoder
    codebook : Codebook
    """

    is_quantized = True

    def __init__(self, encoder: TreeEncoder, codebook: Codebook) -> None:
        super().__init__()
        self.encoder = encoder
        self.codebook = codebook

    def encode(
        self,
        source: ArraySource,
        indices: NDArray[np.int64] | None,
        _device: torch.device | None = None,
    ) -> Encodings:
        """Return the encodings of some samples of a source, or of all of them.

        Parameters
        ----------
        source : ArraySource
        indices : ndarray of int or None
            None: all of them.
        """
        projections = self._projections(source, indices)
        return Encodings(line_of_codes(self.codebook).nearest(projections), projections)

    def project(self, source: ArraySource, _device: torch.device | None = None) -> Floats:
        """Return s(x) of all samples of a source, without looking up any code."""
        return np.asarray(self._projections(source, None).mean(axis=1))

    def contributions(self, source: ArraySource) -> tuple[Floats, float]:
        """Return what each column adds to s(x), shape (n, d), and what s(x) starts from.

        Parameters
        ----------
        source : ArraySource
        """
        return self.encoder.scorer.contributions(source.rows())

    def _projections(self, source: ArraySource, indices: NDArray[np.int64] | None) -> Floats:
        n_samples = len(source) if indices is None else len(indices)
        found = np.empty((n_samples, self.encoder.n_members))
        step = max(1, _CHUNK_VALUES // source.sample_shape[0])
        for start in range(0, n_samples, step):
            some = slice(start, start + step)
            rows = source.rows(some if indices is None else indices[some])
            found[some] = self.encoder.scorer.outputs(rows, torch.get_num_threads())
        if not np.isfinite(found).all():
            raise InputError(
                "A sample has no finite encoding: the trees of this model hold values far too "
                "large. Fit it again."
            )
        return found


def build_tree_network(
    arrays: TreeArrays, columns: Columns, n_members: int, codebook: Codebook
) -> TreeNetwork:
    """Return trees that were grown and their codebook as one network.

    Parameters
    ----------
    arrays : TreeArrays
    columns : Columns
    n_members : int
    codebook : Codebook
    """
    parts = {**arrays._asdict(), **columns._asdict()}
    buffers = {name: torch.from_numpy(np.array(part)) for name, part in parts.items()}
    network = TreeNetwork(TreeEncoder(buffers, n_members), codebook)
    network.encoder.check()
    return network.eval().requires_grad_(False)


def blank_tree_network(
    sizes: TreeSizes, n_features: int, n_members: int, codebook: Codebook
) -> TreeNetwork:
    """Return a network whose trees are still to be filled in, and then to be checked.

    Parameters
    ----------
    sizes : TreeSizes
    n_features, n_members : int
    codebook : Codebook
    """
    kinds = {np.bool_: torch.bool, np.float64: torch.float64, np.int64: torch.int64}
    buffers = {
        name: torch.empty(shape, dtype=kinds[kind])
        for name, (shape, kind) in blank_trees(sizes).items()
    }
    for name in Columns._fields:
        kind = torch.int64 if name == "n_categories" else torch.float64
        buffers[name] = torch.empty(n_features, dtype=kind)
    return TreeNetwork(TreeEncoder(buffers, n_members), codebook)
