"""Tensors as safetensors bytes, and modules that are filled from them."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from vqpu.errors import ModelFileError

WEIGHTS = "weights.safetensors"


def pack(tensors: Mapping[str, Tensor]) -> bytes:
    """Return tensors in the safetensors format.

    Parameters
    ----------
    tensors : mapping of Tensor
    """
    from safetensors.torch import save

    # Copies, because the format knows neither shared memory nor other memory layouts.
    plain = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    content: bytes = save(plain)
    return content


def unpack(content: bytes) -> dict[str, Tensor]:
    """Return the tensors in bytes that were verified.

    Parameters
    ----------
    content : bytes
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors: dict[str, Tensor] = load(content)
    except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
        raise ModelFileError(f"{WEIGHTS} is not in the safetensors format: {error}") from None
    return tensors


def module_tensors(name: str, module: nn.Module) -> dict[str, Tensor]:
    """Return a module's parameters and buffers, each named ``name.``... .

    Parameters
    ----------
    name : str
    module : Module
    """
    tensors = {}
    for key, tensor in module.state_dict().items():
        if not isinstance(tensor, Tensor):
            raise ModelFileError(
                f"{name}.{key} is a {type(tensor).__name__}. Only modules whose state is tensors "
                "can be saved: an encoder must not add extra state."
            )
        tensors[f"{name}.{key}"] = tensor
    return tensors


def fill_modules(modules: Mapping[str, nn.Module], tensors: Mapping[str, Tensor]) -> None:
    """Put tensors into modules of exactly their names, shapes and dtypes.

    All are compared before anything is changed. Modules may be on torch's meta device: then memory
    is taken only after the comparison.

    Parameters
    ----------
    modules : mapping of Module
    tensors : mapping of Tensor
        Named as by :func:`module_tensors`.
    """
    expected: dict[str, Tensor] = {}
    for name, module in modules.items():
        expected |= module_tensors(name, module)
    _compare(expected, tensors)
    for name, module in modules.items():
        if any(tensor.is_meta for tensor in module.state_dict().values()):
            module.to_empty(device="cpu")
        own = {key: tensors[f"{name}.{key}"] for key in module.state_dict()}
        module.load_state_dict(own)


def _compare(expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    missing, extra = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
    if missing or extra:
        kind, names = ("missing", missing) if missing else ("not expected", extra)
        raise ModelFileError(
            f"{WEIGHTS}: tensor {names[0]!r} is {kind} ({len(missing)} missing, {len(extra)} not "
            "expected). The weights do not belong to these parameters and this encoder."
        )
    for name, tensor in expected.items():
        for what, here, there in (
            ("shape", tuple(found[name].shape), tuple(tensor.shape)),
            ("dtype", found[name].dtype, tensor.dtype),
        ):
            if here != there:
                raise ModelFileError(
                    f"{WEIGHTS}: tensor {name!r} has {what} {here} on disk, {there} is expected "
                    "from the parameters and the encoder."
                )
