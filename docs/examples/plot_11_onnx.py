"""
Deploying with ONNX, without torch
==================================

**Question.** The model is fitted; where it will be used there is no torch, perhaps no Python. How
does it get there, and does it answer the same?

One command writes one graph, from raw values to score and probability, and compares it with the
model on the spot. Running it needs onnxruntime alone.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from vqpu import VQKMeansClassifier, make_pu
from vqpu.cli import main

X, is_benign = load_breast_cancer(return_X_y=True)
sample = make_pu(X, is_benign, n_positive=80, n_unlabeled=280, alpha=0.4, random_state=0)
model = VQKMeansClassifier(random_state=0).fit(sample.X, sample.y)

folder = Path(tempfile.mkdtemp())
model.save(folder / "model")
main(["export", str(folder / "model"), "--onnx", str(folder / "model.onnx")])

# %%
# On the other machine: a program that knows neither vqpu nor torch, here as a process of its own.

np.save(folder / "new.npy", sample.X[sample.y == 0])
program = """
import sys
import numpy as np
import onnxruntime

folder = sys.argv[1]
session = onnxruntime.InferenceSession(folder + "/model.onnx")
name = session.get_inputs()[0].name
probability = session.run(["probability"], {name: np.load(folder + "/new.npy")})[0]
np.save(folder + "/probability.npy", probability)
print("torch is loaded:", "torch" in sys.modules, "- vqpu is loaded:", "vqpu" in sys.modules)
"""
done = subprocess.run(
    [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True
)
print(done.stdout)

# %%
there, here = (
    np.load(folder / "probability.npy"),
    model.predict_proba(sample.X[sample.y == 0])[:, 1],
)
size = (folder / "model.onnx").stat().st_size / 1e6
print(f"largest difference {abs(there - here).max():.1e}, one file of {size:.1f} MB")

figure, axis = plt.subplots(figsize=(4.6, 4.4))
axis.plot([0, 1], [0, 1], color="lightgrey")
axis.plot(here, there, ".", color="tab:blue")
axis.set(xlabel="probability by vqpu", ylabel="probability by onnxruntime")
figure.tight_layout()

# %%
# **Take from it.** ``vqpu export model --onnx model.onnx``, then onnxruntime anywhere. The graph
# takes the numbers that ``fit`` took; a model on features of a pretrained network becomes one
# graph from pixels to score (:doc:`/deploying`).
