"""
A custom encoder
================

**Question.** Your data have a shape of their own, here short time series. Can the network that
looks at them be yours?

A heartbeat-like pulse hides somewhere in a noisy signal; in the other signals there is a pulse
too, but reversed in time. Where it sits says nothing, so what counts is the shape of a few
neighbouring values, and a convolution over time is made for that.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from torch import nn

from vqpu import VQKMeansClassifier, stack_pu

rng = np.random.default_rng(0)
pulse = np.array([0.2, 0.6, 3.0, -1.5, -1.0, -0.6, -0.3, -0.1])


def draw(n, is_positive):
    """Draw n signals of 48 values with a pulse somewhere."""
    signals = rng.normal(0, 0.5, (n, 48))
    for signal in signals:
        start = rng.integers(0, 40)
        signal[start : start + 8] += pulse if is_positive else pulse[::-1]
    return signals


positives = draw(150, True)
unlabeled = np.vstack([draw(150, True), draw(350, False)])
is_hidden = np.arange(500) < 150

# %%
# An encoder is a function: it gets the shape of a sample and the dimension of a code, and returns
# a torch module that turns ``(n, *sample_shape)`` into ``(n, K, vector_dim)``, K vectors for each
# sample.


class PulseEncoder(nn.Module):
    """Convolutions over time, the largest response of each, one vector."""

    def __init__(self, vector_dim):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, 16, 9, padding=4),
            nn.ReLU(),
            nn.Conv1d(16, 32, 5, padding=2),
            nn.ReLU(),
            nn.AdaptiveMaxPool1d(1),
            nn.Flatten(),
            nn.Linear(32, vector_dim),
        )

    def forward(self, x):
        """Return one vector a signal, shape (n, 1, vector_dim)."""
        return self.layers(x.unsqueeze(1)).unsqueeze(1)


def make_encoder(sample_shape, vector_dim):
    """Make the network for signals; their length is free."""
    return PulseEncoder(vector_dim)


# %%
X, y = stack_pu(positives, unlabeled)
models = {
    "trees (the default for tables)": VQKMeansClassifier(random_state=0),
    "own encoder": VQKMeansClassifier(
        encoder=make_encoder, max_steps=300, n_members=1, n_rounds=1, random_state=0
    ),
}
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.4))
axes[0].plot(positives[:3].T + 6 * np.arange(3), color="tab:blue")
axes[0].plot(unlabeled[-3:].T - 6 * np.arange(1, 4), color="grey")
axes[0].set_title("positive (blue), negative (grey)")
for axis, (name, model) in zip(axes[1:], models.items(), strict=True):
    scores = model.fit(X, y).predict_proba(unlabeled)[:, 1]
    area = roc_auc_score(is_hidden, scores)
    axis.hist([scores[is_hidden], scores[~is_hidden]], 20, stacked=True, color=["tab:blue", "grey"])
    axis.set_title(f"{name}\nAUC {area:.2f}", fontsize=10)
    axis.set_xlabel("probability of being positive")
    print(f"{name}: AUC {area:.3f}, alpha {model.alpha_:.2f} (truly 0.30)")
figure.tight_layout()

# %%
# **Take from it.** Ten lines of torch and the rest stays: stopping without labels, members,
# alpha, findings. A function is not saved with a model, so hand it over again:
# ``vqpu.load("model", encoder=make_encoder)``. If a pretrained network for your kind of data
# exists, its features are often the shorter way: :doc:`/features`.
