"""
A table with gaps and dates
===========================

**Question.** 150 of 1,200 customers are known to want the new service, because they said so. Who
else would? The table has what tables have: gaps, dates, categories, a column of remarks.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from vqpu import VQKMeansClassifier

rng = np.random.default_rng(0)
n = 1200
wants = rng.random(n) < 0.4
table = pd.DataFrame(
    {
        "age": np.where(wants, rng.normal(38, 9, n), rng.normal(52, 14, n)).round(),
        "income": rng.lognormal(10.4, 0.4, n).round(-2),
        "joined": pd.Timestamp("2020-01-01")
        + pd.to_timedelta(rng.integers(0, 900, n) + 700 * wants, unit="D"),
        "city": rng.choice(["Delft", "Gouda", "Leiden"], n),
        "device": np.where(
            rng.random(n) < 0.2 + 0.5 * wants, "phone", rng.choice(["desk", "tablet"], n)
        ),
        "remark": rng.choice(["asked for a discount", "called twice", "moved house", ""], n),
    },
    index=[f"customer-{number}" for number in range(n)],
)
table.loc[rng.random(n) < 0.2, "income"] = np.nan
table.loc[rng.random(n) < 0.1, "device"] = None
said_so = np.zeros(n, dtype=bool)
said_so[rng.choice(np.flatnonzero(wants), 150, replace=False)] = True
table.head()

# %%
# The frame goes in as it is. Each column becomes what it looks like, and a missing value is a
# value like any other: no row is dropped, nothing is filled in by hand.

model = VQKMeansClassifier(random_state=0).fit(table, said_so)
print(model.columns_.describe())

# %%
others = table[~said_so]
probability = model.predict_proba(others)[:, 1]
low, high = model.alpha_interval_
print(f"Hidden among the others: {model.alpha_:.0%} ({low:.0%} to {high:.0%}),")
print(f"truly {wants[~said_so].mean():.0%}.")
others.assign(probability=probability.round(2)).nlargest(5, "probability")

# %%
# Why these? Trees can say exactly what each column adds to the place of a sample between "like
# the labelled ones" (right) and "like the rest" (left). For the most likely customer and the
# least likely:

explanation = model.explain(others)
names = model.columns_.feature_names
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True)
for axis, place in zip(axes, (probability.argmax(), probability.argmin()), strict=True):
    added = explanation.contributions[place]
    strongest = abs(added).argsort()[-6:]
    axis.barh([names[column] for column in strongest], added[strongest], color="tab:blue")
    axis.set_title(f"{others.index[place]}: {probability[place]:.2f}")
    axis.axvline(0, color="black", linewidth=0.8)
figure.supxlabel("against  ←  what the column adds  →  for")
figure.tight_layout()

# %%
# **Take from it.** Hand over the frame, look at ``columns_`` once, and convert a column yourself
# (``astype("category")``, ``astype(float)``) where the guess is not what you meant. From a file:
# ``vqpu fit customers.csv --label said_so --positive yes --id customer --out model``.
