"""scripts/mutants.py tells a fault that a test sees from one that none does, and a stale table."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "mutants.py"


def tell(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--root", str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_a_fault_is_seen_or_not_and_the_tree_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "scripts" / "mutants").mkdir(parents=True)
    table = tmp_path / "scripts" / "mutants" / "sums.toml"
    code = "def total(a, b):\n    return a + b\n\n\ndef least(a, b):\n    return min(a, b)\n"
    (tmp_path / "sums.py").write_text(code)
    (tmp_path / "test_sums.py").write_text(
        "from sums import least, total\n\ndef test_sums():\n"
        "    assert total(2, 3) == 5\n    assert least(4, 4) == 4\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    seen, unseen = '["sums.py", "a + b", "a - b"]', '["sums.py", "min(", "max("]'
    table.write_text(f'tests = ["test_sums.py"]\nfaults = [{seen}, {unseen}]\n')
    done = tell(tmp_path)
    assert done.returncode == 1, done.stderr
    assert "sums: 1 of 2 seen\n  not seen: sums: sums.py: min(  ->  max(" in done.stdout
    assert (tmp_path / "sums.py").read_text() == code
    assert tell(tmp_path, "--only", "a - b", "--list").stdout.splitlines() == [
        "sums: sums.py: a + b  ->  a - b"
    ]
    table.write_text('tests = ["test_sums.py"]\nfaults = [["sums.py", "def ", ""]]\n')
    stale = tell(tmp_path)
    assert stale.returncode == 2
    assert "its text occurs 2 times: sums: sums.py: def" in stale.stderr
