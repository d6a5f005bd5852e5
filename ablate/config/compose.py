"""From a command line to checked, composed configs, with errors in words before anything runs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hydra import initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ablate.config.bases import Bases
from ablate.config.catalogue import Catalogue, config_folder
from ablate.config.identity import Identity, identify, named
from ablate.config.interpolations import check_references, has_references
from ablate.config.mistakes import Mistakes
from ablate.config.overrides import FROM_FILES, MOST_RUNS, Overrides, classes
from ablate.config.schema import RunConfig, check_ranges, plain, resolved, typed, unresolved
from ablate.errors import UserError


def register() -> None:
    """Make the schema and the run-name resolver known to Hydra; harmless when repeated."""
    ConfigStore.instance().store(name="run_schema", node=RunConfig)
    OmegaConf.register_new_resolver(
        "run_name", lambda *, _root_: identify(_root_, plain(_root_)).name, replace=True
    )


def hydra_settings(
    settings: Mapping[str, Any], overrides: Sequence[Override], *, of_many: bool
) -> dict[str, Any]:
    """Hydra's own settings of a base, completed by what it adds for the overrides of a run."""
    own = [str(o.input_line) for o in overrides if o.is_hydra_override()]
    task = [str(o.input_line) for o in overrides if not o.is_hydra_override()]
    return {
        **settings,
        "mode": "MULTIRUN" if of_many else "RUN",
        "overrides": {"hydra": own if of_many else [*own, "hydra.mode=RUN"], "task": task},
        "job": {**settings["job"], "override_dirname": ",".join(sorted(task))},
    }


@dataclass(frozen=True)
class Composition:
    """One run in plain data: its config, its names and what .hydra/ is to hold, by file name."""

    config: dict[str, Any]
    identity: Identity
    files: dict[str, Any]


class Composer:
    """Composes configs from overrides over the shipped and the user's config folders."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise UserError(f"--config-dir {folder}: no such folder")
        self.folders = [folder.resolve() for folder in folders]
        shipped, self.catalogue = Catalogue(), Catalogue(self.folders)
        for folder in self.folders:
            for path in sorted(folder.glob("*/*.yaml")):
                if shipped.path(path.parent.name, path.stem):
                    raise UserError(
                        f"{path}: {path.parent.name}={path.stem} exists already; "
                        "give your choice another name"
                    )
        register()
        self.mistakes = Mistakes(self.catalogue)
        self._bases = Bases(self.folders)
        self._overrides = Overrides(self.catalogue, self.mistakes)

    def jobs(self, overrides: Sequence[str], *, sweep: bool) -> list[list[str]]:
        """The overrides of every run that the command asks for, one list a run.

        Raises UserError for a misspelt group, choice or key, and for a list of values where no
        sweep was asked for.
        """
        parsed = [self._overrides.read(text) for text in overrides]
        keys = [override.get_key_element() for override in parsed]
        if repeated := next((key for key in keys if keys.count(key) > 1), None):
            raise UserError(f"{repeated} is given twice; of several values write {repeated}=A,B -m")
        for override in parsed:
            self._overrides.check(override)
        swept = [o for o in parsed if o.is_sweep_override()]
        if swept and not sweep:
            raise UserError(
                f"{swept[0].input_line}: several values are a sweep; add -m to run them all"
            )
        sizes = [sum(1 for _ in override.sweep_iterator()) for override in swept]
        if (count := math.prod(sizes)) > MOST_RUNS:
            raise UserError(f"{count:,} runs: at most {MOST_RUNS:,} in one command")
        return [job for batch in BasicSweeper.split_arguments(parsed, None) for job in batch]

    def spelled(self, overrides: Sequence[str]) -> tuple[str, ...]:
        """Overrides so that Hydra reads them as we do; raises UserError as `jobs` does."""
        return tuple(str(self._overrides.read(text).input_line) for text in overrides)

    def check_stored(self, word: str) -> Override:
        """A word that stands in a run's folder; raises UserError for one that may not."""
        return self._overrides.check_stored(word)

    @contextmanager
    def session(self) -> Iterator[None]:
        """Hydra's global state, needed around `one` and `whole`."""
        with initialize_config_dir(str(config_folder()), job_name="ablate", version_base="1.3"):
            if self.folders:  # found as Hydra finds a --config-dir
                search = create_config_search_path(str(config_folder()))
                for folder in self.folders:
                    search.prepend("command-line", f"file://{folder}", SearchPathQuery("schema"))
                GlobalHydra.instance().clear()
                Hydra.create_main_hydra2("ablate", search)
            yield

    def one(self, job: Sequence[str]) -> tuple[dict[str, Any], Identity]:
        """Compose one run: its config in plain data, and its identity."""
        composition = self.whole(job)
        return composition.config, composition.identity

    def whole(self, job: Sequence[str], *, of_many: bool = False) -> Composition:
        """Compose one run, perhaps one of many, with what Hydra writes down of it."""
        parsed = [self._overrides.read(text) for text in job]
        try:
            base = self._bases.of([o for o in parsed if not self._bases.is_value(o)])
            composed = base.with_values([o for o in parsed if self._bases.is_value(o)])
            written = unresolved(composed)
            if has_references(written):
                check_references(written)
                # Once more into the schema: values of other keys get the types of these.
                composed = typed(OmegaConf.create(resolved(composed)))
            config = resolved(composed)
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise UserError(self.mistakes.explain(error, job)) from error
        except RecursionError as error:
            raise UserError(f"{' '.join(job)}: a value refers to itself") from error
        except yaml.YAMLError as error:
            raise UserError(f"not YAML: {' '.join(str(error).split())}") from error
        check_ranges(config)
        if foreign := classes(config) - self.catalogue.targets:
            raise UserError(FROM_FILES.format(name=min(foreign)))
        files = {
            "config": written,
            "hydra": {"hydra": hydra_settings(base.hydra, parsed, of_many=of_many)},
            "overrides": list(job),
        }
        return Composition(config, named(config, base.chosen, self.catalogue), files)
