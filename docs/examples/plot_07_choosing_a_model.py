"""
Choosing a model without negatives
==================================

**Question.** Several settings, or several methods, and no labelled validation data: which one is
best? Can a score from positives and unlabelled samples alone stand in for accuracy?

Here the truth is known, so that scores without negatives can be held against it, for ten
classifiers, some of them bad.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from vqpu import VQKMeansClassifier, make_pu
from vqpu.metrics import PUStratifiedKFold, pu_roc_auc_score
from vqpu.rivals import ElkanNotoClassifier

X, is_benign = load_breast_cancer(return_X_y=True)
sample = make_pu(X, is_benign, n_positive=150, n_unlabeled=350, alpha=0.5, random_state=0)
is_unlabeled = sample.y == 0

candidates = {
    "VQ K-means": VQKMeansClassifier(random_state=0),
    "Elkan-Noto": ElkanNotoClassifier(LogisticRegression(), random_state=0),
    "boosted trees": HistGradientBoostingClassifier(random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "small tree": DecisionTreeClassifier(max_depth=2, random_state=0),
    **{f"{n} neighbours": KNeighborsClassifier(n) for n in (1, 5, 40)},
    **{f"logistic, C={c:g}": LogisticRegression(C=c) for c in (1e-5, 1)},
}

# %%
# Each classifier is fitted on four fifths and scores the rest, five times. ``pu_roc_auc_score``
# sees labels of positives alone; it is told the scenario, which says what U is, and alpha. The
# truth, which nobody has in practice, says whether it was right.

folds = PUStratifiedKFold(n_splits=5, shuffle=True, random_state=0)
results = {}
for name, candidate in candidates.items():
    model = make_pipeline(StandardScaler(), candidate)
    scores = cross_val_predict(model, sample.X, sample.y, cv=folds, method="predict_proba")[:, 1]
    results[name] = (
        pu_roc_auc_score(sample.y, scores, scenario="case-control", alpha=0.5),
        roc_auc_score(sample.truth[is_unlabeled], scores[is_unlabeled]),
    )
    print("{:18} without negatives {:.3f}   truth {:.3f}".format(name, *results[name]))

# %%
names = sorted(results, key=lambda name: results[name][1])
estimates, truths = zip(*(results[name] for name in names), strict=True)
figure, axis = plt.subplots(figsize=(7.5, 4.2))
axis.hlines(names, estimates, truths, color="lightgrey")
axis.plot(truths, names, "o", color="black", label="with the truth")
axis.plot(estimates, names, "o", color="tab:blue", label="estimated without negatives")
axis.set_xlabel("AUC of positives against negatives")
axis.legend(loc="upper left")
figure.tight_layout()

# %%
# **Take from it.** The bad ones are found without a negative. Among the good ones the order is
# noise: a score from 150 positives is off by several hundredths, and one above 1 says just that.
# So do not choose by the third digit. In a search the same score is a scorer::
#
#     scoring = make_pu_scorer("roc_auc", scenario="case-control", alpha=0.5)
#     GridSearchCV(model, grid, scoring=scoring, cv=PUStratifiedKFold(5)).fit(X, y)
#
# and on the command line ``vqpu compare`` sets methods side by side and says which leads are more
# than the noise of the folds.
