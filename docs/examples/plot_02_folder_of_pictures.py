"""
A folder of your own pictures
=============================

**Question.** In one folder you have put a few pictures of what you look for; another folder holds
everything else. How do you get from two folders to a sorted list of file names?

So that this example runs anywhere, it first draws the pictures: rings are wanted, squares are
not, each with its own colour, size and place.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageDraw

from vqpu import VQKMeansClassifier
from vqpu.files import iter_images, read_image_folders

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)


def draw(path, is_ring):
    """Draw a ring or a square on a noisy background."""
    path.parent.mkdir(exist_ok=True)
    picture = Image.fromarray(rng.integers(0, 80, (48, 48, 3), dtype=np.uint8))
    left, top, size = *rng.integers(2, 20, 2), rng.integers(18, 26)
    box = [int(left), int(top), int(left + size), int(top + size)]
    pen = ImageDraw.Draw(picture)
    shape = pen.ellipse if is_ring else pen.rectangle
    shape(box, outline=tuple(int(value) for value in rng.integers(120, 256, 3)), width=4)
    picture.save(path)


for number in range(60):
    draw(folder / "wanted" / f"ring-{number:03}.png", is_ring=True)
for number in range(180):
    draw(folder / "unsorted" / f"{number:03}.png", is_ring=number % 3 == 0)

# %%
# Two folders are read into what ``fit`` takes. Pictures may be of any size and kind; here they
# are read in grey at 16 pixels a side.

data = read_image_folders(
    folder / "wanted", folder / "unsorted", size=16, mode="L", cache_dir=folder / "cache"
)
model = VQKMeansClassifier(max_steps=150, n_members=1, n_rounds=1, random_state=0)
model.fit(data.X, data.y)
print(f"About {model.alpha_:.0%} of the unsorted pictures are wanted; 33% were drawn.")

# %%
# New pictures are read the same way, in chunks, so that a folder may be larger than the memory.

names, probabilities = [], []
for chunk in iter_images(folder / "unsorted", size=16, mode="L"):
    names.extend(chunk.names)
    probabilities.extend(model.predict_proba(chunk.X)[:, 1])
order = np.argsort(probabilities)[::-1]
for place in order[:3]:
    print(f"{probabilities[place]:.2f}  {Path(names[place]).name}")

# %%
# The most likely ones above, the least likely ones below.

figure, axes = plt.subplots(4, 10, figsize=(9, 4))
for axis, place in zip(axes.flat, [*order[:20], *order[-20:]], strict=True):
    axis.imshow(Image.open(folder / "unsorted" / Path(names[place]).name))
    axis.set_xlabel(f"{probabilities[place]:.2f}", fontsize=8, labelpad=1)
    axis.set(xticks=[], yticks=[])
figure.tight_layout(h_pad=0.3)

# %%
# **Take from it.** The same without Python, and with a sheet of the best pictures::
#
#     vqpu fit --positives wanted/ --unlabeled unsorted/ --image-size 16 --image-mode L --out model
#     vqpu rank model unsorted/ --top 100 --sheet top.png
#
# For photographs, features of a pretrained network are a better start than pixels:
# :doc:`/features`.
