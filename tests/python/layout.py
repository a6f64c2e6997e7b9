# SPDX-License-Identifier: Apache-2.0
"""Checks of pictures: texts inside the page, legible and without overlaps; SVG well-formed and reproducible."""
from __future__ import annotations

import functools
import itertools
import warnings
from typing import Any
from unittest import mock
from xml.dom import minidom

from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from bitbudget import plot
from bitbudget.plot import style

_TOLERANCE_POINTS = 0.6  # extents of texts include space below the baseline


@functools.lru_cache(maxsize=100)
def draw(result: Any, kind: str, size: Any = 17.0, **options: Any) -> Figure:
    """Return a picture, which tests of the same picture share."""
    return plot.draw(result, kind, size=size, **options)


def drawn_texts(fig: Figure, draw_it: Any = None) -> list[Text]:
    """Return the texts that a drawing of the figure writes, after its layout."""
    texts: list[Text] = []
    write = Text.draw

    def record(self: Text, renderer: object, *rest: object) -> None:
        if self.get_visible() and self.get_text().strip() and self not in texts:
            texts.append(self)
        write(self, renderer, *rest)

    with mock.patch.object(Text, "draw", record):
        (draw_it or fig.draw_without_rendering)()
    return texts


def _box(text: Text, points: float) -> Bbox:
    box = Text.get_window_extent(text)
    return Bbox.from_extents(box.x0 + points, box.y0 + points, box.x1 - points, box.y1 - points)


def check_layout(fig: Figure, least_cm: float = 0.0, draw_it: Any = None) -> None:
    """Assert that all texts are inside the page, of 6 to 8 points and apart from each other.

    A text must also stay off the panels of other axes.

    Parameters
    ----------
    fig : Figure
    least_cm : float
        Least width and height of a panel with an image.
    draw_it : callable, optional
        Draws the figure with its dots per inch.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a layout that does not fit
        texts = drawn_texts(fig, draw_it)
    points = _TOLERANCE_POINTS * fig.dpi / 72
    boxes = [_box(text, points) for text in texts]
    page = fig.bbox
    for text, box in zip(texts, boxes):
        name = text.get_text()
        assert 6 <= text.get_fontsize() <= 8, f"'{name}' has {text.get_fontsize()} points"
        assert page.x0 <= box.x0 and box.x1 <= page.x1, f"'{name}' leaves the page sideways: {box} in {page}"
        assert page.y0 <= box.y0 and box.y1 <= page.y1, f"'{name}' leaves the page: {box} in {page}"
    for (one, a), (other, b) in itertools.combinations(zip(texts, boxes), 2):
        assert not a.overlaps(b), f"'{one.get_text()}' overlaps '{other.get_text()}'"
    panels = [(axes, axes.get_window_extent()) for axes in fig.axes if axes.get_visible()]
    for (text, box), (axes, panel) in itertools.product(zip(texts, boxes), panels):
        own = text.axes
        if own is not None and own is not axes and not own.get_window_extent().overlaps(panel):
            assert not box.overlaps(panel), f"'{text.get_text()}' is on the neighbouring panel"
    for axes, panel in panels:
        if axes.images:
            cm = 2.54 / fig.dpi
            size = min(panel.width, panel.height) * cm
            assert size >= least_cm or hasattr(axes, "_colorbar"), f"a panel has {size:.2g} cm, expected {least_cm:g}"


def check_kind(result: Any, kind: str, least_cm: float = 0.0, **options: Any) -> list[Figure]:
    """Check a kind of picture at the widths of a column and of a page; return both figures.

    The SVG is well-formed, has the hover texts of all artists, and is equal when drawn again.
    """
    figures = [draw(result, kind, size=width, **options) for width in (8.5, 17.0)]
    narrow, pages = figures[0], []
    narrow.set_dpi(72)  # of SVG
    check_layout(narrow, least_cm, lambda: pages.append(style.svg(narrow)))
    check_layout(figures[1], least_cm)
    page, = pages
    titles = {node.firstChild.data for node in minidom.parseString(page).getElementsByTagName("title")}
    for words in getattr(narrow, "_hovers", {}).values():
        assert (words if isinstance(words, str) else words[0]) in titles
    assert page == style.svg(plot.draw(result, kind, size=8.5, **options))
    return figures
