"""
Texts by their embeddings
=========================

**Question.** A few hundred short texts, some of them about one subject. With 60 examples of it,
which of the others belong to it? Here: short descriptions of SciPy's functions, and the
subject is statistics.

A text becomes a vector by a function of yours. This example takes one that needs no download, the
leading directions of TF-IDF; a sentence encoder is put in its place at the end.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from vqpu import VQKMeansClassifier, make_pu
from vqpu.features import FunctionExtractor, extract

texts, is_statistics = [], []
for name in ("stats", "signal", "linalg", "ndimage", "optimize", "special", "spatial"):
    module = importlib.import_module(f"scipy.{name}")
    for member in sorted(vars(module)):
        described = inspect.getdoc(getattr(module, member)) or ""
        paragraphs = [part for part in described.split("\n\n") if len(part) > 40]
        if not member.startswith("_") and paragraphs:
            texts.append(" ".join(paragraphs[:2])[:600])
            is_statistics.append(name == "stats")
texts, is_statistics = np.array(texts), np.array(is_statistics)
sample = make_pu(texts, is_statistics, n_positive=60, n_unlabeled=500, alpha=0.3, random_state=0)
print(len(texts), "descriptions, such as:", sample.X[sample.y == 1][0][:120], "...", sep="\n")

# %%
# The function takes a list of texts and returns one row for each. ``extract`` calls it in batches
# and can keep the vectors in a cache (``cache_dir=``).

embed = make_pipeline(
    TfidfVectorizer(min_df=2, stop_words="english", sublinear_tf=True),
    TruncatedSVD(50, random_state=0),
).fit(texts)
extractor = FunctionExtractor(
    lambda batch: embed.transform(list(batch)), n_features=50, name="tf-idf, svd", version="1"
)
features = extract(extractor, list(sample.X))

# %%
# ``"linear"`` is one layer behind the embedding, for features that are good already.

model = VQKMeansClassifier(encoder="linear", max_steps=300, n_rounds=1, random_state=0)
model.fit(features, sample.y)
unlabeled = sample.y == 0
probability = model.predict_proba(features[unlabeled])[:, 1]
for place in probability.argsort()[::-1][:5]:
    print(f"{probability[place]:.2f}  {sample.X[unlabeled][place][:80]}")

# %%
# How good is the list from the top? Blue counts the descriptions that truly are about statistics.

truth = sample.truth[unlabeled][probability.argsort()[::-1]]
figure, axis = plt.subplots(figsize=(7, 3.6))
axis.plot(np.cumsum(truth), label="the list of the model")
axis.plot(np.minimum(np.arange(1, len(truth) + 1), truth.sum()), "--", label="a perfect list")
axis.plot(np.linspace(0, truth.sum(), len(truth)), ":", color="grey", label="in random order")
axis.set(xlabel="texts read, from the top", ylabel="about statistics")
axis.legend()
figure.tight_layout()

# %%
# **Take from it.** Anything that turns a text into a vector can be the extractor. A sentence
# encoder knows that "mean" and "average" are alike, which TF-IDF does not; with one in a local
# directory (Hugging Face's files, or an ONNX file with its ``tokenizer.json``) it is one line::
#
#     from vqpu.features import open_extractor
#     features = extract(open_extractor("minilm/"), list(sample.X), cache_dir="features")
#
# and on the command line ``vqpu fit mails.csv --text body --label kind --positive complaint
# --features minilm/ --out model``.
