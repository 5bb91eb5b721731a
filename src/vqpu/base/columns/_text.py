"""Free text as a few numbers: hashed n-grams of letters, projected on their main directions.

scikit-learn's ``HashingVectorizer`` and ``TruncatedSVD``; what is kept is a matrix, no object.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_HASHED = 4096
MOST_COMPONENTS = 24
LONGEST_READ = 10_000  # letters of a text that count
SAMPLE = 4000  # texts that the directions are learned from
_AT_ONCE = 512


def fit_components(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the directions of some texts, weighted by how rare their n-grams are.

    Parameters
    ----------
    texts : sequence of str
        At least two.

    Returns
    -------
    ndarray of float32, shape (n_components, N_HASHED)
    """
    from scipy import sparse
    from sklearn.decomposition import TruncatedSVD

    hashed = sparse.vstack([_hashed(texts[i : i + _AT_ONCE]) for i in _starts(len(texts))]).tocsr()
    in_texts = np.bincount(hashed.indices, minlength=N_HASHED)
    rarity = np.log((1 + len(texts)) / (1 + in_texts)) + 1
    n_components = max(1, min(MOST_COMPONENTS, len(texts) - 1))
    svd = TruncatedSVD(n_components, n_iter=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of texts that are all alike
        svd.fit(hashed.multiply(rarity).tocsr())
    components = np.nan_to_num(svd.components_ * rarity)
    return np.ascontiguousarray(components, dtype=np.float32)


def text_features(texts: Sequence[str], components: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the place of every text along the directions, shape (n, n_components)."""
    features = np.empty((len(texts), len(components)))
    for start in _starts(len(texts)):
        part = slice(start, start + _AT_ONCE)
        features[part] = _hashed(texts[part]) @ components.T.astype(np.float64)
    return features


def _starts(n: int) -> range:
    return range(0, n, _AT_ONCE)


def _hashed(texts: Sequence[str]) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer = HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 4), n_features=N_HASHED, norm="l2"
    )
    return vectorizer.transform([text[:LONGEST_READ] for text in texts])
