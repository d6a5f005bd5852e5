"""Data as JSON can hold them."""

import math
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class ArrayLike(Protocol):
    """A numpy or torch scalar or array: it can turn itself into plain numbers."""

    def tolist(self) -> Any: ...


def finite(data: Any) -> Any:
    """Return `data` as standard JSON can hold them: NaN and infinity become null.

    >>> finite({"loss": (1.5, float("nan")), "best": float("inf")})
    {'loss': [1.5, None], 'best': None}
    """
    if isinstance(data, float):
        return float(data) if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return finite(data.tolist()) if isinstance(data, ArrayLike) else data
