"""Which series of a figure stand in which panel, how each is drawn, and the legend."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ablate.report.figures.look import DASHES, GREY, INK, Look
from ablate.report.figures.view import (
    LINES,
    PANELS,
    Panel,
    Series,
    View,
    in_turn,
    number_first,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PanelLayout:
    """Which series stand in which panel and how each is drawn; None is one of many in grey."""

    panels: list[Panel]
    looks: dict[int, Look | None]  # by id of the series
    legend: list[tuple[str, Look]]
    title: str
    others: int
    across: int = 0  # panels side by side, if one of their keys says so

    def look(self, series: Series) -> Look | None:
        """The look of a series, None for one of the others."""
        return self.looks[id(series)]


def layout(view: View, panel_keys: Sequence[str] | None = None) -> PanelLayout:
    """Return a layout: a colour a value of the first key, a panel a combination of the others.

    Where `panel_keys` are given the panels are theirs, and what remains differs in dashes. Where
    that makes more panels or lines than can be read, the best arms stand out by name and the
    others are grey.
    """
    colour, by, finer = _roles(view, panel_keys)
    panels = view.panels(by)
    values = view.values(colour) if colour else []
    if len(panels) > PANELS:
        return _best(view, [Panel("", view.series)])
    most = max((len(panel.series) for panel in panels), default=0)
    if len(values) > LINES or most > max(LINES, len(values)):
        return _best(view, panels)
    return _whole(view, panels, colour, by, finer)


def _roles(view: View, panel_keys: Sequence[str] | None) -> tuple[str | None, list[str], list[str]]:
    """Return the key that colours tell, the keys that panels tell, and those that dashes tell."""
    colour = view.colour_key
    if panel_keys is not None:
        colour = next((key for key in view.keys if key not in panel_keys), colour)
        by = [key for key in panel_keys if key in view.keys]
        return colour, by, [key for key in view.keys if key not in (colour, *by)]
    rest = [key for key in view.keys if key != colour]
    if len(view.panels(rest)) > PANELS:
        for key in sorted(rest, key=lambda key: len(view.values(key))):
            by = [other for other in rest if other != key]
            if len(view.values(key)) <= len(DASHES) and len(view.panels(by)) <= PANELS:
                return colour, by, [key]
    return colour, rest, []


def _whole(
    view: View, panels: list[Panel], colour: str | None, by: list[str], finer: list[str]
) -> PanelLayout:
    """The layout in which every series has its look."""
    looks = view.looks(colour)
    by_series: dict[int, Look | None] = {}
    legend: dict[tuple[int, int], tuple[str, Look]] = {}
    places = {value: place for place, value in enumerate(view.values(colour) if colour else [])}
    dashes: dict[str, int] = {}
    for series in sorted(
        view.series, key=lambda series: [number_first(series.keys[k]) for k in finer]
    ):
        name = series.keys[colour] if colour else ""
        look = looks[name] if colour else Look(INK, "solid", "o")
        if finer:
            dash = dashes.setdefault(series.named(finer), len(dashes))
            look = Look(look.colour, DASHES[dash % len(DASHES)], look.marker)
            name = f"{name}  {series.named(finer)}"
        by_series[id(series)] = look
        spot = (
            places.get(series.keys[colour], 0) if colour else 0,
            dashes.get(series.named(finer), 0),
        )
        legend.setdefault(spot, (name, look))
    across = len(view.values(by[-1])) if len(by) > 1 else 0
    even = 1 < across <= 4 and len(panels) % across == 0
    entries = [legend[spot] for spot in sorted(legend)]
    return PanelLayout(panels, by_series, entries, colour or "", 0, across if even else 0)


def _best(view: View, panels: list[Panel]) -> PanelLayout:
    """The layout in which only the best arms by validation loss have a colour, of each panel."""
    colour = view.colour_key
    looks = view.looks(colour)
    chosen = [id(series) for series in in_turn(panels, LINES)]
    by_series: dict[int, Look | None] = {id(series): None for series in view.series}
    legend: list[tuple[str, Look]] = []
    for series in view.series:
        if id(series) not in chosen:
            continue
        look = looks[series.keys[colour]] if colour else Look(INK, "solid", "o")
        same = sum(other.colour == look.colour for _, other in legend)
        look = Look(look.colour, DASHES[same % len(DASHES)], look.marker)
        by_series[id(series)] = look
        legend.append((shortened("  ".join(series.keys[key] for key in view.keys), 46), look))
    which = f"best {len(chosen)}" if len(panels) == 1 else "best of each panel"
    title = f"{which}:  {'  '.join(view.keys)}"
    return PanelLayout(panels, by_series, legend, title, len(view.series) - len(chosen))


def legend(figure: "Figure", layout: PanelLayout, extra: Sequence[tuple[Any, str]] = ()) -> None:
    """Put the legend to the right of all axes, or below where its names are long."""
    from matplotlib.lines import Line2D

    handles: list[Any] = [
        Line2D([], [], color=look.colour, linestyle=look.dashes, marker=look.marker)
        for _, look in layout.legend
    ]
    names = [name for name, _ in layout.legend]
    if layout.others:
        handles.append(Line2D([], [], color=GREY, linewidth=0.8))
        names.append(f"{layout.others} others")
    handles += [handle for handle, _ in extra]
    names += [name for _, name in extra]
    if len(names) < 2:
        return
    widest = max(map(len, names))
    below = widest > 16
    columns = max(1, min(len(names), 96 // (widest + 8))) if below else 1
    if below:
        lines = -(-len(names) // columns) + 1
        figure.set_figheight(figure.get_figheight() + 0.17 * lines)
    figure.legend(
        handles,
        names,
        title=layout.title or None,
        loc="outside lower center" if below else "outside right upper",
        ncols=columns,
        alignment="left",
    )
