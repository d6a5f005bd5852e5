"""The .hydra folder of a run that Hydra itself did not start."""

from collections.abc import Sequence
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.types import RunMode
from omegaconf import OmegaConf, open_dict

from ablate.config.bases import searchpath
from ablate.config.catalogue import config_folder
from ablate.config.compose import register


def write_hydra_files(directory: Path, overrides: Sequence[str], folders: Sequence[Path]) -> None:
    """Write config.yaml, hydra.yaml and overrides.yaml into `directory`/.hydra as Hydra does.

    `folders` are the user's own config folders. Raises OSError.
    """
    register()
    with initialize_config_dir(str(config_folder()), job_name="ablate", version_base="1.3"):
        whole = compose("run", [*overrides, *searchpath(folders)], return_hydra_config=True)
    with open_dict(whole):
        hydra = whole.pop("hydra")
    OmegaConf.set_readonly(hydra, False)
    with open_dict(hydra):
        hydra.mode = RunMode.MULTIRUN
        hydra.runtime.output_dir = str(directory.absolute())
    folder = directory / ".hydra"
    folder.mkdir(exist_ok=True)
    for name, content in (
        ("config", whole),
        ("hydra", OmegaConf.create({"hydra": hydra})),
        ("overrides", OmegaConf.create(list(overrides))),
    ):
        (folder / f"{name}.yaml").write_text(OmegaConf.to_yaml(content), encoding="utf-8")
