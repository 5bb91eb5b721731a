"""Saving and loading of network estimators: which fitted state there is, and how it comes back."""

from __future__ import annotations

import inspect
import os
import platform
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import nn

from vqpu.base._seeding import choose_device, preserved_torch_state
from vqpu.base._source import Layout
from vqpu.errors import EncoderError, ModelFileError, VqpuError
from vqpu.estimators._validation import CheckedEstimator
from vqpu.nn import fold_batch_norm
from vqpu.persistence._bundle import Bundle
from vqpu.persistence._model import read_model, write_model
from vqpu.persistence._tensors import WEIGHTS, fill_modules, module_tensors, pack, unpack
from vqpu.persistence._values import decode, encode
from vqpu.training import History

AnyEstimator = TypeVar("AnyEstimator", bound="SavedEstimator")
EncoderMaker = Callable[[tuple[int, ...], int], nn.Module]

_OPTIONAL = ("feature_names_in_",)


class SavedEstimator(CheckedEstimator):
    """Base of estimators that can be saved: a class names its fitted state, no more.

    ``_saved`` are the attributes a class adds to those of its bases, modules among them;
    ``_records`` are the types with named fields that occur in them; ``_absent_means`` are values of
    parameters that older files do not have. ``_blank_modules`` builds the
    modules from parameters and from what has been restored; their weights come from the file.
    """

    _saved: ClassVar[tuple[str, ...]] = (
        "n_features_in_", "input_shape_", "network_", "history_", "best_check_", "n_steps_",
        "stop_reason_", "n_members_", "_dropout",
    )  # fmt: skip
    _records: ClassVar[tuple[type, ...]] = (History, Layout)
    _absent_means: ClassVar[dict[str, Any]] = {}

    def save(self, path: str | os.PathLike[str], *, extras: dict[str, bytes] | None = None) -> None:
        """Save the fitted model as a directory: ``manifest.json`` and ``weights.safetensors``.

        The directory appears whole or not at all, and replaces an older model only then. Reading
        it runs no code from it. A function given as ``encoder`` is not saved: hand it over again
        when loading. Of a ``random_state`` that is a generator only None is kept.

        Parameters
        ----------
        path : path
            Of the directory: free, empty, or an older model.
        extras : dict of bytes or None
            Further files to keep in it by their names; ``vqpu.persistence.read_extra`` reads them.
        """
        check_is_fitted(self)
        tensors: dict[str, torch.Tensor] = {}
        state = {}
        for name in self._saved_names():
            value = getattr(self, name)
            if isinstance(value, nn.Module):
                tensors |= module_tensors(name, value)
            else:
                state[name] = encode(value, name, tensors, self._records)
        header = {
            "estimator": type(self).__name__,
            "versions": _versions(),
            "parameters": plain_parameters(self.get_params(deep=False)),
            "fitted": state,
        }
        write_model(path, header, pack(tensors), extras)

    @classmethod
    def load(
        cls: type[AnyEstimator],
        path: str | os.PathLike[str],
        *,
        encoder: EncoderMaker | None = None,
        device: str | None = None,
    ) -> AnyEstimator:
        """Return a model that was saved by this class; it answers as it did, bit for bit.

        Parameters
        ----------
        path : path
        encoder : callable or None
            The function that was given as ``encoder``, if one was.
        device : str or None
            Where to compute. None: as the parameter ``device`` says that was saved.
        """
        bundle = read_model(path)
        saved_as = bundle.manifest.get("estimator")
        if saved_as != cls.__name__:
            raise ModelFileError(
                f"{bundle.path} is a {saved_as}, not a {cls.__name__}. Use {saved_as}.load, or "
                "vqpu.load for any of vqpu's estimators."
            )
        return cls._of_bundle(bundle, encoder=encoder, device=device)

    @classmethod
    def _of_bundle(
        cls: type[AnyEstimator],
        bundle: Bundle,
        *,
        encoder: EncoderMaker | None,
        device: str | None,
    ) -> AnyEstimator:
        try:
            model = cls(**_parameters(cls, bundle, encoder, device))
            model._check_parameters()
            model._restore(bundle)
        except (ModelFileError, EncoderError):
            raise
        except VqpuError as error:
            raise ModelFileError(f"{bundle.path} cannot be used: {error}") from error
        except (TypeError, ValueError, LookupError, AttributeError, RuntimeError) as error:
            raise ModelFileError(
                f"{bundle.path} does not hold a {cls.__name__}: its values do not fit ({error})."
            ) from error
        return model

    def _restore(self, bundle: Bundle) -> None:
        tensors = unpack(bundle.read(WEIGHTS))
        state = self._checked_state(bundle)
        for name, value in state.items():
            setattr(self, name, decode(value, tensors, self._records))
        if self.n_members_ > len(tensors):
            raise ModelFileError(f"{bundle.path} states {self.n_members_} members but lacks them.")
        # Our own modules take no memory until their shapes are known to be those of the file.
        if callable(self.encoder):
            with preserved_torch_state(torch.device("cpu")):
                modules = self._blank_modules()
        else:
            with torch.device("meta"):
                modules = self._blank_modules()
        fill_modules(modules, tensors)
        self._device = choose_device(self.device)
        for name, module in modules.items():
            setattr(self, name, module.eval().requires_grad_(False).to(self._device))
        self._folded = fold_batch_norm(self.network_)

    def _blank_modules(self) -> dict[str, nn.Module]:
        """Return new modules of the right architecture, by the names of their attributes."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _saved_names(self) -> list[str]:
        """Return the names of all saved attributes that there are."""
        return [
            name for kind in reversed(type(self).__mro__) for name in vars(kind).get("_saved", ())
        ] + [name for name in _OPTIONAL if hasattr(self, name)]

    def _checked_state(self, bundle: Bundle) -> dict[str, Any]:
        state = bundle.manifest.get("fitted")
        if not isinstance(state, dict):
            raise ModelFileError(f"{bundle.path} has no fitted values in its manifest.")
        expected = set(self._saved_names()) - {"network_", "generator_"}
        missing, extra = sorted(expected - set(state)), sorted(set(state) - expected)
        extra = [name for name in extra if name not in _OPTIONAL]
        if missing or extra:
            raise ModelFileError(
                f"{bundle.path} does not hold the fitted values of a {type(self).__name__}: "
                f"{missing} are missing, {extra} are not expected."
            )
        return state


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return an estimator's parameters ready for JSON: a function by its name, generators as None.

    Parameters
    ----------
    parameters : dict
    """
    plain = {}
    for name, value in parameters.items():
        if name == "encoder" and callable(value):
            value = {"callable": _name_of_callable(value)}
        elif name == "random_state" and not isinstance(value, (int, np.integer)):
            value = None
        elif isinstance(value, np.generic):
            value = value.item()
        plain[name] = value
    return plain


def _name_of_callable(function: Any) -> str:
    """Return what a function, or an object that can be called, is named in the source."""
    while isinstance(function, partial):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def _parameters(
    kind: type[SavedEstimator], bundle: Bundle, encoder: EncoderMaker | None, device: str | None
) -> dict[str, Any]:
    """Return the saved parameters with the user's encoder and device in their places.

    A parameter that is not in the file is newer than the file. It takes what the class says that
    its absence means, else its default, which must then mean what was before.
    """
    parameters = bundle.manifest.get("parameters")
    known = inspect.signature(kind).parameters
    if not isinstance(parameters, dict) or not set(parameters) <= set(known):
        found = sorted(set(parameters) - set(known)) if isinstance(parameters, dict) else parameters
        raise ModelFileError(
            f"{bundle.path} has parameters that {kind.__name__} does not know: {found}."
        )
    saved_encoder = parameters.get("encoder")
    if isinstance(saved_encoder, dict) and encoder is None:
        raise ModelFileError(
            f"{bundle.path} was fitted with an encoder of its own, "
            f"{saved_encoder.get('callable')!r}. Pass that function as encoder=."
        )
    if encoder is not None and not isinstance(saved_encoder, dict):
        raise ModelFileError(
            f"{bundle.path} was fitted with encoder={saved_encoder!r}, so it takes no encoder. "
            "Leave encoder out."
        )
    changes = {"encoder": encoder, "device": device}
    given = {name: value for name, value in changes.items() if value is not None}
    return kind._absent_means | parameters | given


def _versions() -> dict[str, str]:
    import sklearn

    import vqpu

    return {
        "vqpu": vqpu.__version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
