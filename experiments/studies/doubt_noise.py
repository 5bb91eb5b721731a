"""How far the AUC of labelled positives against unlabelled samples strays where all is noise.

``python -m experiments.studies.doubt_noise`` fits trees to noise (five minutes) and prints the
standard deviation of that AUC in units of its error for independent scores. Samples that one member
scores share what chance taught that member, so it is above 1: 1.3 is what the findings use.
"""

from __future__ import annotations

import warnings

import numpy as np

from vqpu import VQKMeansClassifier, stack_pu
from vqpu.errors import VqpuWarning
from vqpu.estimators._sample_findings import error_of_auc

_N_FITS = 80


def straying(rng: np.random.Generator) -> float:
    """Return how many errors the AUC of one fit to noise lies above 1/2.

    Parameters
    ----------
    rng : Generator
    """
    n_positive = int(rng.choice([5, 10, 20, 30, 40, 60, 100, 200, 400]))
    n_unlabeled, n_columns = int(rng.choice([120, 500, 1500])), int(rng.choice([5, 10, 20, 40]))
    parts = (rng.normal(size=(n, n_columns)) for n in (n_positive, n_unlabeled))
    model = VQKMeansClassifier(encoder="trees", random_state=int(rng.integers(1 << 20)))
    evidence = model.fit(*stack_pu(*parts)).evidence_
    assert evidence is not None
    return (evidence.proxy_auc - 0.5) / error_of_auc(n_positive, n_unlabeled)


if __name__ == "__main__":
    generator = np.random.default_rng(777)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VqpuWarning)
        strayed = [straying(generator) for _ in range(_N_FITS)]
    print(f"{_N_FITS} fits: mean {np.mean(strayed):.2f}, standard deviation {np.std(strayed):.2f}")
