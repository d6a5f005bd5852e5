"""What a planned look decides: the verdicts of a report on the runs that there are."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ablate.judge.looks import after
from ablate.record.look_note import LookNote
from ablate.report.inference.analysis import analyse
from ablate.report.inference.verdicts import BY_NAME
from ablate.report.runs.collect import Run


def look_again(runs: Sequence[Run], plan: LookNote, study: Path) -> LookNote:
    """Take the next look of a plan at the runs of its study; the plan with what it decided.

    An arm is decided where a report says that it is better, worse, equivalent, without effect or
    fails more or less than what it is held against. All runs of the look must have ended.
    """
    about_to = replace(plan, decided=(*plan.decided, {}))
    analysis = analyse(runs, metric=plan.metric, margin=plan.margin, plans={study: about_to})
    by_name = {f"{run.study}/{run.name}": run.arm for run in runs if run.readable is not None}
    arms = {arm.label: by_name[arm.runs[0]] for arm in analysis.arms}
    verdicts = {
        arms[one.name]: one.verdict
        for one in analysis.contrasts
        if BY_NAME[one.verdict].said != "undecided"
    }
    return after(plan, verdicts, {arms[one.name]: arms[one.against] for one in analysis.contrasts})
