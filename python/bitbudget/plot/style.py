# SPDX-License-Identifier: Apache-2.0
"""Style of pictures for print: sizes, colours, captions and files."""
from __future__ import annotations

import io
import os
import re
import tempfile
import textwrap
from pathlib import Path
from typing import Any
from unittest import mock
from xml.sax.saxutils import escape

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends import backend_pgf
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
        "text.parse_math": False, "hatch.linewidth": 0.5, "axes.formatter.useoffset": False,
    })


class Picture(Figure):
    """A figure that notebooks show."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        with context():
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


def caption(fig: Figure, result: Result, note: str | None = None) -> float:
    """Write the note and a line with title, program, date and digest below the picture.

    Returns
    -------
    float
        Height of the caption in cm.
    """
    attrs = result.attrs
    date = result.attribute("provenance", "start_utc")[:10]
    digest = attrs.get("results_digest", "")[:8]
    line = ", ".join(part for part in (attrs.get("title", ""), attrs.get("source", ""), date,
                                       f"results\u00a0{digest}" if digest else "") if part)
    partial = attrs.get("status") == "partial" and attrs.get("status_reason", "some planned points were not run")
    notes = " ".join(part for part in (note, f"Partial result: {partial}." if partial else "") if part)
    width = max(20, int(fig.get_figwidth() * 72 / (0.58 * SMALL)))
    lines = [*textwrap.wrap(notes, width), *textwrap.wrap(line, width)]
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
    return axes.figure.get_figwidth() / CM if len(axes.figure.axes) == 1 else panel_cm(axes) / 0.9


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
            cost = _shared(boxes, np.delete(clear, own, 0)) + 1e3 * np.maximum(taken - 1e-6 * size.prod(), 0)
            best = int(np.argmin(cost))
            if taken[best] > 1e-6 * size.prod() or (crowded and own >= self._kept and cost[best] > 1e-6 * size.prod()):
                continue
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
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    return np.clip(high - low, 0, None).prod(axis=2).sum(axis=1)


def compress(axes: Any) -> None:
    """Move panels of fixed aspect together, if the axes are the only ones of a figure with constrained layout."""
    if len(axes.figure.axes) == 1 and axes.figure.get_constrained_layout():
        axes.figure.set_layout_engine("compressed", w_pad=0.05, h_pad=0.05)


def scale_bar(image_: Any, axes: Any, words: str, **place: Any) -> Any:
    """Add a colour bar, by default right of axes, and return it."""
    bar = image_.figure.colorbar(image_, ax=axes, **{"aspect": 25, "pad": 0.02, **place})
    bar.set_label(words)
    bar.outline.set_linewidth(0.6)
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


def _titled(group: str, texts: list[str]) -> str:
    """Insert texts into the elements of an SVG group; elements in <defs> are shapes of marks."""
    rest = iter(texts)

    def insert(found: re.Match) -> str:
        text = next(rest, None)
        return found[0] if text is None else f"<{found[1]}><title>{escape(text)}</title></{found[1].split()[0]}>"

    parts = re.split(r"(<defs>.*?</defs>)", group, flags=re.DOTALL)
    element = r"<((?:use|path)\s[^>]*)/>"
    return "".join(part if part.startswith("<defs>") else re.sub(element, insert, part) for part in parts)


def svg(fig: Figure) -> str:
    """Return a figure as SVG text, equal for equal figures, with its hover texts."""
    text = io.StringIO()
    with context():
        fig.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    page = text.getvalue()
    for gid, words in getattr(fig, "_hovers", {}).items():
        opening = page.find(f'<g id="{gid}">')
        if opening < 0:  # an image has no group of its own
            picture = re.compile(rf'<image\b[^>]*\bid="{gid}"[^>]*/>')
            title = f"<g><title>{escape(words)}</title>" if isinstance(words, str) else "<g>"
            page = picture.sub(lambda found, title=title: f"{title}{found[0]}</g>", page, count=1)
            continue
        start = opening + len(f'<g id="{gid}">')
        depth, end = 1, start
        for found in re.compile(r"<(/?)g\b").finditer(page, start):
            depth, end = depth + (-1 if found[1] else 1), found.start()
            if depth == 0:
                break
        group = page[start:end]
        group = f"<title>{escape(words)}</title>{group}" if isinstance(words, str) else _titled(group, words)
        page = page[:start] + group + page[end:]
    return page


def finish(fig: Figure, before: list[Any]) -> None:
    """Fix the style of new axes: texts are literal, and ticks of later drawings are as these."""
    for axes in fig.axes:
        if axes not in before:
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


def parse_size(text: str) -> tuple[float, float | None]:
    """Parse "17x12" or "8.5": width and height in cm."""
    found = re.fullmatch(r"([0-9.]+)(?:x([0-9.]+))?", text)
    try:
        sizes = [float(part) for part in found.groups() if part] if found else []
    except ValueError:
        sizes = []
    if not sizes or not all(LEAST_CM <= size <= MOST_CM for size in sizes):
        raise UsageError(f"--size {text}, expected WIDTHxHEIGHT or WIDTH in cm, from {LEAST_CM:g} to {MOST_CM:g} each")
    return sizes[0], sizes[1] if len(sizes) > 1 else None


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
