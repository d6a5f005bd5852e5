"""The built wheel works on its own: configs and license travel with it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_a_wheel_runs_from_another_folder_without_the_repository(
    tmp_path: Path, words: Path, cache: Path
) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "site")
    shipped = {str(p.relative_to(ROOT)) for p in (ROOT / "configs").rglob("*.yaml")}
    assert {f"ablate/{name}" for name in shipped} <= names
    assert {f"ablate/report/page/page.{kind}" for kind in ("html", "css", "js")} <= names
    assert any(name.endswith("LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "outputs/")) for name in names)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    line = ["run", "size=tiny", "steps=4", "corpus=text", f"corpus.files={words}"]
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); from ablate.cli import main; "
    done = subprocess.run(
        [sys.executable, "-c", f"{program}sys.exit(main())", str(tmp_path / "site"), *line],
        cwd=elsewhere,
        env={**os.environ, "ABLATE_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (config,) = elsewhere.glob("outputs/default/*/.hydra/hydra.yaml")
    assert str(tmp_path / "site" / "ablate" / "configs") in config.read_text()
