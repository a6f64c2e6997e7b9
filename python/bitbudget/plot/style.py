# SPDX-License-Identifier: Apache-2.0
"""Style of pictures for print: sizes, colours, captions and files."""
from __future__ import annotations

import io
import os
import re
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends import backend_svg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.gridspec import GridSpecFromSubplotSpec
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from ..errors import FileError, UsageError
from ..result import Result

CM = 1 / 2.54
POINTS, SMALL = 8.0, 6.0
FORMATS = (".pdf", ".svg", ".png", ".pgf")
LEAST_CM, MOST_CM = 4.0, 100.0

# Colours of Okabe and Ito (2008), which colour-blind readers can distinguish.
BLUE, VERMILION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY, BLACK, GREY = "#e69f00", "#56b4e9", "#000000", "#707070"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Dashes that differ clearly also in grey.
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (9, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (2, 2)))
# Lightness grows along this map: it can be printed in grey.
MAP = "viridis"


def context() -> Any:
    """Return the matplotlib settings of all pictures as a context."""
    return matplotlib.rc_context({
        "font.family": "DejaVu Sans", "font.size": POINTS, "axes.titlesize": POINTS, "axes.labelsize": POINTS,
        "legend.fontsize": SMALL + 1, "xtick.labelsize": SMALL + 1, "ytick.labelsize": SMALL + 1,
        "axes.linewidth": 0.6, "lines.linewidth": 1.1, "lines.markersize": 4, "legend.frameon": False,
        "axes.prop_cycle": matplotlib.cycler(color=COLOURS), "image.cmap": MAP, "svg.hashsalt": "bitbudget",
        "svg.fonttype": "none", "pdf.fonttype": 42, "savefig.dpi": 300, "axes.grid": False,
        "grid.color": "#e0e0e0", "grid.linewidth": 0.4, "axes.axisbelow": True, "axes.labelpad": 2,
        "text.parse_math": False, "hatch.linewidth": 0.5, "axes.formatter.useoffset": False,
    })


class Picture(Figure):
    """A figure that notebooks show, and whose later drawings have the style too."""

    def draw(self, renderer: Any) -> None:
        """Draw the figure."""
        with context():
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=150)
        return content.getvalue()


def figure(width_cm: float, height_cm: float) -> Figure:
    """Return an empty figure whose parts are laid out without overlaps."""
    figure_ = Picture(figsize=(width_cm * CM, height_cm * CM), layout="constrained")
    figure_.get_layout_engine().set(w_pad=0.05, h_pad=0.05)
    return figure_


def split(axes: Any, rows: int, columns: int, **grid: Any) -> np.ndarray:
    """Replace axes of a grid by rows and columns of axes in the same place.

    Parameters
    ----------
    axes : matplotlib Axes
        Axes made by ``subplots`` or ``add_subplot``; they are removed.
    rows, columns : int
    **grid
        Arguments of ``subgridspec`` and, as ``sharex``, ``sharey``, of ``subplots``.

    Returns
    -------
    ndarray of Axes [rows][columns]
    """
    place = getattr(axes, "get_subplotspec", lambda: None)()
    if place is None:
        raise UsageError("this picture has several panels: it needs axes made by 'subplots'")
    shares = {name: grid.pop(name) for name in ("sharex", "sharey") if name in grid}
    axes.remove()
    return place.subgridspec(rows, columns, **grid).subplots(squeeze=False, **shares)


def panels(axes: Any, count: int, columns: int, labels: tuple[str, str], **grid: Any) -> np.ndarray:
    """Replace axes by `count` panels in rows of `columns`, with the labels of x and y on the outer ones.

    Returns
    -------
    ndarray of Axes
        The last row is filled by empty places without an axis.
    """
    found = split(axes, -(-count // columns), columns, **grid).reshape(-1)
    for i, panel in enumerate(found):
        lowest, first = i + columns >= count, i % columns == 0
        panel.set(xlabel=labels[0] if lowest else "", ylabel=labels[1] if first else "")
        panel.tick_params(labelbottom=lowest, labelleft=first)
        if i >= count:
            panel.set_axis_off()
    return found


def notes(result: Result, note: str | None) -> str:
    """Return the note of a picture, with that of a partial result."""
    partial = result.attrs.get("status") == "partial"
    reason = result.attrs.get("status_reason", "some planned points were not run")
    return " ".join(part for part in (note, f"Partial result: {reason}." if partial else "") if part)


def caption(fig: Figure, result: Result, note: str | None = None) -> float:
    """Write the note and a line with title, program, date and digest below the picture.

    Returns
    -------
    float
        Height of the caption in cm.
    """
    attrs, digest = result.attrs, result.attrs.get("results_digest", "")[:8]
    line = ", ".join(filter(None, (attrs.get("title"), attrs.get("source"),
                                   result.attribute("provenance", "start_utc")[:10],
                                   digest and f"results\u00a0{digest}")))
    width = max(20, int(fig.get_figwidth() * 72 / (0.58 * SMALL)))
    lines = [*textwrap.wrap(notes(result, note), width), *textwrap.wrap(line, width)]
    grids = [axes.get_gridspec() for axes in fig.axes if hasattr(axes, "get_gridspec")]
    if any(isinstance(grid, GridSpecFromSubplotSpec) for grid in grids):
        lines.insert(0, "")  # the layout leaves no space below nested grids
    fig.supxlabel("\n".join(lines), fontsize=SMALL, color=GREY, x=0.01, ha="left")
    return (1.2 * len(lines) + 1) * SMALL / 72 / CM


def text_cm(text: str, points: float = SMALL + 1) -> float:
    """Return the width of a text."""
    return text_to_path.get_text_width_height_descent(text, FontProperties(size=points), False)[0] / 72 / CM


def shorten(text: str, width_cm: float, points: float = SMALL + 1) -> str:
    """Return a text without its middle if it is wider than `width_cm`."""
    kept = len(text)
    while kept > 2 and text_cm(text if kept == len(text) else _cut(text, kept), points) > width_cm:
        kept -= 1
    return _cut(text, kept)


def _cut(text: str, kept: int) -> str:
    return text if kept == len(text) else f"{text[:kept - kept // 3]}…{text[len(text) - kept // 3:]}"


def label(name: str, unit: str = "1") -> str:
    """Return an axis label for a key or dataset: "zenith_angle_deg" gives "Zenith angle [deg]"."""
    tail = "_" + unit.replace("/", "_per_").replace("^", "")
    words = name[:-len(tail)] if unit and name.endswith(tail) else name
    words = words.replace("_", " ")
    words = words[0].upper() + words[1:] if words[:2].isalpha() else words
    return words if unit in ("", "1") else f"{words} [{unit}]"


def power(value: float) -> str:
    """Return a number as digits times a power of ten: "5·10⁻⁶"."""
    digits, exponent = f"{value:.2e}".split("e")
    digits = f"{float(digits):g}"
    exponent = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{exponent}" if digits == "1" else f"{digits}·10{exponent}"


def log_axis(axes: Any, name: str, low: float, high: float) -> None:
    """Make the axis "x" or "y" logarithmic between two limits, e.g. those of `log_range`."""
    axes.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    log_ticks(getattr(axes, f"{name}axis"), low, high)


def log_ticks(axis: Any, low: float, high: float) -> None:
    """Set the ticks of a logarithmic axis, also of a colour bar: more digits if it has few decades."""
    decades = np.log10(high / low)
    digits = (1, 2, 3, 5) if decades < 1 else (1, 2, 5) if decades < 1.5 else (1, 3) if decades < 2.5 else (1,)
    plain = low >= 5e-4 and high <= 2e4
    axis.set_major_locator(MaxNLocator(4) if decades < 0.5 else LogLocator(subs=digits))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if plain else power(value)))
    axis.set_minor_locator(LogLocator(subs=range(2, 10)))
    axis.set_minor_formatter(NullFormatter())


def panel_cm(axes: Any) -> float:
    """Return the width of axes before their layout."""
    return axes.get_window_extent().width / axes.figure.dpi / CM


def page_cm(axes: Any) -> float:
    """Return the width of the page if axes are its only ones, else the width of their place."""
    fig = axes.figure
    return fig.bbox.width / fig.dpi / CM if len(fig.axes) == 1 else panel_cm(axes) / 0.9


def legend(axes: Any, handles: Any, width_cm: float | None = None, **place: Any) -> Any:
    """Write a legend above axes in as many columns as fit.

    Parameters
    ----------
    axes : matplotlib Axes
    handles : sequence of artists
        With labels.
    width_cm : float, optional
        Width of the legend, by default of the axes.
    **place
        Other arguments of ``Axes.legend``.
    """
    width = panel_cm(axes) if width_cm is None else width_cm
    labels = [shorten(handle.get_label(), width - 0.9) for handle in handles]
    columns = _legend_columns(labels, width)
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1), **place}
    return axes.legend(handles, labels, ncol=columns, borderaxespad=0.2, borderpad=0.2,
                       handlelength=2.2, handletextpad=0.5, columnspacing=1.0, labelspacing=0.3, **place)


def _legend_columns(labels: list[str], width_cm: float) -> int:
    widths = [text_cm(text) + 1.25 for text in labels]
    return next((n for n in range(len(labels), 1, -1)
                 if sum(max(part) for part in np.array_split(widths, n)) - 0.3 <= width_cm), 1)


def mark(label_text: str, colour: str, marker: str = "o", **style: Any) -> Line2D:
    """Return a mark for a legend."""
    return Line2D([], [], color=colour, marker=marker, linestyle="none", label=label_text, **style)


def image(axes: Any, values: Any, x: Any, y: Any, **norm: Any) -> Any:
    """Draw a map without interpolation at equal scales of x and y.

    Parameters
    ----------
    axes : matplotlib Axes
    values : array_like [rows of y][columns of x]
    x, y : array_like
        Equidistant centres of the pixels.
    **norm
        "norm", "cmap", "vmin" or "vmax".
    """
    half_x, half_y = (x[-1] - x[0]) / (len(x) - 1) / 2, (y[-1] - y[0]) / (len(y) - 1) / 2
    return axes.imshow(values, origin="lower", interpolation="none", aspect="equal",
                       extent=(x[0] - half_x, x[-1] + half_x, y[0] - half_y, y[-1] + half_y), **norm)


class Names(Artist):
    """Names next to points, placed at every drawing such that they cover no name and few points.

    Names are placed in their order, the first ones nearest to their points. A name without a free
    place is omitted; among more than `CROWD` names also one that covers a point, except the first
    `kept` ones.

    Parameters
    ----------
    axes : matplotlib Axes
    x, y : array_like
        Points in data coordinates, named or not.
    names : sequence of str
        Names of the first points.
    stairs : array_like [corners][x, y], optional
        Line of horizontal and vertical parts that names avoid.
    kept : int
    """

    CROWD = 12
    _RADII, _MARK = (1.5, 5.0, 9.0, 14.0, 20.0, 28.0, 38.0, 52.0), 3.5  # points
    _DIRECTIONS = [2 * np.pi * (d // 2 if d % 2 == 0 else -(d + 1) // 2) / 16 for d in range(16)]

    def __init__(self, axes: Any, x: Any, y: Any, names: Any, stairs: Any = (), kept: int = 0) -> None:
        super().__init__()
        self.set_in_layout(False)
        self.set_zorder(6)
        self._kept = kept
        self._points, self._stairs = np.column_stack([x, y]), np.reshape(stairs, (-1, 2))
        room = (0.45 if len(names) <= self.CROWD else 0.25) * panel_cm(axes)
        self.texts = [Text(0, 0, shorten(name, room), fontsize=SMALL + 1, ha="center", va="center") for name in names]
        axes.add_artist(self)
        for text in self.texts:
            text.axes, text.figure = axes, axes.figure

    def draw(self, renderer: Any) -> None:
        """Place and write the names."""
        unit = renderer.points_to_pixels(1.0)
        points = self.axes.transData.transform(self._points)
        stairs = self.axes.transData.transform(self._stairs) if len(self._stairs) else self._stairs
        ends = np.sort(np.stack([stairs[:-1], stairs[1:]]), axis=0)
        clear = np.vstack([np.hstack([points - self._MARK * unit, points + self._MARK * unit]),
                           np.hstack([ends[0] - unit, ends[1] + unit])])
        page, placed, crowded = np.array(self.axes.bbox.extents), np.empty((0, 4)), len(self.texts) > self.CROWD
        radii = [radius for radius in self._RADII if radius < 15 or not crowded]
        for text, (x, y), own in zip(self.texts, points, range(len(points))):
            box = text.get_window_extent(renderer)
            size = np.array([box.width, box.height]) + unit
            away = np.array([(r * unit + self._MARK * unit + size / 2) * (np.cos(a), np.sin(a))
                             for r in radii for a in self._DIRECTIONS])
            boxes = np.hstack([(x, y) + away - size / 2, (x, y) + away + size / 2])
            taken = _shared(boxes, placed) + size.prod() - _shared(boxes, page[None])
            low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
            near = (clear[:, :2] < high).all(axis=1) & (clear[:, 2:] > low).all(axis=1)
            near[own] = False
            cost = _shared(boxes, clear[near]) + 1e3 * np.maximum(taken - 1e-6 * size.prod(), 0)
            best = int(np.argmin(cost))
            covers = cost[best] > 1e-6 * size.prod()
            if taken[best] > 1e-6 * size.prod() or (crowded and own >= self._kept and covers):
                continue
            text.set_bbox({"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5} if covers else None)
            placed = np.vstack([placed, boxes[best]])
            if radii[best // 16] > 9:
                low, high = boxes[best, :2], boxes[best, 2:]
                end = np.clip((x, y), low, high)
                line = Line2D([x, end[0]], [y, end[1]], color=GREY, linewidth=0.4)
                line.axes, line.figure = self.axes, self.axes.figure
                line.draw(renderer)
            text.set_position((x, y) + away[best])
            text.draw(renderer)


def _shared(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Areas that boxes [n][4] share with other boxes, summed over these."""
    x, y = (np.minimum.outer(boxes[:, i + 2], others[:, i + 2]) - np.maximum.outer(boxes[:, i], others[:, i])
            for i in (0, 1))
    return np.einsum("ij,ij->i", np.maximum(x, 0), np.maximum(y, 0))


def rows_cm(width_cm: float, count: int, columns: int, ratio: float = 1.0, most_cm: float = 100.0) -> float:
    """Return the height of `count` panels with titles in rows of `columns`, below a width for their labels.

    `ratio` is that of height and width of a panel, `most_cm` its largest width.
    """
    return (min((width_cm - 1.4) / columns, most_cm) * ratio + 0.5) * -(-count // columns)


def listed(words: str, names: Any, most: int = 6) -> str:
    """Return a note with the first names, and the number of the others; nothing without names."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{words}{', '.join(names[:most])}{more}." if len(names) else ""


def compress(axes: Any) -> None:
    """Move panels of fixed aspect together, if the axes are the only ones of a figure with constrained layout."""
    if len(axes.figure.axes) == 1 and axes.figure.get_constrained_layout():
        axes.figure.figure.set_layout_engine("compressed", w_pad=0.05, h_pad=0.05)


def scale_bar(colours: Any, axes: Any, words: str, **place: Any) -> Any:
    """Add the colour bar of a map, by default right of axes or of a list of axes, and return it."""
    bar = np.ravel(axes)[0].figure.colorbar(colours, ax=axes, **{"aspect": 25, "pad": 0.02, **place})
    bar.set_label(words, labelpad=1 if "location" in place else 4)
    bar.outline.set_linewidth(0.6)
    if isinstance(colours.norm, LogNorm):
        axis = bar.ax.xaxis if bar.orientation == "horizontal" else bar.ax.yaxis
        log_ticks(axis, colours.norm.vmin, colours.norm.vmax)
    return bar


def legend_cm(labels: list[str], width_cm: float) -> float:
    """Return the height of a legend."""
    return 0.2 + 0.34 * -(-len(labels) // _legend_columns([shorten(text, width_cm - 0.9) for text in labels], width_cm))


def legend_row(axes: Any, handles: Any) -> Any:
    """Write a legend above the place of axes; return axes for the rest of the place."""
    page = page_cm(axes)
    place = page * axes.get_window_extent().height / axes.get_window_extent().width
    high = legend_cm([handle.get_label() for handle in handles], page - 0.3)
    top, rest = split(axes, 2, 1, height_ratios=[high, max(place - high, high)])[:, 0]
    top.axis("off")
    legend(top, handles, page - 0.3, loc="center left", bbox_to_anchor=(0, 0.5)).set_in_layout(False)
    return rest


def log_range(values: Any, least: float = 1.5) -> tuple[float, float]:
    """Return limits of a logarithmic axis around the positive values.

    The margin on both sides is an eighth of the decades, at least a factor of `least`; the limits
    are 0.1 to 10 if no value is positive.
    """
    values = np.asarray(values, float)
    values = values[np.isfinite(values) & (values > 0)]
    if values.size == 0:
        return 0.1, 10.0
    margin = max((values.max() / values.min()) ** 0.12, least)
    return values.min() / margin, values.max() * margin


def hover(artist: Any, texts: str | list[str]) -> None:
    """Set texts that an HTML page shows while the pointer is over an artist.

    Parameters
    ----------
    artist : matplotlib Artist
    texts : str or list of str
        A list has one text for each mark or cell of a collection.
    """
    hovers = artist.figure.__dict__.setdefault("_hovers", {})
    artist.set_gid(f"hover-{len(hovers)}")
    hovers[artist.get_gid()] = texts


class _Titled(backend_svg.RendererSVG):
    """Writes hover texts as titles of groups, of the marks or cells in a group, and of images."""

    hovers: dict[str, str | list[str]] = {}

    def __init__(self, *page: Any, **settings: Any) -> None:
        super().__init__(*page, **settings)
        self._rest: Iterator[str] = iter(())
        self._write, self.writer.element = self.writer.element, self._element

    def open_group(self, s: str, gid: str | None = None) -> None:
        super().open_group(s, gid)
        words = self.hovers.get(gid, [])
        if isinstance(words, str):
            self._write("title", words)
        self._rest = iter(()) if isinstance(words, str) else iter(words)

    def _element(self, tag: str, text: str | None = None, attrib: Any = (), **extra: str) -> None:
        attrib = {**dict(attrib), **extra}
        words = self.hovers.get(attrib.get("id")) if tag == "image" else None
        if tag in ("use", "path") and "id" not in attrib:  # paths with an identifier are shapes of marks
            words = next(self._rest, None)
        if words is None:
            self._write(tag, text, attrib)
        else:
            self.writer.start(tag, attrib)
            self._write("title", words)
            self.writer.end()


def svg(fig: Figure) -> str:
    """Return a figure as SVG text, equal for equal figures, with its hover texts."""
    text, renderer = io.StringIO(), type("Titled", (_Titled,), {"hovers": getattr(fig, "_hovers", {})})
    with context(), mock.patch.object(backend_svg, "RendererSVG", renderer):
        fig.savefig(text, format="svg", dpi=200, metadata={"Date": None, "Creator": None})
    return text.getvalue()


def finish(axes_: list[Any]) -> None:
    """Fix the style of axes in a figure of the user: texts are literal, and ticks of later drawings are as these."""
    for axes in axes_:
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_major_ticks()
            axis.get_minor_ticks()
        for text in axes.findobj(Text):
            text.set_parse_math(False)


_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_SYMBOLS = {"·": r"\ensuremath{\cdot}", "±": r"\ensuremath{\pm}", "…": r"\ldots{}", "\u00a0": "~"}


def latex(text: str) -> str:
    """Return LaTeX that writes a text literally."""
    text = re.sub(r"[\\{}$&#%_^~]", lambda found: rf"\char{ord(found[0])}{{}}", text)
    text = re.sub("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda found: rf"\textsuperscript{{{found[0].translate(_DIGITS)}}}", text)
    return "".join(_SYMBOLS.get(character, character) for character in text)


def _save_pgf(fig: Figure, path: Path) -> None:
    """Write a picture as LaTeX; matplotlib would take parts of names as commands."""
    from matplotlib.backends import backend_pgf  # slow to import

    class Literal(backend_pgf.RendererPgf):
        def draw_text(self, gc: Any, x: float, y: float, s: str, *rest: Any, **more: Any) -> None:
            super().draw_text(gc, x, y, latex(s), *rest, **more)

        def get_text_width_height_descent(self, s: str, *rest: Any, **more: Any) -> Any:
            return super().get_text_width_height_descent(latex(s), *rest, **more)

    with mock.patch.object(backend_pgf, "RendererPgf", Literal):
        fig.savefig(path)


def check_output(path: str | os.PathLike[str]) -> str:
    """Return the ending of a picture's name, which selects its format."""
    ending = Path(path).suffix
    if ending not in FORMATS or Path(path).stem == "":
        raise UsageError(f"output '{path}': the name must end in .pdf, .svg, .png or .pgf")
    return ending


def parse_size(size: Any) -> tuple[float, float | None]:
    """Return width and height in cm of 8.5, "8.5", "17x12", (17, 12) or (17, None)."""
    try:
        parts = size.split("x") if isinstance(size, str) else list(np.ravel(np.array(size, object)))
        width, height = (part and float(part) for part in (parts if len(parts) > 1 else [*parts, None]))
        valid = all(LEAST_CM <= part <= MOST_CM for part in (width, width if height is None else height))
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise UsageError(f"--size {size}, expected WIDTHxHEIGHT or WIDTH in cm, from {LEAST_CM:g} to {MOST_CM:g} each")
    return width, height


def save(fig: Figure, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a picture in a temporary folder and move it; images of a .pgf are files next to it.

    Raises
    ------
    UsageError
        For an unknown ending.
    FileError
        If the file exists and `force` is not set, or cannot be written.
    """
    path, ending = Path(path), check_output(path)
    if path.exists() and not force:
        raise FileError(f"output '{path}' exists; choose another name or add --force")
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.stem}-", dir=path.parent) as folder, context():
            made = Path(folder) / path.name
            if ending == ".svg":
                made.write_text(svg(fig), encoding="utf-8")
            elif ending == ".pgf":
                _save_pgf(fig, made)
            else:
                fig.savefig(made, metadata={"CreationDate": None} if ending == ".pdf" else None)
            for part in sorted(Path(folder).iterdir()):
                os.replace(part, path.parent / part.name)
    except OSError as error:
        raise FileError(f"cannot write '{path}': {error.strerror or error}") from None
    except RuntimeError as error:  # matplotlib starts LaTeX for .pgf
        raise UsageError(f"cannot write '{path}': {error}; .pgf needs xelatex (Debian: texlive-xetex)") from None
