"""What Hydra composes, once for each set of choices; single values are then set on a copy.

Hydra reads and merges every file anew for each config, about 0.1 s a run, and in a sweep most runs
differ in single values alone.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import compose
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig

from ablate.config.catalogue import COMPONENTS, config_folder
from ablate.config.identity import Chosen, chosen_in
from ablate.config.schema import typed, unresolved


@dataclass(frozen=True)
class Base:
    """A config as Hydra composes it from choices, what these are, and Hydra's own settings."""

    config: DictConfig
    chosen: Chosen
    hydra: dict[str, Any]

    def with_values(self, values: Sequence[Override]) -> DictConfig:
        """The config once `values` are set; raises what Hydra and OmegaConf raise."""
        own = copy.deepcopy(self.config)
        # Hydra's own function, so that types are checked and converted as it does.
        ConfigLoaderImpl._apply_overrides_to_config(list(values), own)
        return own


class Bases:
    """The base configs over the shipped and the user's folders, each composed once."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [config_folder(), *folders]
        self._bases: dict[tuple[str, ...], Base] = {}

    def is_value(self, override: Override) -> bool:
        """Whether an override sets one value, and so has no say in which files are read."""
        key = override.key_or_group
        special = (
            key.startswith("hydra")
            or override.is_delete()
            or override.is_add()
            or override.is_force_add()
            or override.is_sweep_override()
            or override.package is not None
        )
        return not special and not any((folder / key).is_dir() for folder in self._folders)

    def of(self, choices: Sequence[Override]) -> Base:
        """The base of these choices; raises what Hydra raises."""
        lines = tuple(str(override.input_line) for override in choices)
        if lines not in self._bases:
            self._bases[lines] = self._make(choices)
        return self._bases[lines]

    def _make(self, choices: Sequence[Override]) -> Base:
        """Compose a base or, where several groups are chosen from, put it together.

        Then each choice is composed with all others at their defaults: a sweep has as many bases as
        the product of its choices, but only as many of these as their sum.
        """
        apart = [override for override in choices if self._is_apart(override)]
        rest = [override for override in choices if override not in apart]
        if len(apart) < 2 or any(override.package is not None for override in rest):
            whole = [str(override.input_line) for override in choices]
            composed = compose("run", whole, return_hydra_config=True)
            return Base(typed(composed), chosen_in(composed), unresolved(composed.hydra))
        base = self.of(rest)
        config, chosen = copy.deepcopy(base.config), dict(base.chosen.choices)
        hydra = copy.deepcopy(base.hydra)
        for override in apart:
            group = override.key_or_group
            alone = self.of([*rest, override])
            config[group], chosen[group] = alone.config[group], alone.chosen.choices[group]
            hydra["runtime"]["choices"][group] = alone.hydra["runtime"]["choices"][group]
        return Base(config, Chosen(chosen, base.chosen.nested), hydra)

    def _is_apart(self, override: Override) -> bool:
        """Whether an override chooses a file that says nothing of other groups."""
        group, name = override.key_or_group, override.get_value_element_as_str().strip("'\"")
        if group not in COMPONENTS or override.package is not None or self.is_value(override):
            return False
        files = [folder / group / f"{name}.yaml" for folder in self._folders]
        text = next((file.read_text(encoding="utf-8") for file in files if file.is_file()), None)
        return text is not None and "@package" not in text and "defaults:" not in text
