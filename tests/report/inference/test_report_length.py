"""What is told of lengths: by arm over its seeds, with documents that all of them share."""

import csv
import io
import json
import random
import re

from ablate.record.evaluated import DocumentScores, Extrapolation
from ablate.report.inference.analysis import analyse
from ablate.report.inference.length_facts import BestAtLength, LengthTold
from ablate.report.runs.collect import Run
from ablate.report.runs.tables import build
from ablate.report.text.latex import as_latex
from ablate.report.text.layout import strips
from ablate.report.text.machine import as_csv, as_json
from ablate.report.text.render import as_table
from ablate.report.words.legend import legend
from ablate.report.words.length_sentences import IN_TABLE, length_cells, length_sentence
from ablate.report.words.sections import sections
from tests.report.conftest import LENGTHS, make_run

DOCUMENTS, TARGETS = 40, 50
FLAT = (0.4, 0.45, 0.45, 0.45, 0.45)
FALLING = (0.4, 0.45, 0.43, 0.35, 0.25)


def measured(
    accuracies: tuple[float | None, ...], seed: int, noise: float = 0.002, guess: float = 0.15
) -> Extrapolation:
    """Forty documents of fifty targets, hard and easy ones alike for every run."""
    documents, own = random.Random(0), random.Random(seed)
    hard = [documents.gauss(0, 0.05) for _ in range(DOCUMENTS)]
    lucky = own.gauss(0, noise)
    shares = [
        None if accuracy is None else [accuracy + h + lucky + own.gauss(0, noise) for h in hard]
        for accuracy in accuracies
    ]
    return Extrapolation(
        protocol="fixed-target",
        train_length=64,
        lengths=[*LENGTHS],
        accuracy=[None if row is None else sum(row) / DOCUMENTS for row in shares],
        nll=[None if row is None else 4 - 4 * sum(row) / DOCUMENTS for row in shares],
        retention=[None] * 5,
        documents=DocumentScores(
            over="documents",
            windows=256,
            places=[519, 9999, 8],
            counts=[[TARGETS] * DOCUMENTS] * 5,
            correct=[row and [TARGETS * share for share in row] for row in shares],
            nll=[row and [TARGETS * (4 - 4 * share) for share in row] for row in shares],
            frequent=[TARGETS * guess] * DOCUMENTS,
            unigram=[TARGETS * 3.3] * DOCUMENTS,
        ),
    )


def study(arms: dict[str, tuple[float | None, ...]], seeds: int = 5) -> list[Run]:
    runs = []
    for place, (pos, accuracies) in enumerate(arms.items()):
        for seed in range(seeds):
            run = make_run({"pos": pos}, seed=seed)
            run.record.extrapolation = measured(accuracies, 100 * place + seed)
            runs.append(run)
    return runs


ARMS = {
    "alibi": FLAT,
    "rope": FALLING,
    "learned": (0.4, 0.45, None, None, None),
    "none": (0.4, 0.42, 0.42, 0.42, 0.42),
}


def sentences(runs: list[Run]) -> list[str]:
    return [length_sentence(fact).text for fact in analyse(runs).lengths]


def test_who_keeps_who_loses_and_what_is_undefined_by_measure_and_context() -> None:
    facts = [fact for fact in analyse(study(ARMS)).lengths if isinstance(fact, LengthTold)]
    longest = next(fact for fact in facts if fact.measure == "accuracy")
    words = {arm.arm: arm.kept.word for arm in longest.arms}
    assert words == {
        "pos=alibi": "keeps",
        "pos=rope": "loses",
        "pos=learned": "undefined",
        "pos=none": "keeps",
    }
    assert longest.factors == (4.0, 8.0)
    text = length_sentence(longest).text
    assert text.startswith("accuracy at 4L and 8L against L: pos=alibi, pos=none keep what they")
    assert "pos=rope loses, −0.2" in text
    assert "pos=learned is undefined there" in text
    assert text.endswith("5 seeds)")


def test_a_margin_in_nats_is_none_in_accuracy() -> None:
    """A fall of 0.012 in accuracy is kept; the 0.048 nats that go with it are lost."""
    facts = analyse(study({"rope": (0.4, 0.45, 0.438, 0.438, 0.438), "alibi": FLAT})).lengths
    told = {f.measure: f.arms[1].kept.word for f in facts if isinstance(f, LengthTold)}
    assert told == {"accuracy": "keeps", "nll": "loses"}


def test_the_best_at_the_longest_context_is_paired_and_names_who_is_not_told_apart() -> None:
    arms = {**ARMS, "sinusoidal": (0.4, 0.45, 0.45, 0.45, 0.4499)}
    best = next(fact for fact in analyse(study(arms)).lengths if isinstance(fact, BestAtLength))
    clear = {lead.over: lead.clear for lead in best.leads}
    assert best.measure == "accuracy"
    assert clear["pos=rope"]
    assert clear["pos=none"]
    assert list(clear.values()).count(False) == 1
    assert "pos=learned" not in clear
    text = length_sentence(best).text
    assert "is ahead (0.44" in text
    assert "not distinguishable from pos=" in text
    assert "paired on the same targets, 5 seeds, interval adjusted for 3 comparisons" in text


def test_runs_on_other_targets_are_not_compared() -> None:
    runs = study({"alibi": FLAT, "rope": FALLING})
    for run in runs[5:]:
        run.record.extrapolation.documents.places = [263, 9999, 8]
    assert not any(isinstance(fact, BestAtLength) for fact in analyse(runs).lengths)
    runs = study({"alibi": FLAT, "rope": FALLING})
    for run in runs[5:]:
        run.record.corpus.sha256 = "cd34"
    assert not any(isinstance(fact, BestAtLength) for fact in analyse(runs).lengths)


def test_who_knew_nothing_at_the_train_length_keeps_nothing() -> None:
    runs = study({"alibi": FLAT, "rope": (0.15, 0.15, 0.15, 0.15, 0.15)})
    table = build(runs)
    cells = length_cells(table.rows)
    assert cells is not None
    texts = dict(zip((row.keys["pos"] for row in table.rows), cells[1], strict=True))
    assert texts["alibi"] == "keeps / keeps"
    assert texts["rope"].startswith("knew nothing / ")


def test_the_column_says_no_and_undecided_and_undefined_apart() -> None:
    """All three were 1.00 ×÷1.00, in a geometric mean."""
    table = build(study(ARMS))
    (strip,) = [strip for strip in strips(table)[1] if strip.heading[0] == "against L"]
    assert strip.heading[1] == "at 8L acc. / nll"
    texts = {cell[0] for cell in strip.cells}
    assert {"keeps / keeps", "loses / loses", "undef. / undef."} <= texts
    assert any(line.startswith("against L:") for line in legend(table))


def test_seeds_that_differ_are_undecided_and_no_number() -> None:
    runs = study({"alibi": FLAT, "rope": FALLING}, seeds=3)
    for run, last in zip(runs[3:], (0.45, 0.3, 0.45), strict=True):
        run.record.extrapolation = measured((*FLAT[:4], last), run.record.seed or 0)
    cells = length_cells(build(runs).rows)
    assert cells is not None
    assert "undecided / undecided" in cells[1]


def undecided_text(runs: list[Run]) -> str:
    facts = (fact for fact in analyse(runs).lengths if isinstance(fact, LengthTold))
    return length_sentence(next(fact for fact in facts if 8.0 in fact.factors)).text


def test_undecided_says_what_would_decide_it_with_the_seeds_to_add() -> None:
    runs = study({"alibi": FLAT, "rope": FLAT})
    for run, last in zip(runs[5:], (0.46, 0.44, 0.42, 0.45, 0.45), strict=True):
        run.record.extrapolation = measured((*FLAT[:4], last), run.record.seed or 0)
    text = undecided_text(runs)
    assert re.search(
        r"pos=rope is undecided, −0.006 \[.*\], about \d+ seeds would decide it \(add seed=0", text
    )


def test_too_few_documents_or_windows_say_how_many_there_have_to_be() -> None:
    runs = study({"alibi": FLAT, "rope": FLAT})
    for run in runs:
        run.record.extrapolation.documents.windows = 128
    assert "too few windows: 128, 256 at least decide anything (evaluate.windows=256" in (
        undecided_text(runs)
    )
    for run in runs:
        scores = run.record.extrapolation.documents
        scores.counts = [[TARGETS * 30] + [TARGETS] * (DOCUMENTS - 1)] * 5
    assert "too few documents: as 5.1 of one length, 8 at least" in undecided_text(runs)


def test_the_words_of_all_formats_and_of_the_figure_of_lengths_are_the_same() -> None:
    runs = study(ARMS)
    analysis, table = analyse(runs), build(runs)
    rows = list(csv.DictReader(io.StringIO(as_csv(table))))
    cells = length_cells(table.rows)
    content = json.loads(as_json(table, analysis))
    assert cells is not None
    for place, (row, told) in enumerate(zip(rows, content["rows"], strict=True)):
        words = [IN_TABLE[told["length"][measure]["8L"]] for measure in ("accuracy", "nll")]
        assert cells[1][place] == " / ".join(words)
        assert [row["length_accuracy_8L"], row["length_nll_8L"]] == list(
            {measure: told["length"][measure]["8L"] for measure in ("accuracy", "nll")}.values()
        )
        assert " / ".join(words) in as_latex(table)


def test_an_old_record_gets_a_dash_and_not_a_wrong_word() -> None:
    old, new = make_run({"pos": "none"}), study({"alibi": FLAT}, seeds=1)
    cells = length_cells(build([old, *new]).rows)
    assert cells is not None
    assert "–" in cells[1]
    assert length_cells(build([old]).rows) is None
    assert sentences([old]) == []


def test_the_part_stands_in_every_format() -> None:
    runs = study(ARMS)
    analysis, table = analyse(runs), build(runs)
    text = as_table(table, None, sections(analysis, False)).plain
    assert "What it says of length" in text
    assert text.index("What it says of length") < text.index("acc. at")
    assert all(sentence in text for sentence in sentences(runs))
    assert '"4L": "loses"' in as_json(table, analysis)
    assert "length_sentences" in as_json(table, analysis)
