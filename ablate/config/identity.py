"""The names that follow from a config: of the run's folder, of its arm, of its choices."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from ablate.config.catalogue import COMPONENTS, Catalogue
from ablate.config.schema import flatten
from ablate.config.values import brief

NOT_IDENTITY = (
    "study",
    "outputs",
    "device",
    "threads",
    "compile",
    "parallel",
    "jobs",
    "run",
    "rerun",
    "retry",
    "checkpoint",
    "instruments",
)
"""Keys that change where or how a run is done, or what is looked at, but not what comes out."""

ALWAYS_NAMED = ("pos", "norm", "depth", "seed")


@dataclass(frozen=True)
class Identity:
    """The names that follow from a config: equal configs have equal names, others do not."""

    name: str
    arm: str
    choices: dict[str, str]


@dataclass(frozen=True)
class Chosen:
    """What was chosen: a name by group, and for choices inside a choice a name by key."""

    choices: dict[str, str]
    nested: dict[str, str]


def chosen_in(composed: DictConfig) -> Chosen:
    """The choices of a composed config that still holds its `hydra` node."""
    names = composed.hydra.runtime.choices
    nested = {
        key.split("@", 1)[1]: str(name)  # of pos@pos.inner=alibi
        for key, name in names.items()
        if "@" in key
    }
    return Chosen(
        choices={group: str(names[group]) for group in COMPONENTS if group in names},
        nested={key: name for key, name in nested.items() if key.split(".")[0] in COMPONENTS},
    )


def identify(composed: DictConfig, config: Mapping[str, Any]) -> Identity:
    """Names of a composed config that still holds its `hydra` node; `config` is its plain data."""
    sources = [s.path for s in composed.hydra.runtime.config_sources if s.schema == "file"]
    return named(config, chosen_in(composed), Catalogue([Path(s) for s in sources]))


def named(config: Mapping[str, Any], chosen: Chosen, catalogue: Catalogue) -> Identity:
    """Names of a plain config.

    A name lists position, norm, depth, whatever differs from the defaults and the seed; the hash
    is over all keys that change the outcome, and over no path, device or verbosity.
    """
    identifying = {k: v for k, v in config.items() if k not in NOT_IDENTITY}
    seedless = {k: v for k, v in identifying.items() if k != "seed"}
    parts = name_parts(identifying, chosen, catalogue)
    readable = ",".join(f"{k}={v}" for k, v in parts.items() if k != "seed")
    readable = shortened(readable, 180)
    names = {"choices": chosen.choices, "nested": chosen.nested}
    digest = content_hash({**names, "config": identifying})
    arm_digest = content_hash({**names, "config": seedless})
    return Identity(
        name=f"{readable},seed={config['seed']}-{digest}",
        arm=f"{readable}-{arm_digest}",
        choices=chosen.choices,
    )


def name_parts(config: Mapping[str, Any], chosen: Chosen, catalogue: Catalogue) -> dict[str, str]:
    """Key → value of what a name shows, in the order of configs/run.yaml."""
    defaults, default_choices = catalogue.defaults(), catalogue.default_choices()
    parts: dict[str, Any] = {}
    for group, name in chosen.choices.items():
        if group in ALWAYS_NAMED or name != default_choices.get(group):
            parts[group] = name
        parts |= {key: inner for key, inner in chosen.nested.items() if key.split(".")[0] == group}
        choice = catalogue.choice(group, name)
        usual_options = choice.options if choice else {}
        for option, value in config[group].items():
            key = f"{group}.{option}"
            if (
                option != "_target_"
                and key not in chosen.nested
                and value != usual_options.get(option)
            ):
                parts[key] = value
    usual_values = flatten(defaults)
    for key, value in flatten({k: v for k, v in config.items() if k not in chosen.choices}).items():
        if key in ALWAYS_NAMED or value != usual_values.get(key):
            parts[key] = value
    core = {k: parts[k] for k in ALWAYS_NAMED if k in parts and k != "seed"}
    return {k: safe(v) for k, v in {**core, **parts}.items()}


def shortened(text: str, limit: int) -> str:
    """`text` in at most `limit` bytes of UTF-8, which is what a file system counts in a name.

    >>> shortened("abc", 3), shortened("abcd", 3), shortened("漢字", 5)
    ('abc', 'ab+', '漢+')
    """
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    return encoded[: limit - 1].decode(errors="ignore") + "+"


def content_hash(content: Any) -> str:
    """Eight hexadecimal digits that follow from the content of nested plain data."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def safe(value: Any) -> str:
    """A value as part of a folder name: letters, digits, and . _ + - alone; of a path, its end.

    >>> safe([0.5, 1]), safe("texts/my book.txt")
    ('0.5+1', 'my_book.txt')
    """
    values = value if isinstance(value, list) else [value]
    text = "+".join(brief(v).rstrip("/").rsplit("/", 1)[-1] for v in values)
    return re.sub(r"[^\w.+-]", "_", text)[-60:]
