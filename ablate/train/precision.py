"""The number format of training passes, and whether they are compiled."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

from ablate.errors import UserError

PAYING_STEPS = 5000
"""From about so many on, a compiled step of some 50 ms has won back what compiling took."""


class Precision:
    """float32; tf32, which multiplies with 10-bit mantissas; or bf16, by torch's autocast.

    Parameters, optimiser, loss and every evaluation are in float32 whatever it is.
    """

    def __init__(self, name: str, device: torch.device) -> None:
        self.name, self.device = name, device

    def forward(self) -> AbstractContextManager[None]:
        """Encloses a forward pass."""
        if self.name == "bf16":
            return torch.autocast(self.device.type, dtype=torch.bfloat16)
        return nullcontext()

    @contextmanager
    def products(self) -> Iterator[None]:
        """Encloses a forward pass with its backward pass."""
        if self.name != "tf32":
            yield
            return
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)


def check_precision(name: str, device: torch.device) -> None:
    """Raise UserError where a device lacks the number format `name`."""
    if name == "tf32" and not has_tf32(device):
        raise UserError(
            f"precision=tf32: needs a CUDA device of the Ampere generation or newer, but the "
            f"device is {device.type}; use precision=float32 or bf16"
        )
    if name == "bf16" and not has_bf16(device):
        raise UserError(
            f"precision=bf16: this {device.type} device has no bfloat16; use precision=float32"
        )


def has_tf32(device: torch.device) -> bool:
    """Whether a device can multiply float32 with 10-bit mantissas."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)


def has_bf16(device: torch.device) -> bool:
    """Whether torch can autocast to bfloat16; on a CPU it always can, fast or not."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.amp.is_autocast_available(device.type)


def no_gain(device: torch.device, *, precision: str, compiled: bool, steps: int) -> list[str]:
    """What a run on a CPU should hear that asks for what is to make it faster and will not.

    >>> no_gain(torch.device("cpu"), precision="float32", compiled=True, steps=PAYING_STEPS)
    []
    """
    if device.type != "cpu":
        return []
    lines = []
    if compiled and steps < PAYING_STEPS:
        lines.append(
            f"compile=true will not pay in {steps:,} steps on a CPU: it takes seconds, at first a "
            "minute, and saves 5 to 9 % of a step; try compile=false"
        )
    if precision == "bf16":
        lines.append("precision=bf16 is slower than float32 on most CPUs; try precision=float32")
    return lines


def check_compiler(device: torch.device) -> None:
    """Raise UserError where torch.compile lacks the compiler that it needs on this device."""
    if device.type == "cuda":
        if importlib.util.find_spec("triton") is None:
            raise UserError("compile=true: on CUDA it needs the package triton; use compile=false")
        return
    usual = "clang++" if sys.platform == "darwin" else "g++"
    compiler = os.environ.get("CXX", usual)
    if shutil.which(compiler) is None:
        raise UserError(
            f"compile=true: needs a C++ compiler, and there is no {compiler} on the PATH; "
            "install one, name it in CXX, or use compile=false"
        )
