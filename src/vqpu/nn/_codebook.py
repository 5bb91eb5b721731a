"""The codebook C, the quantiser Q and the two anchors that the loss aims at."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_SAMPLE_EVERY = 32
_MOST_CANDIDATES = 8
_ROUNDING = 0.999


def nearest_code(vectors: Tensor, codebook: Tensor) -> Tensor:
    r"""Return Q's index: the nearest code of every vector; of equally near codes, the first.

    Parameters
    ----------
    vectors : Tensor of shape (..., p)
    codebook : Tensor of shape (m, p)

    Returns
    -------
    codes : Tensor of int64, shape (...)
        No gradient flows through indices.

    Notes
    -----
    :math:`\arg\min_k |v - c_k|^2 = \arg\max_k (v \cdot c_k - |c_k|^2 / 2)`: one matrix product,
    without the vectors' own norms, the clamp and the root of ``torch.cdist``.
    """
    flat = vectors.detach().reshape(-1, vectors.shape[-1])
    return _search(flat, codebook.detach()).view(vectors.shape[:-1])


def nearest_code_pruned(vectors: Tensor, codebook: Tensor) -> Tensor:
    r"""Return what :func:`nearest_code` returns, faster where few codes are in use.

    A sample of the vectors names candidate codes. By the triangle inequality a candidate ``a`` is
    the nearest of all codes if :math:`|v - a|` is below half its distance to every code that is
    no candidate; the vectors for which that does not hold are searched in full. The answer can
    differ from the full search only between codes whose distances agree to rounding, and it
    depends on the batch, so it serves training and not prediction.

    Parameters
    ----------
    vectors : Tensor of shape (..., p)
    codebook : Tensor of shape (m, p)
    """
    flat, book = vectors.detach().reshape(-1, vectors.shape[-1]), codebook.detach()
    candidates = torch.unique(_search(flat[::_SAMPLE_EVERY], book))
    if len(candidates) > _MOST_CANDIDATES or len(candidates) == len(book):
        return _search(flat, book).view(vectors.shape[:-1])
    near = book[candidates]
    scores, places = _scores(flat, near).max(dim=1)
    squared_distances = flat.square().sum(dim=1) - 2 * scores
    others = torch.ones(len(book), dtype=torch.bool, device=book.device)
    others[candidates] = False
    radii = torch.cdist(near, book[others]).amin(dim=1) / 2
    is_sure = squared_distances < (radii * _ROUNDING).square()[places]
    codes: Tensor = candidates[places]
    doubtful = torch.nonzero(~is_sure).squeeze(1)
    if len(doubtful):
        codes[doubtful] = _search(flat[doubtful], book)
    return codes.view(vectors.shape[:-1])


def _scores(flat: Tensor, codebook: Tensor) -> Tensor:
    return torch.addmm(codebook.square().sum(dim=1).mul_(-0.5), flat, codebook.t())


def _search(flat: Tensor, codebook: Tensor) -> Tensor:
    scores = _scores(flat, codebook)
    if scores.device.type == "cpu":  # NumPy's argmax is vectorised, torch's is not: 4 times faster
        return torch.from_numpy(scores.numpy().argmax(axis=1))
    return scores.argmax(dim=1)


def straight_through(vectors: Tensor, quantized: Tensor) -> Tensor:
    """Return the codes, but hand their gradient on to the vectors as if nothing had happened.

    Parameters
    ----------
    vectors, quantized : Tensor of shape (..., p)
    """
    return vectors + (quantized - vectors).detach()


def project_on_anchors(
    vectors: Tensor, positive_anchor: Tensor, unlabeled_anchor: Tensor
) -> Tensor:
    r"""Return s(x), the mean place of a sample's vectors between the two anchors.

    :math:`s(x) = \frac1K \sum_j \langle v_j - \mu_U, \mu_P - \mu_U \rangle / |\mu_P - \mu_U|^2`
    is 0 at the target of the unlabelled samples and 1 at that of the positives; it estimates
    :math:`p_P(x) / (p_P(x) + p_U(x))`.

    Parameters
    ----------
    vectors : Tensor of shape (..., K, p)
    positive_anchor, unlabeled_anchor : Tensor of shape (p,)

    Returns
    -------
    projection : Tensor of float64, shape (...)
    """
    axis = (positive_anchor - unlabeled_anchor).double()
    squared_length = axis @ axis
    # The mean over K first: the projection is linear, and K times less is converted to double.
    along = (vectors.mean(dim=-2).double() * axis).sum(dim=-1)
    return (along - unlabeled_anchor.double() @ axis) / squared_length


class Codebook(nn.Module):
    """m codes of dimension p, sorted by their norm when drawn, and the anchors c_1 and c_m.

    Parameters
    ----------
    vectors : Tensor of shape (m, p)
        The codes in any order; they are sorted here, once, so that an index is a rank by norm.
    moving_anchors : bool
        False: the targets are copies of the initial c_1 and c_m. True: the targets are the codes
        of first and last index wherever they have moved to (the literal text of the paper).

    Attributes
    ----------
    vectors : Parameter of shape (m, p)
        The codes as they are now.
    """

    def __init__(self, vectors: Tensor, *, moving_anchors: bool = False) -> None:
        super().__init__()
        order = vectors.norm(dim=1).argsort(stable=True)
        self.vectors = nn.Parameter(vectors[order].clone())
        self.moving_anchors = moving_anchors
        self.initial_unlabeled_anchor: Tensor
        self.initial_positive_anchor: Tensor
        self.register_buffer("initial_unlabeled_anchor", self.vectors.detach()[0].clone())
        self.register_buffer("initial_positive_anchor", self.vectors.detach()[-1].clone())

    @property
    def positive_anchor(self) -> Tensor:
        """c_m, the target of labelled positives."""
        return self.vectors.detach()[-1] if self.moving_anchors else self.initial_positive_anchor

    @property
    def unlabeled_anchor(self) -> Tensor:
        """c_1, the target of unlabelled samples."""
        return self.vectors.detach()[0] if self.moving_anchors else self.initial_unlabeled_anchor

    @torch.no_grad()
    def follow(self, vectors: Tensor, codes: Tensor, n_positive: int, rate: float) -> None:
        """Move c_1 and c_m a share of the way to the mean of the vectors they stand for.

        This is a gradient step on the second term of equation 1 whose size does not depend on
        how many vectors a code has, so the codes follow the encodings as fast on small data as
        on large data. A code that no vector falls on moves towards its own set, c_m to the
        labelled positives and c_1 to the unlabelled samples: otherwise one code could win
        everything for ever.
        The other codes stay as drawn. If they moved, some would settle beside an anchor and
        split its cluster between indices that have nothing to do with each other.

        Parameters
        ----------
        vectors : Tensor of shape (n, K, p)
            The first ``n_positive`` samples are labelled positives.
        codes : Tensor of int64, shape (n, K)
        n_positive : int
        rate : float
            Share of the way, in (0, 1].
        """
        self.follow_sums(self.anchor_sums(vectors, codes, n_positive), rate)

    @torch.no_grad()
    def anchor_sums(self, vectors: Tensor, codes: Tensor, n_positive: int) -> Tensor:
        """Return what :meth:`follow` needs of a batch; sums, so that parts of one can be added.

        Parameters
        ----------
        vectors, codes, n_positive
            As of :meth:`follow`.

        Returns
        -------
        Tensor of shape (2, 2 p + 2)
            For c_m and c_1: the sum of their vectors, that of their set, and both counts.
        """
        sums, last = [], len(self.vectors) - 1
        for index, own in ((last, vectors[:n_positive]), (0, vectors[n_positive:])):
            weight = (codes == index).to(vectors.dtype)
            # A product instead of a masked mean: one pass, no copy of the vectors.
            total = weight.flatten() @ vectors.flatten(0, 1)
            counts = torch.stack([weight.sum(), weight.new_tensor(own.shape[:2].numel())])
            sums.append(torch.cat([total, own.sum(dim=(0, 1)), counts]))
        return torch.stack(sums)

    @torch.no_grad()
    def follow_sums(self, sums: Tensor, rate: float) -> None:
        """Move c_1 and c_m as :meth:`follow` does.

        Parameters
        ----------
        sums : Tensor of shape (2, 2 p + 2)
            Of :meth:`anchor_sums`, of one batch or averaged over parts of it.
        rate : float
        """
        dim = self.vectors.shape[1]
        for index, (*_, n_vectors, n_own), row in zip(
            (len(self.vectors) - 1, 0), sums.tolist(), sums, strict=True
        ):
            mean = row[:dim] / n_vectors if n_vectors > 0 else row[dim : 2 * dim] / n_own
            self.vectors[index] = torch.lerp(self.vectors[index], mean, rate)
