"""The page as one file: template, style and script are files beside this one."""

import base64
import hashlib
import re
from pathlib import Path

from ablate.report.inference.analysis import Analysis
from ablate.report.page.content import content
from ablate.report.page.svg import theme
from ablate.report.runs.tables import Table
from ablate.shell.clean import clean, clean_lines

FOLDER = Path(__file__).parent
# A setting (pos=rope) or a number with its sign, which stand out from the words around them.
SETTING = re.compile(r"([\w.]+=[^\s;:()]*[^\s;:(),.])")


def as_html(table: Table, arms: Table, analysis: Analysis, command: str) -> str:
    """Return the report as one page that needs no other file and no network.

    `table` is what the page lists, `arms` what its figures draw, `command` what makes it again.

    Every text is escaped by the template engine, which lets no control code through; scripts but
    the page's own do not run.
    """
    import jinja2
    from markupsafe import Markup, escape

    def emphasised(words: str) -> Markup:
        """Set settings apart from the words around them."""
        parts = SETTING.split(clean(words))
        return Markup("").join(
            Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
            for place, part in enumerate(parts)
        )

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: clean_lines(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["emphasised"] = emphasised
    script = (FOLDER / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    shown = content(table, arms, analysis, command)
    return environment.get_template("page.html").render(
        content=shown,
        run_menus=shown.run_menus,
        style=Markup((FOLDER / "page.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=digest,
        light=theme(dark=False),
        dark=theme(dark=True),
        trusted=Markup,
    )
