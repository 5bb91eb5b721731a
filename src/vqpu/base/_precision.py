"""In which precision networks compute: bfloat16 where the hardware has it, float32 elsewhere."""

from __future__ import annotations

import torch

PRECISIONS = ("auto", "float32", "bfloat16")


def resolve_precision(precision: str, device: torch.device, *, is_image: bool) -> str:
    """Return "float32" or "bfloat16".

    Parameters
    ----------
    precision : {"auto", "float32", "bfloat16"}
        "auto" takes bfloat16 for images where the device multiplies it natively. The matrices of
        a table's network are so small that casting them costs more than it saves.
    device : torch.device
    is_image : bool
    """
    if precision != "auto":
        return precision
    return "bfloat16" if is_image and has_native_bfloat16(device) else "float32"


def has_native_bfloat16(device: torch.device) -> bool:
    """Return whether a device multiplies bfloat16 itself rather than by way of float32.

    Parameters
    ----------
    device : torch.device
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # torch has no public name for this; a release without them falls back to float32.
    asked = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, name, bool)()) for name in asked)
