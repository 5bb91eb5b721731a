"""The data sets: where their files are kept, and what must be in them.

The SHA-256 digests of MNIST and Fashion-MNIST were computed from the official gzip files, whose
published MD5 digests matched. The SHA-256 digest of CIFAR-10's archive is the one that several
public projects state beside the authors' own MD5 digest. Digests of the unpacked files were
computed from unpacked bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.datasets import _afhq, _cifar
from vqpu.datasets._idx import read_mnist_like
from vqpu.errors import InputError

Classes = tuple[NDArray[Any], NDArray[Any]]

DEFAULT_SIZE = 64


class Remote(NamedTuple):
    """An official file.

    Attributes
    ----------
    place : str
        Its path inside the data directory.
    addresses : tuple of str
        Where it is kept, tried in this order.
    n_bytes : int
    sha256 : str
    """

    place: str
    addresses: tuple[str, ...]
    n_bytes: int
    sha256: str


class Dataset(NamedTuple):
    """A data set with its official classes.

    Attributes
    ----------
    read : callable
        Takes the data directory, whether the training split is wanted and the side of
        photographs in pixels; returns images and classes.
    image_shape : tuple of int
        Of photographs, at the default size.
    class_counts : pair of tuple of int
        Samples a class in the training and in the test split.
    files : tuple of tuple of str
        One of each tuple must be in the data directory.
    digests : mapping of str to str
        SHA-256 of files whose bytes are known.
    remotes : tuple of Remote
        What ``fetch`` fetches.
    by_hand : str
        For data that cannot be fetched: what to do instead.
    licence : str
    """

    read: Callable[[Path, bool, int], Classes]
    image_shape: tuple[int, ...]
    class_counts: tuple[tuple[int, ...], tuple[int, ...]]
    files: tuple[tuple[str, ...], ...] = ()
    digests: Mapping[str, str] = MappingProxyType({})
    remotes: tuple[Remote, ...] = ()
    by_hand: str = ""
    licence: str = ""


def find_dataset(name: str) -> Dataset:
    """Return a data set by name."""
    if name not in DATASETS:
        raise InputError(f"Unknown data set {name!r}. Valid data sets are {list(DATASETS)}.")
    return DATASETS[name]


def _read_digits(_data_dir: Path, train: bool, _size: int) -> Classes:
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = (digits.images * 15).astype(np.uint8)
    # No official split exists: every fifth image is kept for testing.
    chosen = (np.arange(len(images)) % 5 == 0) != train
    return images[chosen], digits.target[chosen].astype(np.uint8)


def _idx_dataset(
    folder: str,
    mirrors: tuple[str, ...],
    files: dict[str, tuple[int, str, str]],
    class_counts: tuple[tuple[int, ...], tuple[int, ...]],
    licence: str,
) -> Dataset:
    """Make the entry of four IDX files; each has its gzipped size and both its digests."""
    digests = {}
    for name, (_, packed, unpacked) in files.items():
        digests[f"{folder}/{name}"] = unpacked
        digests[f"{folder}/{name}.gz"] = packed
    return Dataset(
        read=lambda data_dir, train, _: read_mnist_like(data_dir / folder, train),
        image_shape=(28, 28),
        class_counts=class_counts,
        files=tuple((f"{folder}/{name}", f"{folder}/{name}.gz") for name in files),
        digests=digests,
        remotes=tuple(
            Remote(
                f"{folder}/{name}.gz",
                tuple(f"{mirror}/{name}.gz" for mirror in mirrors),
                n_bytes,
                packed,
            )
            for name, (n_bytes, packed, _) in files.items()
        ),
        licence=licence,
    )


_MNIST = _idx_dataset(
    "mnist",
    (
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "https://storage.googleapis.com/cvdf-datasets/mnist",
    ),
    {
        "train-images-idx3-ubyte": (
            9_912_422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        "train-labels-idx1-ubyte": (
            28_881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        "t10k-images-idx3-ubyte": (
            1_648_877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        "t10k-labels-idx1-ubyte": (
            4_542,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    },
    (
        (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
        (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
    ),
    "cited as CC BY-SA 3.0",
)

_FASHION_MNIST = _idx_dataset(
    "fashion-mnist",
    ("https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion",),
    {
        "train-images-idx3-ubyte": (
            26_421_880,
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        ),
        "train-labels-idx1-ubyte": (
            29_515,
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
        "t10k-images-idx3-ubyte": (
            4_422_102,
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        ),
        "t10k-labels-idx1-ubyte": (
            5_148,
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    },
    ((6000,) * 10, (1000,) * 10),
    "MIT",
)

_CIFAR10_ARCHIVE = Remote(
    _cifar.ARCHIVE,
    ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
    170_052_171,
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)

_CIFAR10_BATCHES = {
    "data_batch_1": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}

_CIFAR10 = Dataset(
    read=lambda data_dir, train, _: _cifar.read_cifar10(data_dir, train),
    image_shape=(32, 32, 3),
    class_counts=((5000,) * 10, (1000,) * 10),
    files=tuple((f"{_cifar.FOLDER}/{name}.bin", _cifar.ARCHIVE) for name in _CIFAR10_BATCHES),
    digests={
        **{f"{_cifar.FOLDER}/{name}.bin": digest for name, digest in _CIFAR10_BATCHES.items()},
        _cifar.ARCHIVE: _CIFAR10_ARCHIVE.sha256,
    },
    remotes=(_CIFAR10_ARCHIVE,),
    licence="none stated; cite Krizhevsky 2009",
)

_AFHQ = Dataset(
    read=_afhq.read_afhq,
    image_shape=(DEFAULT_SIZE, DEFAULT_SIZE, 3),
    class_counts=((5153, 4739), (500, 500)),
    files=((_afhq.FOLDER, _afhq.ARCHIVE),),
    by_hand=(
        "its authors publish no digest, and nothing unverified is fetched: get afhq.zip (version "
        "1) from https://github.com/clovaai/stargan-v2 and put it into the data directory as "
        "afhq.zip, or unpacked as the folder afhq"
    ),
    licence="CC BY-NC 4.0, NAVER",
)

_DIGITS = Dataset(
    read=_read_digits,
    image_shape=(8, 8),
    class_counts=(
        (136, 154, 151, 135, 143, 143, 151, 153, 138, 133),
        (42, 28, 26, 48, 38, 39, 30, 26, 36, 47),
    ),
    by_hand="it comes with scikit-learn, so nothing is to be fetched",
    licence="CC BY 4.0, UCI",
)

DATASETS = {
    "digits": _DIGITS,
    "mnist": _MNIST,
    "fashion-mnist": _FASHION_MNIST,
    "cifar10": _CIFAR10,
    "afhq": _AFHQ,
}
