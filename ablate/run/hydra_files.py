"""The .hydra folder of a run that Hydra itself did not start."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf


def write_hydra_files(directory: Path, files: Mapping[str, Any]) -> None:
    """Write `files`, plain data by name, into `directory`/.hydra as Hydra does; raises OSError."""
    hydra = files["hydra"]["hydra"]
    runtime = {**hydra["runtime"], "output_dir": str(directory)}
    folder = directory / ".hydra"
    folder.mkdir(exist_ok=True)
    for name, content in {**files, "hydra": {"hydra": {**hydra, "runtime": runtime}}}.items():
        (folder / f"{name}.yaml").write_text(
            OmegaConf.to_yaml(OmegaConf.create(content)), encoding="utf-8"
        )
