"""The help page of `ablate run`, made from the YAML files."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from ablate.config.catalogue import COMPONENTS, PRESETS, STUDIES, Catalogue
from ablate.config.schema import flatten
from ablate.config.values import brief

HEAD = """\
Train one model, or with -m a sweep of them, and record what comes out.

  ablate run pos=rope norm=pre depth=24
  ablate run -m pos=none,rope,alibi norm=pre,post seed=0,1,2
  ablate run -m norm=post warmup=none,linear lr=3e-4,1e-3 seed=0..4
  ablate run --study warmup depth=12

Choices, with the default marked *  (`ablate list GROUP` explains them):
"""

TAIL = """
Options of a choice stand under its group: pos.base=500000 norm.final=false warmup.steps=50

  -m, --multirun    run every combination of the comma-separated values
  --study NAME      the runs of a study file, by name or path; KEY=VALUE goes for all of them
  --until-decided   add seeds at planned looks (3, 5, 10) to what is still open, and to no more
  --plan            say which runs there are to do, and which are skipped and why; do none
  --cfg job         print the composed config and stop (also: hydra, all)
  --info            what Hydra knows: config, defaults-tree, searchpath, ...
  --config-dir DIR  a folder of your own choices, laid out like configs/
  -h, --help        this page

Of many runs jobs=N go side by side (null: as many as there are cores), each in a process of its
own that may take run.timeout=SECONDS; what ends one of them ends no other.
On a cluster: -m hydra/launcher=submitit_slurm hydra.launcher.array_parallelism=8, with
pip install 'ablate[slurm]'; or hydra/launcher=ray_cluster, with 'ablate[ray]'. jobs=N hands over
N runs at a time.

A run's folder is OUTPUTS/STUDY/NAME, and NAME follows from its config: the same command again
says that it is finished, or goes on where it stopped. rerun=true runs it again.
Exit codes: 0 all well (a diverged run is a result), 1 a run failed, 2 the command or a config is
wrong, 130 interrupted."""


def help_text(folders: Sequence[Path] = ()) -> str:
    """The page as text, at most 96 columns wide."""
    catalogue = Catalogue(folders)
    defaults = catalogue.default_choices()
    lines = ["usage: ablate run [-m] [KEY=VALUE ...]", "", HEAD.rstrip()]
    for group in (*COMPONENTS, *PRESETS):
        names = catalogue.names(group)
        if names:
            marked = [n + "*" * (n == defaults.get(group)) for n in names]
            lines += wrap(f"  {group:<13}", " ".join(marked))
    lines += ["", *wrap("  --study      ", " ".join(catalogue.names(STUDIES)))]
    lines += ["", "Keys, with their defaults:"]
    pairs = [f"{k}={brief(v)}" for k, v in flatten(catalogue.defaults()).items()]
    lines += wrap("  ", "  ".join(p.replace(" ", "") for p in pairs))
    return "\n".join(lines) + "\n" + TAIL


def wrap(head: str, text: str) -> list[str]:
    """`text` after `head`, with later lines indented under it."""
    return textwrap.wrap(
        text, 96, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
    )
