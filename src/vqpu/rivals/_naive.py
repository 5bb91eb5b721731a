"""NaivePUClassifier: labelled positives against unlabelled samples, uncorrected."""

from __future__ import annotations

from vqpu.rivals._classifier import LogisticClassifier
from vqpu.rivals._recipes import Recipe
from vqpu.rivals._training import LogitTraining, Trained


class NaivePUClassifier(LogisticClassifier):
    """Classifier of labelled positives against unlabelled samples, the bar for every PU method.

    Balanced batches, cross entropy, threshold 1/2. It has the encoder, the augmentation, the
    weight averaging and the held-out stopping of :class:`vqpu.VQKMeansClassifier`, whose
    parameters of the same names mean the same.

    Its threshold is the Bayes border for accuracy only if alpha is 1/2: it calls positive what is
    likelier among labelled positives than among unlabelled samples.

    Parameters
    ----------
    optimizer, schedule, weight_average, check_every
        As in :class:`vqpu.Variant`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    history_ : History
    network_ : torch.nn.Module
    """

    _title = "naive P against U"

    def _train(self, training: LogitTraining) -> Trained:
        result = training.run(Recipe(), patience=self.patience)
        return Trained(result, result.state)
