"""The table of a report for a paper, with booktabs."""

import re
from collections.abc import Iterable

from ablate.report.runs.tables import Table
from ablate.report.text.layout import strips
from ablate.report.text.render import INSIDE, OUTSIDE
from ablate.report.words.heading import heading
from ablate.report.words.legend import notes
from ablate.report.words.troubles import outside, troubles
from ablate.shell.clean import clean

ESCAPED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "×÷": r"$\times\!\div$",
    "×": r"$\times$",
    "–": "--",
    "−": "$-$",
    "…": r"\ldots{}",
    "·": r"$\cdot$",
    "½": r"$\frac{1}{2}$",
    "�": "?",
}
MARKS = re.compile("|".join(map(re.escape, sorted(ESCAPED, key=len, reverse=True))))


def as_latex(table: Table) -> str:
    """Return the table as a LaTeX float; names and texts are escaped.

    It needs \\usepackage{booktabs} alone, which a comment says.
    """
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        "  \\centering\\small",
        "  \\setlength{\\tabcolsep}{4pt}",
    ]
    if table.rows:
        lines += [f"  {line}" for line in _tabular(table)]
    caption = ". ".join([heading(table).line, *notes(table)])
    lines.append(f"  \\caption{{{escaped(caption)}.}}")
    lines.append("  \\label{tab:ablate}")
    lines.append("\\end{table}")
    for title, listed in ((OUTSIDE, outside(table)), (INSIDE, troubles(table))):
        if listed:
            lines.append(f"% {title}:")
            lines += [f"%   {name}: {problem}" for name, problem in listed]
    return "\n".join(lines) + "\n"


def _tabular(table: Table) -> Iterable[str]:
    keys, measured = strips(table)
    # Bars are drawn with characters that no paper's font has; `--figures` draws them.
    columns = [strip for strip in (*keys, *measured) if strip.kind != "bars"]
    words = sum(strip.kind == "words" for strip in columns)
    yield f"\\begin{{tabular}}{{{'l' * words}{'r' * (len(columns) - words)}}}"
    yield "\\toprule"
    headings = (strip.name or " ".join(strip.heading) for strip in columns)
    yield " & ".join(map(escaped, headings)) + " \\\\"
    yield "\\midrule"
    for row in range(len(table.rows)):
        cells = (strip.lines(row, False)[0].strip() for strip in columns)
        line = " & ".join(map(escaped, cells)) + " \\\\"
        # After the line before, a * or [ would be taken for its option.
        yield ("{}" if line.startswith(("*", "[")) else "") + line
    yield "\\bottomrule"
    yield "\\end{tabular}"


def escaped(text: str) -> str:
    r"""Escape what LaTeX would take for markup, and give a negative number its minus.

    >>> print(escaped("a_b & 50 %"), escaped("-0.1 ±0.2"))
    a\_b \& 50 \% $-$0.1 $\pm$0.2
    """
    text = MARKS.sub(lambda mark: ESCAPED[mark[0]], clean(text))
    return re.sub(r"(?<![\w.$-])-(?=\d)", "$-$", text)
