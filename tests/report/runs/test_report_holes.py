"""Records with holes, of another shape or with absurd numbers are never fatal to an analysis."""

import json
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ablate.diff.command import compare
from ablate.diff.side_by_side import as_text
from ablate.diff.sides import Side
from ablate.errors import UserError
from ablate.record.disk import read
from ablate.report.inference.analysis import analyse
from ablate.report.runs.collect import load
from ablate.report.runs.columns import COLUMNS
from ablate.report.words.sections import sections
from ablate.shell.finite import finite
from tests.report.conftest import make_content
from tests.report.conftest import run_report as main

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1e308, -1e308, 1e-308, 10**320, "", "–", "\x1b[31m", "nan"]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.integers(-3, 3), max_size=3),
    st.dictionaries(st.sampled_from(["a", "lr", "name", "steps"]), st.integers(), max_size=2),
)
KEYS = sorted(make_content("s", 0, {}))


@st.composite
def records(draw: Any) -> list[dict[str, Any]]:
    """A small study, each of whose records may have several parts replaced or taken away."""
    found = []
    for pos in ("rope", "alibi"):
        for lr in (0.001, 0.003, 0.01):
            for seed in (0, 1):
                record = make_content("s", seed, {"pos": pos, "lr": lr})
                record["status"] = draw(st.sampled_from(["done", "done", "diverged", "failed"]))
                record["diagnosis"] = draw(ODD)
                for key in draw(st.lists(st.sampled_from(KEYS), max_size=2)):
                    inner = record.get(key)
                    if isinstance(inner, dict) and inner and draw(st.booleans()):
                        inner[draw(st.sampled_from(sorted(inner)))] = draw(ODD)
                    else:
                        record[key] = draw(ODD)
                found.append(record)
    return found


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(found=records(), metric=st.sampled_from([c.key for c in COLUMNS if c.better]))
def test_any_record_can_be_analysed(
    tmp_path_factory: pytest.TempPathFactory, found: list[dict[str, Any]], metric: str
) -> None:
    study = tmp_path_factory.mktemp("outputs") / "s"
    for place, record in enumerate(found):
        (study / str(place)).mkdir(parents=True)
        (study / str(place) / "record.json").write_text(json.dumps(record))
    runs = [load(study / str(place), study) for place in range(len(found))]
    usable = [Side([run]) for run in runs if run.readable is not None]
    for first, second in pairwise(usable):
        assert as_text(compare(first, second), 80)
    for chosen in (None, "lr"):
        try:
            analysis = analyse(runs, metric=metric, choose_key=chosen)
        except UserError:
            assert chosen is not None
            continue
        text = json.dumps(finite(asdict(analysis)), allow_nan=False)
        assert "NaN" not in text
        for section in sections(analysis, True):
            assert all(line.text.isprintable() for line in section.lines)


def test_a_loss_beyond_all_bounds_is_a_problem_and_no_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in (0, 1):
        for pos in ("rope", "alibi"):
            damage = {"loss__validation": 1e300} if pos == "alibi" else {}
            record = make_content("s", seed, {"pos": pos}, **damage)
            (tmp_path / "s" / record["name"]).mkdir(parents=True)
            (tmp_path / "s" / record["name"] / "record.json").write_text(json.dumps(record))
    found, problem = read(tmp_path / "s" / "pos=alibi,seed=0")
    assert found is not None
    assert found.loss.validation is None
    assert problem is not None
    assert "`loss.validation` is not a number that can be used" in problem
    assert main([str(tmp_path)]) == 0
    assert "nothing to compare" in capsys.readouterr().out
