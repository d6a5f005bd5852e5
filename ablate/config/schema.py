"""The schema of a run's config and its range checks."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from typing import Any

from omegaconf import MISSING, DictConfig, OmegaConf

from ablate.config.catalogue import COMPONENTS
from ablate.config.values import brief
from ablate.errors import UserError


@dataclass
class ProcessConfig:
    """What a run's process may take: `timeout` in seconds, after which it is ended as failed."""

    timeout: float | None = MISSING


@dataclass
class LogConfig:
    """How often a line is written to curves.jsonl and TensorBoard, in steps."""

    every: int = MISSING


@dataclass
class CheckpointConfig:
    """How often the run's state is saved, in steps."""

    every: int = MISSING


@dataclass
class EvaluateConfig:
    """Validation during training and the context lengths afterwards."""

    every: int = MISSING
    batches: int = MISSING
    windows: int = MISSING
    lengths: list[float] = MISSING
    protocols: list[str] = MISSING
    position_probe: bool = MISSING
    shuffle: bool = MISSING


@dataclass
class InstrumentsConfig:
    """Which instruments look into the model at logged steps."""

    stream: bool = MISSING
    attention: bool = MISSING
    weights: bool = MISSING
    logits: bool = MISSING


@dataclass
class PlainConfig:
    """The keys that are no group; their defaults stand in configs/run.yaml."""

    depth: int = MISSING
    width: int = MISSING
    heads: int = MISSING
    kv_heads: int | None = MISSING
    seq_len: int = MISSING
    batch_size: int = MISSING
    accumulate: int = MISSING
    steps: int = MISSING
    lr: float = MISSING
    clip: float | None = MISSING
    dropout: float = MISSING
    tied: bool = MISSING
    bias: bool = MISSING
    precision: str = MISSING
    seed: int = MISSING
    study: str = MISSING
    outputs: str = MISSING
    device: str = MISSING
    threads: int | None = MISSING
    compile: bool = MISSING
    parallel: str = MISSING
    jobs: int | None = MISSING
    rerun: bool = MISSING
    retry: bool = MISSING
    run: ProcessConfig = field(default_factory=ProcessConfig)
    log: LogConfig = field(default_factory=LogConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    instruments: InstrumentsConfig = field(default_factory=InstrumentsConfig)


RunConfig = make_dataclass(
    "RunConfig",
    [(group, dict[str, Any], field(default_factory=dict)) for group in COMPONENTS],
    bases=(PlainConfig,),
)

PRECISIONS = ("float32", "tf32", "bf16")

PROTOCOLS = ("non-overlapping", "sliding-window")


def is_name(text: str) -> bool:
    """Whether a file may be called so, and the name be read in a terminal.

    >>> is_name("2024_10_01"), is_name("a\\u202eb"), is_name("x" * 256)
    (True, False, False)
    """
    return text.isprintable() and 0 < len(text.encode()) <= 255


RANGES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("steps", "log.every", "checkpoint.every", "evaluate.every"),
        (lambda v: 1 <= v <= 10**9, "1 to 1000000000"),
    ),
    **dict.fromkeys(
        ("width", "heads", "batch_size", "accumulate", "evaluate.batches", "evaluate.windows"),
        (lambda v: 1 <= v <= 2**20, "1 to 1048576"),
    ),
    "depth": (lambda v: 1 <= v <= 4096, "1 to 4096"),
    "kv_heads": (lambda v: v is None or v >= 1, "1 or more, or null for one a head"),
    "seq_len": (lambda v: 8 <= v <= 2**20, "8 to 1048576"),
    "lr": (lambda v: 0 < v < math.inf, "above 0"),
    "clip": (lambda v: v is None or 0 < v < math.inf, "above 0, or null for no clipping"),
    "parallel": (lambda v: v == "ddp", "ddp"),
    "precision": (lambda v: v in PRECISIONS, " or ".join(PRECISIONS)),
    "dropout": (lambda v: 0 <= v < 1, "0 or more and below 1"),
    "seed": (lambda v: 0 <= v < 2**32, "from 0 to 4294967295"),
    "threads": (lambda v: v is None or 1 <= v <= 4096, "1 to 4096, or null for all cores"),
    "jobs": (lambda v: v is None or 1 <= v <= 4096, "1 to 4096, or null for one a core"),
    "run.timeout": (lambda v: v is None or 0 < v < math.inf, "seconds above 0, or null"),
    "evaluate.lengths": (
        lambda v: len(v) > 0 and all(0 < m <= 64 for m in v),
        "multiples of seq_len above 0 and up to 64",
    ),
    "evaluate.protocols": (
        lambda v: set(v) <= set(PROTOCOLS),
        f"a list of what to measure beside the fixed-target protocol: {', '.join(PROTOCOLS)}",
    ),
    "study": (
        lambda v: is_name(v) and not set(v) & set("/\\") and v not in (".", ".."),
        "a folder name of signs that can be seen, at most 255 bytes",
    ),
    "outputs": (
        lambda v: bool(v) and all(not part or is_name(part) for part in v.split("/")),
        "a folder",
    ),
    "device": (
        lambda v: bool(re.fullmatch(r"auto|cpu|cuda(:\d+)?|mps", v)),
        "auto, cpu, cuda, cuda:N or mps",
    ),
}


def check_ranges(config: Mapping[str, Any]) -> None:
    """Raise UserError where a value lies outside what is allowed, alone or with another."""
    for key, (allowed, words) in RANGES.items():
        value: Any = config
        for part in key.split("."):
            value = value[part]
        if not allowed(value):
            raise UserError(f"{key}={brief(value)}: must be {words}")
    divides(config, "heads", "width", "each head is equally wide")
    divides(config, "accumulate", "batch_size", "each part of a batch has equally many rows")
    divides(config, "kv_heads", "heads", "equally many query heads share one")


def divides(config: Mapping[str, Any], key: str, whole_key: str, purpose: str) -> None:
    """Raise UserError where the value of `key`, if any, does not divide that of `whole_key`."""
    value, whole = config[key], config[whole_key]
    if value is None or whole % value == 0:
        return
    divisors = [d for d in range(1, whole + 1) if whole % d == 0]
    close = min(divisors, key=lambda d: abs(d - value))
    raise UserError(
        f"{key}={value}: must divide {whole_key}={whole}, so that {purpose}; "
        f"the nearest that does is {key}={close}"
    )


def plain(composed: DictConfig) -> dict[str, Any]:
    """The resolved config without Hydra's node, as plain dicts, lists and numbers."""
    return resolved(typed(composed))


def typed(composed: DictConfig) -> DictConfig:
    """A config without Hydra's node, each of its values with a type; no key can be added to it.

    Merging it into the schema rejects whatever a `+key=value` may have slipped in.
    """
    keys = [str(key) for key in composed if key != "hydra"]
    merged = OmegaConf.merge(OmegaConf.structured(RunConfig), OmegaConf.masked_copy(composed, keys))
    assert isinstance(merged, DictConfig)
    OmegaConf.set_struct(merged, True)
    return merged


def resolved(config: DictConfig) -> dict[str, Any]:
    """Plain dicts, lists and numbers; raises an OmegaConfBaseException where one is missing."""
    content = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    assert isinstance(content, dict)
    return {str(k): v for k, v in content.items()}


def unresolved(config: DictConfig) -> dict[str, Any]:
    """The same with interpolations as they were written, and `???` where a value is missing."""
    content = OmegaConf.to_container(config, resolve=False, enum_to_str=True)
    assert isinstance(content, dict)
    return {str(k): v for k, v in content.items()}


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested keys joined by dots.

    >>> flatten({"a": {"b": 1}, "c": 2})
    {'a.b': 1, 'c': 2}
    """
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
