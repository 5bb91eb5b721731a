"""The forms of the method that the paper describes or compares, and what each changes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from vqpu.base._parameters import check_choice, check_real
from vqpu.errors import ParameterError
from vqpu.estimators._validation import check_parameters
from vqpu.nn import IMAGE_ENCODERS
from vqpu.training import SIGNALS
from vqpu.vq._decision_rule import DECISIONS
from vqpu.vq._network import ENCODINGS
from vqpu.vq._objective import CODEBOOK_RATES


@dataclass(frozen=True, kw_only=True, repr=False)
class Variant:
    """A form of VQ K-means: what the paper fixes, leaves open or takes away in an ablation.

    Parameters
    ----------
    encoding : {"codes", "constant", "distribution"}, default="codes"
        "codes" is the method. The others are the paper's ablations without a codebook: constant
        encodings (targets 0 and ``anchor_mean``) and distributional encodings (normal
        distributions around them); they cluster the vectors themselves.
    anchors : {"frozen", "moving"}, default="frozen"
        Whether the targets stay where c_1 and c_m were drawn or move with the codebook, which is
        the literal text of the paper.
    anchor_mean : float or None, default=None
        None: all codes from N(0, I). A number a: the upper half from N(a, I); for continuous
        encodings the positives' target (None: 1).
    codebook_update : {"follow", "adam", "none"}, default="follow"
        "follow" moves c_1 and c_m towards the mean of the vectors that fall on them and leaves the
        other codes as drawn; "adam" takes Adam steps on the second terms of equation 1, as the
        paper does; "none" leaves all codes as drawn.
    codebook_learning_rate : float or None, default=None
        For "follow" the share of the way per step (None: 0.05), for "adam" the learning rate
        (None: 0.003).
    decision : {"posterior", "balanced", "nearest-center"}, default="posterior"
        "posterior" calls positive what has probability above 1/2, "balanced" what would have it if
        both classes were as frequent; "nearest-center" what is nearer to the positive cluster's
        centre, as in the paper. The classifier's own ``decision`` goes before it.
    stopping_signal : {"holdout-loss", "center-distance", "holdout-auc", "separation"}, \
            default="holdout-loss"
        What a good check is. "center-distance" is the paper's; the others are measured on
        samples that were not trained on.
    schedule : {"cosine", "constant"}, default="cosine"
        A short rise of the learning rate and a cosine fall over the budget, or none of it.
    weight_average : float, default=0.99
        Decay of the moving average of the encoder, which is used for checks and predictions.
        0 turns it off.
    optimizer : {"auto", "muon", "adam"}, default="auto"
        "muon" moves matrices and filters along their orthogonalised momentum, at 20 times the
        learning rate, and has Adam for the rest. "auto" takes it for images, and "adam" for
        vectors, where it gains nothing.
    rounds : {"soft", "leave-out"}, default="soft"
        What a further round does: draw every unlabelled sample to c_1 + q(x) (c_m - c_1), q being
        its probability after the round before, or leave out those that look positive. The latter
        needs five members; trees train soft rounds alone, and answer by the mean of all of them.
    image_encoder : {"conv", "vqvae"}, default="conv"
        What ``encoder="auto"`` is for images.
    n_init : int, default=4
        Starts of K-means.
    check_every : int or None, default=None
        Steps between checks. None: one epoch, but at most a twentieth of the budget; never fewer
        than 20.
    """

    encoding: str = "codes"
    anchors: str = "frozen"
    anchor_mean: float | None = None
    codebook_update: str = "follow"
    codebook_learning_rate: float | None = None
    decision: str = "posterior"
    stopping_signal: str = "holdout-loss"
    schedule: str = "cosine"
    weight_average: float = 0.99
    optimizer: str = "auto"
    rounds: str = "soft"
    image_encoder: str = "conv"
    n_init: int = 4
    check_every: int | None = None

    def __repr__(self) -> str:
        """Show what differs from the default, as scikit-learn does."""
        parts = ((part.name, getattr(self, part.name), part.default) for part in fields(self))
        changed = [f"{name}={value!r}" for name, value, default in parts if value != default]
        return f"Variant({', '.join(changed)})"

    @property
    def codebook_rate(self) -> float:
        """The rate of the codes, resolved."""
        if self.codebook_learning_rate is None:
            return CODEBOOK_RATES[self.codebook_update]
        return float(self.codebook_learning_rate)

    def output_dim(self, vector_dim: int) -> int:
        """Return how many numbers the encoder gives for a vector."""
        return int(vector_dim * (2 if self.encoding == "distribution" else 1))

    def check(self) -> None:
        """Raise if a value is wrong."""
        check_parameters(vars(self))
        check_choice("encoding", self.encoding, ENCODINGS)
        check_choice("anchors", self.anchors, ("frozen", "moving"))
        check_real("anchor_mean", self.anchor_mean, -1e6, 1e6, optional=True)
        check_choice("codebook_update", self.codebook_update, tuple(CODEBOOK_RATES))
        check_real("codebook_learning_rate", self.codebook_learning_rate, 0, 1, open_low=True,
                   open_high=False, optional=True)  # fmt: skip
        check_choice("stopping_signal", self.stopping_signal, tuple(SIGNALS))
        check_choice("decision", self.decision, DECISIONS)
        check_choice("rounds", self.rounds, ("soft", "leave-out"))
        check_choice("image_encoder", self.image_encoder, IMAGE_ENCODERS)
        if self.anchor_mean == 0 and self.encoding != "codes":
            raise ParameterError(
                "anchor_mean must differ from 0 for continuous encodings: both targets would be "
                "the same point. Got 0 instead."
            )


VARIANTS = {
    "default": Variant(),
    "paper": Variant(
        anchors="moving",
        codebook_update="adam",
        codebook_learning_rate=1e-4,
        decision="nearest-center",
        stopping_signal="center-distance",
        schedule="constant",
        weight_average=0.0,
        optimizer="adam",
        image_encoder="vqvae",
    ),
    "constant": Variant(encoding="constant"),
    "distribution": Variant(encoding="distribution"),
}

# All parameters of the paper's text to the letter: ``VQKMeansClassifier(**PAPER_FORM)``.
PAPER_FORM: dict[str, Any] = {
    "variant": "paper",
    "learning_rate": 1e-4,
    "dropout": 0.0,
    "augment": "none",
    "n_members": 1,
    "n_rounds": 1,
    "holdout": 0.0,
}

_GROUP = "variant__"  # what the names of its parts begin with
VARIANT_FIELDS = tuple(field.name for field in fields(Variant))


def resolve_variant(variant: Any) -> Variant:
    """Return a variant that is given by name or as itself.

    Parameters
    ----------
    variant : str or Variant
    """
    if isinstance(variant, Variant):
        return variant
    if not isinstance(variant, str):
        raise ParameterError(
            f"variant must be one of {list(VARIANTS)} or a vqpu.Variant. Got {variant!r} instead."
        )
    check_choice("variant", variant, tuple(VARIANTS))
    return VARIANTS[variant]


def named_parts(variant: Any) -> dict[str, Any]:
    """Return the parts of a variant as ``variant__NAME``, none if it is no variant.

    Parameters
    ----------
    variant : str or Variant
        What is wrong with it is told by ``fit``.
    """
    try:
        parts = vars(resolve_variant(variant))
    except ParameterError:
        return {}
    return {f"{_GROUP}{name}": value for name, value in parts.items()}


def with_variant(params: dict[str, Any], variant: str | Variant) -> dict[str, Any]:
    """Return parameters to set, those named ``variant__NAME`` put together as ``variant``.

    A variant that stays what it was keeps its name.

    Parameters
    ----------
    params : dict
    variant : str or Variant
        The one that is changed, unless ``params`` have another.
    """
    parts = {name: value for name, value in params.items() if name.startswith(_GROUP)}
    plain = {name: value for name, value in params.items() if name not in parts}
    _check_names(plain, parts)
    if not parts:
        return plain
    before = resolve_variant(plain.get("variant", variant))
    changes = {name.removeprefix(_GROUP): value for name, value in parts.items()}
    after = replace(before, **changes)
    return plain if after == before else {**plain, "variant": after}


def _check_names(plain: dict[str, Any], parts: dict[str, Any]) -> None:
    for name in plain:
        if name in VARIANT_FIELDS and name != "decision":  # which is a parameter of its own too
            raise ParameterError(
                f"Invalid parameter {name!r} for VQKMeansClassifier. It is a part of the variant: "
                f"say {_GROUP + name!r}."
            )
    for name in parts:
        if name.removeprefix(_GROUP) not in VARIANT_FIELDS:
            raise ParameterError(
                f"Invalid parameter {name!r} for VQKMeansClassifier. Valid parts of the variant "
                f"are {list(VARIANT_FIELDS)}."
            )
