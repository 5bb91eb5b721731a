"""
What a few decisions are worth
==============================

**Question.** You look at some of the unlabelled samples and say yes or no. Does the next fit get
better, and which samples should you look at?

A reviewer is simulated here: they look at some samples, the most doubtful ones or random ones, and
are always right. In earnest ``vqpu review MODEL INPUT`` shows them in the browser
(:doc:`/review`).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score

from vqpu import VQKMeansClassifier, make_pu

X, truth = make_classification(
    4000, n_features=12, n_informative=6, n_clusters_per_class=2, class_sep=0.9, random_state=3
)
sample = make_pu(X, truth, n_positive=60, n_unlabeled=1200, alpha=0.3, random_state=0)
X_new, truth_new = X[sample.rest], truth[sample.rest]  # never seen by any fit

first = VQKMeansClassifier(random_state=0).fit(sample.X, sample.y)
probability = first.predict_proba(sample.X)[:, 1]
unlabeled = np.flatnonzero(sample.y == 0)

# %%
# A "no" is a known negative, a "yes" a labelled positive that a review has found. Two masks of
# rows say so.


def refit(asked):
    """Fit again with what a reviewer said of these samples."""
    is_asked = np.isin(np.arange(len(sample.y)), asked)
    is_yes, is_no = is_asked & (sample.truth == 1), is_asked & (sample.truth == 0)
    return VQKMeansClassifier(random_state=0).fit(
        sample.X, sample.y | is_yes, known_negatives=is_no, confirmed_positives=is_yes
    )


queues = {
    "most doubtful": unlabeled[abs(probability[unlabeled] - 0.5).argsort()],
    "random": np.random.default_rng(0).permutation(unlabeled),
}
counts = [30, 100, 300]
accuracy = {"before": balanced_accuracy_score(truth_new, first.predict(X_new))}
for name, order in queues.items():
    models = [refit(order[:count]) for count in counts]
    accuracy[name] = [balanced_accuracy_score(truth_new, m.predict(X_new)) for m in models]
    print(name, np.round(accuracy[name], 3))

# %%
figure, axis = plt.subplots(figsize=(6.4, 4))
for name in queues:
    axis.plot([0, *counts], [accuracy["before"], *accuracy[name]], "o-", label=name)
axis.set(xlabel="decisions", ylabel="balanced accuracy on new samples")
axis.legend()
figure.tight_layout()

# %%
# **Take from it.** Decisions about doubtful samples move the border most; decisions about random
# ones are what tells you, with an interval, how good the list is. One data set and one seed prove
# little: ``results/review/summary.md`` in the repository has four tables with several seeds each.
