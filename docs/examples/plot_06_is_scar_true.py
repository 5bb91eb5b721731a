"""
Is it true that labels are random?
==================================

**Question.** Everything here rests on one assumption: the labelled positives are a random draw
from all positives ("selected completely at random", SCAR). What happens if only the easy ones
were labelled, and would anybody notice?

The same data twice: once labelled at random, once with a strong preference for positives that are
far from the negatives.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from vqpu import VQKMeansClassifier, diagnose, make_pu

X, kind = make_blobs(
    [600, 500, 2500], centers=[[4, 0], [1.5, 2.5], [0, -2]], cluster_std=1.0, random_state=0
)
is_positive = kind < 2  # two kinds of positives: clear ones on the right, harder ones above
fits = {}
for labeling in ("scar", "sar-easy"):
    sample = make_pu(
        X,
        is_positive,
        n_positive=120,
        n_unlabeled=1500,
        alpha=0.3,
        labeling=labeling,
        random_state=0,
    )
    fits[labeling] = sample, VQKMeansClassifier(random_state=0).fit(sample.X, sample.y)

# %%
# Circles are the labelled positives. Among the hidden ones, blue were found and red were missed.

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), sharex=True, sharey=True)
for axis, (labeling, (sample, model)) in zip(axes, fits.items(), strict=True):
    is_unlabeled = sample.y == 0
    is_hidden = is_unlabeled & (sample.truth == 1)
    is_found = model.predict(sample.X) == 1
    for rows, color, label in (
        (is_unlabeled & (sample.truth == 0), "lightgrey", "negative"),
        (is_hidden & is_found, "tab:blue", "hidden, found"),
        (is_hidden & ~is_found, "tab:red", "hidden, missed"),
    ):
        axis.scatter(*sample.X[rows].T, s=8, color=color, label=label)
    axis.scatter(
        *sample.X[sample.y == 1].T, s=28, edgecolor="k", facecolor="none", label="labelled"
    )
    recall = is_found[is_hidden].mean()
    axis.set_title(f"{labeling}: {recall:.0%} of the hidden ones found")
    print(f"{labeling}: alpha {model.alpha_:.2f} {np.round(model.alpha_interval_, 2)}, truly 0.30")
axes[0].legend(loc="lower right", fontsize=8)
figure.tight_layout()

# %%
# What do the findings say of the second fit?

for finding in diagnose(fits["sar-easy"][1]):
    print(finding)

# %%
# **Take from it.** A fit cannot know of positives that look like nothing it was shown: its own
# numbers can be in order while the harder kind is missed, and the estimated alpha is that of the
# kind that was labelled. Two things help. Ask how the labels came about, before any fit. And
# look: a random audit of some hundred unlabelled samples (:doc:`/review`) measures recall with an
# interval, whatever was assumed.
