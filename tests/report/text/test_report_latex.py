"""The LaTeX table: balanced, escaped, and compiled where there is a compiler."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.report.runs.collect import collect
from ablate.report.runs.tables import build
from ablate.report.text.latex import as_latex, escaped

Factory = Callable[..., Path]


@pytest.fixture
def text(outputs: Path, add_run: Factory) -> str:
    for norm in ("pre", r"a_b & 50% #1 {x} \y ~^<$"):
        for seed in (0, 1):
            add_run({"norm": norm}, seed=seed, loss__excess=-0.012)
    (add_run({"norm": "lost_one"}) / "record.json").write_text("{")
    return as_latex(build(collect([outputs], outputs)))


def test_every_row_has_every_column_and_no_bars(text: str) -> None:
    body = text.split("\\toprule\n")[1].split("\\bottomrule")[0]
    rows = [line for line in body.splitlines() if line.rstrip().endswith(r"\\")]
    spec = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)
    assert spec
    assert len(rows) == 3
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(spec[1]) - 1}
    assert not set(text) & set("▁▂▃▄▅▆▇█±×÷")
    assert r"a\_b \& 50\% \#1 \{x\} \textbackslash{}y" in text
    assert "$-$0.012" in text
    assert "% Not in the table:\n%   scout/norm=lost_one" in text


def test_groups_and_floats_are_balanced(text: str) -> None:
    live = "\n".join(re.split(r"(?<!\\)%", line)[0] for line in text.splitlines())
    bare = re.sub(r"\\[{}\\]", "", live)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == bare.count(r"\$") % 2
    for name in ("table", "tabular"):
        assert live.count(f"\\begin{{{name}}}") == live.count(f"\\end{{{name}}}") == 1


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S"))))
def test_no_character_keeps_its_meaning(words: str) -> None:
    known = re.sub(r"\\text\w+\{\}|\\[{}&%$#_]|\$-\$", "", escaped(words))
    assert not set(known) & set("\\{}&%$#_~^<>")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")
def test_it_compiles(text: str, tmp_path: Path) -> None:
    source = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
    (tmp_path / "t.tex").write_text(source + text + "\\end{document}\n", encoding="utf-8")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_row_that_begins_as_an_option_of_the_line_before_is_kept_apart(add_run: Factory) -> None:
    for seed, note in enumerate(("*bold", ["2cm"], "plain")):
        run = add_run({"depth": 2, "warmup.note": note}, seed=seed)
    lines = as_latex(build(collect([run.parent], run.parent))).splitlines()
    assert {line.split(" &")[0].strip() for line in lines if " 5.550 " in line} == {
        "{}*bold",
        "{}[2cm]",
        "plain",
    }
