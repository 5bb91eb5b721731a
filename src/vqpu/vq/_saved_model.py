"""What a saved classifier consists of, and how its network comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vqpu.base.columns import Column, ColumnPlan
from vqpu.errors import ModelFileError
from vqpu.estimators._encoder import blank_ensemble
from vqpu.estimators._evidence import FitEvidence
from vqpu.estimators._reference import ColumnShares, Reference
from vqpu.estimators._sizes import MAX_STEPS
from vqpu.nn import Codebook, TableInputs
from vqpu.priors._mixture import Cells, Interval
from vqpu.priors._posterior import Posterior
from vqpu.training import History
from vqpu.trees import TreeSizes
from vqpu.vq._check import fold_network
from vqpu.vq._clusters import Clusters
from vqpu.vq._decision_rule import DecisionRule
from vqpu.vq._network import VQNetwork, blank_codebook
from vqpu.vq._settings import encoder_spec
from vqpu.vq._tree_network import TreeNetwork, blank_tree_network
from vqpu.vq._tree_settings import is_trees
from vqpu.vq._variant import Variant

if TYPE_CHECKING:
    from vqpu.vq._classifier import VQKMeansClassifier

SAVED: tuple[str, ...] = (
    "n_features_in_", "input_shape_", "classes_", "network_", "history_", "best_check_",
    "n_steps_", "stop_reason_", "n_members_", "n_holdout_", "cluster_centers_", "alpha_",
    "theoretical_alpha_", "positive_share_", "holdout_projections_", "holdout_log_odds_",
    "decision_rule_", "variant_", "_dropout",
)  # fmt: skip
RECORDS: tuple[type, ...] = (
    History, DecisionRule, Clusters, Posterior, Variant, TreeSizes, TableInputs, Column,
    ColumnPlan, FitEvidence, Interval, Cells, Reference, ColumnShares,
)  # fmt: skip


def blank_network(model: VQKMeansClassifier) -> VQNetwork | TreeNetwork:
    """Return a network of the right architecture, whose weights or trees are still to be filled in.

    Parameters
    ----------
    model : VQKMeansClassifier
        With its parameters and all fitted attributes but the network.
    """
    variant = model.variant_
    variant.check()
    codebook = blank_codebook(
        model.codebook_size,
        model.vector_dim,
        encoding=variant.encoding,
        moving_anchors=variant.anchors == "moving",
    )
    if hasattr(model, "tree_sizes_"):
        return _blank_trees(model, codebook)
    spec = encoder_spec(model, model.input_shape_, variant, model._dropout, model.n_members_)
    return VQNetwork(blank_ensemble(spec), codebook, variant.encoding)


def _blank_trees(model: VQKMeansClassifier, codebook: Codebook) -> TreeNetwork:
    if not isinstance(model.tree_sizes_, TreeSizes) or len(model.input_shape_) != 1:
        raise ModelFileError(f"{model.tree_sizes_!r:.100} are no sizes of trees for a table.")
    (n_features,) = model.input_shape_
    return blank_tree_network(model.tree_sizes_, n_features, model.n_members_, codebook)


def folded_network(network: VQNetwork | TreeNetwork) -> VQNetwork | TreeNetwork:
    """Return what predicts: a network with batch norm folded, or trees that were checked.

    Parameters
    ----------
    network : VQNetwork or TreeNetwork
        As it was read.
    """
    if isinstance(network, TreeNetwork):
        network.encoder.check()
        return network
    return fold_network(network)


def complete_older_model(model: VQKMeansClassifier) -> None:
    """Set what models did not have yet when this one was saved.

    Parameters
    ----------
    model : VQKMeansClassifier
    """
    if not hasattr(model, "max_steps_"):
        model.max_steps_ = model.max_steps or MAX_STEPS
    if not hasattr(model, "alpha_interval_"):
        model.alpha_interval_ = (0.0, 1.0)
    is_network_of_vectors = isinstance(model.network_, VQNetwork) and len(model.input_shape_) == 1
    if is_network_of_vectors and model.encoder == "auto" and is_trees("auto", model.variant_):
        model.encoder = "network"  # what "auto" meant when it was saved
