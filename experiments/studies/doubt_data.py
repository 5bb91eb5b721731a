"""Texts and images of the study of doubt: small, embedded or simulated, the same on any machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from experiments.studies.encoder_tables import Floats, Table

_N_TEXTS, _N_WORDS, _N_TOPICS, _N_COMPONENTS = 2_000, 120, 10, 24


def _counts(n_positive_topics: int) -> Table:
    """Draw texts as counts of words: one topic prevails in each, and some topics are positive.

    Words are as unequal as in a language (Zipf), topics prefer some of them, and texts differ in
    length.
    """
    rng = np.random.default_rng(0)
    usual = 1 / np.arange(1, _N_WORDS + 1)
    topics = rng.dirichlet(60 * usual / usual.sum() + 0.02, _N_TOPICS)
    prevailing = rng.integers(0, _N_TOPICS, _N_TEXTS)
    shares = rng.dirichlet(np.full(_N_TOPICS, 0.3), _N_TEXTS) * 0.4
    shares[np.arange(_N_TEXTS), prevailing] += 0.6
    length = np.maximum(5, rng.lognormal(3.2, 0.6, _N_TEXTS)).astype(np.int64)
    words = np.stack([
        rng.multinomial(n, mixed / mixed.sum())
        for n, mixed in zip(length, shares @ topics, strict=True)
    ])  # fmt: skip
    return words.astype(np.float64), prevailing < n_positive_topics


def _weighed(n_positive_topics: int) -> Table:
    """Return texts as TF-IDF."""
    from sklearn.feature_extraction.text import TfidfTransformer

    counts, truth = _counts(n_positive_topics)
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts).toarray(), truth


def _embedded(n_positive_topics: int) -> Table:
    """Return texts as dense vectors of length 1, as a sentence encoder gives them."""
    from sklearn.decomposition import TruncatedSVD

    words, truth = _weighed(n_positive_topics)
    vectors: Floats = TruncatedSVD(_N_COMPONENTS, random_state=0).fit_transform(words)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), truth


TEXTS: dict[str, Callable[[], Table]] = {
    "words": partial(_weighed, 4),
    "words-of-two-topics": partial(_weighed, 2),
    "embedding": partial(_embedded, 4),
    "embedding-of-two-topics": partial(_embedded, 2),
}


def digit_images() -> Table:
    """Return the images of scikit-learn's digits, of 8 x 8 values up to 255, even ones positive."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return (X * 15.9375).reshape(-1, 8, 8), np.asarray(y % 2 == 0)
