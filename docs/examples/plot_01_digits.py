"""
Find the fives
==============

**Question.** You have 60 pictures of the digit 5, and 400 pictures that nobody has labelled.
Which of those are fives too? There is not one labelled example of "not a five".

The data are scikit-learn's handwritten digits, 8 by 8 pixels. Since their true labels are known,
we can look afterwards whether the answer was right; the model never sees them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from vqpu import VQKMeansClassifier, diagnose, make_pu

digits = load_digits()
sample = make_pu(
    digits.images,
    digits.target == 5,
    n_positive=60,
    n_unlabeled=400,
    alpha=0.25,  # a quarter of the unlabelled ones are fives, which the model is not told
    random_state=0,
)
unlabeled, is_five = sample.X[sample.y == 0], sample.truth[sample.y == 0]

# %%
# Two small networks and few steps are enough for a first look. A mirrored 5 is no 5, so
# training pictures are shifted but not mirrored.

model = VQKMeansClassifier(max_steps=200, n_members=2, n_rounds=1, augment="shift", random_state=0)
model.fit(sample.X, sample.y)
probability = model.predict_proba(unlabeled)[:, 1]

low, high = model.alpha_interval_
print(f"Fives among the unlabelled: {model.alpha_:.0%} ({low:.0%} to {high:.0%}); truly 25%.")
print(f"AUC against the truth: {roc_auc_score(is_five, probability):.3f}")

# %%
# The unlabelled pictures, sorted: the 20 most likely fives above, the 20 in the middle, where
# the model is in doubt, and the 20 least likely ones. A red frame marks a mistake.

order = probability.argsort()[::-1]
doubtful = abs(probability - 0.5).argsort()[:20]
rows = {"most likely": order[:20], "most doubtful": doubtful, "least likely": order[-20:]}
figure, axes = plt.subplots(6, 10, figsize=(9, 6.6))
for title, block, places in zip(rows, axes.reshape(3, 2, 10), rows.values(), strict=True):
    block[0, 0].set_title(title, loc="left", fontsize=11, pad=16)
    for axis, place in zip(block.flat, places, strict=True):
        axis.imshow(unlabeled[place], cmap="gray_r")
        axis.set_xlabel(f"{probability[place]:.2f}", fontsize=8, labelpad=1)
        axis.set(xticks=[], yticks=[])
        is_wrong = (probability[place] > 0.5) != is_five[place]
        axis.spines[:].set(color="tab:red" if is_wrong else "lightgrey", linewidth=2)
figure.tight_layout(h_pad=0.3)

# %%
# Without true labels you would ask the model itself. Each finding rests on samples that were
# scored by networks which had not seen them.

for finding in diagnose(model):
    print(finding)

# %%
# **Take from it.** Two arrays in, a probability for each unlabelled sample out, and with it an
# estimate of how many positives are hidden. With the defaults (five networks, two rounds, as many
# steps as images) the same fit is better and takes about a minute.
