"""What must be the same for a captured graph to stand in for a call."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import torch

from capture import torch_private
from capture.failure import Blocked

_PLAIN = (int, float, bool, str, bytes, type(None), torch.dtype, torch.device)


def take_apart(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """Return a call's leaves and their structure, None for plain tensors in order."""
    if not kwargs and all(type(argument) is torch.Tensor for argument in args):
        return list(args), None
    return torch_private.flatten((args, kwargs))


def put_together(leaves: list[Any], structure: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments that `take_apart` took apart."""
    if structure is None:
        return tuple(leaves), {}
    args, kwargs = torch_private.unflatten(leaves, structure)
    return args, kwargs


def signature(leaves: list[Any], structure: Any, module: Any | None) -> Hashable:
    """Return the key of a call: shapes, dtypes, devices, plain values, identities, and the modes it runs under."""
    autocast = torch.is_autocast_enabled()
    modes = (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), autocast and torch.get_autocast_dtype("cuda"))
    training = module.training if module is not None else None
    return (*map(_leaf, leaves), None if structure is None else str(structure), modes, training)


def refuse_host_inputs(leaves: list[Any]) -> None:
    """Raise Blocked if a tensor lies on the host: a graph would read the address, not the next call's values."""
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor) and not leaf.is_cuda:
            text = (
                f"input {position} of shape {tuple(leaf.shape)} is on the {leaf.device.type}; move it before the call"
            )
            raise Blocked("host_input", text)


def _leaf(leaf: Any) -> Hashable:
    if isinstance(leaf, torch.Tensor):
        return leaf.shape, leaf.dtype, leaf.device, leaf.requires_grad
    return leaf if isinstance(leaf, _PLAIN) else id(leaf)
