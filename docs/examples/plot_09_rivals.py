"""
Methods side by side
====================

**Question.** There are many methods for positive and unlabelled data. What do they make of the
same data, and where do their borders lie?

Two half moons: the upper one is positive. 60 positives are labelled; of 400 unlabelled points,
three in ten are positive.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import balanced_accuracy_score

from vqpu import VQKMeansClassifier, make_pu
from vqpu.rivals import (
    ElkanNotoClassifier,
    NaivePUClassifier,
    NNPUClassifier,
    VPUClassifier,
)

X, lower = make_moons(1500, noise=0.22, random_state=0)
sample = make_pu(X, 1 - lower, n_positive=60, n_unlabeled=400, alpha=0.3, random_state=0)
forest = RandomForestClassifier(60, min_samples_leaf=5, random_state=0)
few = {"max_steps": 150, "random_state": 0}
methods = {
    "VQ K-means, trees": VQKMeansClassifier(random_state=0),
    "VQ K-means, network": VQKMeansClassifier(encoder="mlp", n_members=2, n_rounds=1, **few),
    "naive: P against U": NaivePUClassifier(**few),
    "nnPU, told alpha": NNPUClassifier(alpha=0.3, **few),
    "VPU": VPUClassifier(**few),
    "Elkan-Noto, forest": ElkanNotoClassifier(forest, random_state=0),
}

# %%
# All of them have the same ``fit(X, y)``, and a ``decision_function`` whose sign is the answer.

grid = np.stack(np.meshgrid(np.linspace(-1.8, 2.8, 80), np.linspace(-1.3, 1.8, 60)), axis=-1)
hidden = sample.y == 0
figure, axes = plt.subplots(2, 3, figsize=(10, 6.2), sharex=True, sharey=True)
for axis, (name, method) in zip(axes.flat, methods.items(), strict=True):
    start = time.perf_counter()
    method.fit(sample.X, sample.y)
    seconds = time.perf_counter() - start
    scores = method.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    accuracy = balanced_accuracy_score(sample.truth[hidden], method.predict(sample.X[hidden]))
    axis.contourf(*grid.transpose(2, 0, 1), scores > 0, levels=[-0.5, 0.5, 1.5], alpha=0.3,
                  colors=["tab:grey", "tab:blue"])  # fmt: skip
    axis.scatter(*sample.X[hidden].T, s=5, c=np.where(sample.truth[hidden], "tab:blue", "grey"))
    axis.scatter(*sample.X[~hidden].T, s=22, facecolor="none", edgecolor="black", linewidth=0.7)
    axis.set_title(f"{name}: {accuracy:.0%}, {seconds:.1f} s", fontsize=10)
figure.tight_layout()

# %%
# Blue is what a method calls positive, black circles are the labelled positives, and the number
# is the balanced accuracy on the hidden labels of the unlabelled points.
#
# **Take from it.** The borders differ more than the numbers. The naive classifier is not bad here:
# half of each of its batches is labelled, which puts its border near the right place. What it gives
# is no probability of being positive, though, and no alpha. Methods that are told alpha stand and
# fall with it. Few points and few steps make this a picture, not a ranking; :doc:`/results` has the
# measurements, and :doc:`/choosing` says when to take which.
