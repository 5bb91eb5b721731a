"""
How many positives are hidden?
==============================

**Question.** Before anybody looks at a list, one number is wanted: which share of the unlabelled
data is positive? That share is alpha. Can it be known without one negative, and how well?

Here the truth is known: 200 labelled positives and 600 unlabelled samples in eight dimensions,
with alpha from 0.1 to 0.8, of classes that overlap a little.
"""

import matplotlib.pyplot as plt
import numpy as np

from vqpu import VQKMeansClassifier, stack_pu
from vqpu.priors import estimate_prior

rng = np.random.default_rng(0)
truths = np.array([0.1, 0.3, 0.5, 0.8])


def draw(alpha, n_positive=200, n_unlabeled=600):
    """Draw labelled positives and unlabelled samples, a share alpha of them positive."""
    hidden = round(alpha * n_unlabeled)
    unlabeled = rng.normal(0, 1, (n_unlabeled, 8))
    unlabeled[:hidden, :4] += 1.5
    positives = rng.normal(0, 1, (n_positive, 8)) + 1.5 * (np.arange(8) < 4)
    return positives, unlabeled


# %%
# Every fit estimates alpha and says with an interval where it lies with 90 % confidence. Other
# estimators stand behind one function, for a second opinion.

methods = ["bbe", "dedpul", "elkan-noto"]
fitted, others = [], {method: [] for method in methods}
for alpha in truths:
    positives, unlabeled = draw(alpha)
    model = VQKMeansClassifier(random_state=0).fit(*stack_pu(positives, unlabeled))
    fitted.append((model.alpha_, *model.alpha_interval_))
    for method in methods:
        estimate = estimate_prior(method, positives, unlabeled, random_state=0)
        others[method].append(estimate.alpha)
    print(f"alpha {alpha:.1f}: {model.alpha_:.2f} ({fitted[-1][1]:.2f} to {fitted[-1][2]:.2f})")

# %%
center, low, high = np.array(fitted).T
figure, axis = plt.subplots(figsize=(6.4, 4.6))
axis.plot([0, 1], [0, 1], color="lightgrey", zorder=0, label="the truth")
axis.errorbar(
    truths, center, [center - low, high - center], fmt="o", capsize=5, label="VQ K-means, 90 %"
)
for shift, marker, method in zip((-0.03, 0.03, 0.045), "s^v", methods, strict=True):
    axis.plot(truths + shift, others[method], marker, alpha=0.7, label=method)
axis.set(xlabel="true share of positives", ylabel="estimate", xlim=(0, 1), ylim=(0, 1))
axis.legend(loc="upper left")
figure.tight_layout()

# %%
# **Take from it.** Read the interval, not the number: where classes overlap, positives and
# unlabelled samples alone hardly tell alpha, and an honest interval is wide. If you know
# something, say so: ``VQKMeansClassifier(alpha=0.15)`` or ``alpha=(0.1, 0.2)`` moves the border
# and the probabilities, and a finding tells you if the data deny it. The estimates rest on
# labelled positives that look like the hidden ones; the next example breaks that.
