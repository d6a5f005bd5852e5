"""Whether torch's autocast rounds what a pass multiplies, and how to keep it from what must not."""

from contextlib import AbstractContextManager, nullcontext

import torch


def rounded_to(device: torch.device) -> torch.dtype | None:
    """The format that autocast gives to products now; None where it is off.

    >>> rounded_to(torch.device("meta"))
    """
    kind = device.type
    on = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    return torch.get_autocast_dtype(kind) if on else None


def unrounded(device: torch.device) -> AbstractContextManager[None]:
    """Encloses what autocast is to leave alone."""
    on = rounded_to(device) is not None
    return torch.autocast(device.type, enabled=False) if on else nullcontext()
