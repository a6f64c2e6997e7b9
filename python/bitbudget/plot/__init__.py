# SPDX-License-Identifier: Apache-2.0
"""Pictures of result files: one function for each kind, with the datasets that it needs."""
from __future__ import annotations

import difflib
import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import Error, FileError, UsageError
from ..result import Result

# Modules in the order of their kinds in lists and reports.
_MODULES = ("pipelines", "ao", "wafer", "bench", "fringe", "sweep")


@dataclass(frozen=True)
class Kind:
    """A kind of picture.

    Attributes
    ----------
    name : str
        Name on the command line, "loss-against-bits".
    shows : str
        One-line description; the part before a semicolon is the caption in reports.
    needs : tuple of str
        Datasets with a text or a number that is not NaN.
    remedy : str
        File that has these datasets.
    draw : callable
        ``draw(result, axes, **options)``: fills the axes, or parts of them (`style.split`), and
        returns a note for the caption or None.
    options : tuple of str
        Options that the kind accepts: "x", "y", "pipeline", "value", "exposure", "step", "more".
    of_sweeps : bool
        The kind draws a sweep, not a run.
    height : float or callable
        Height without the caption: over width, or ``height(result, width_cm, **options)`` in cm.
    """

    name: str
    shows: str
    needs: tuple[str, ...]
    remedy: str
    draw: Callable[..., str | None]
    options: tuple[str, ...] = ()
    of_sweeps: bool = False
    height: float | Callable[..., float] = 0.62

    def missing(self, result: Result) -> str | None:
        """Return the dataset that a file lacks for this kind, or None."""
        if self.of_sweeps != result.is_sweep:
            return "statistics" if self.of_sweeps else "results over pipelines only"
        return next((path for path in self.needs if not result.has_values(path)), None)


_kinds: list[Kind] = []


def kind(name: str, shows: str, needs: tuple[str, ...], remedy: str, **traits: Any) -> Callable:
    """Register a drawing function as a kind of picture; see `Kind`."""

    def register(draw: Callable[..., str | None]) -> Callable[..., str | None]:
        _kinds.append(Kind(name, shows, needs, remedy, draw, **traits))
        return draw

    return register


@functools.cache
def kinds() -> tuple[Kind, ...]:
    """Return all kinds of pictures."""
    for module in _MODULES:
        importlib.import_module(f".{module}", __name__)
    return tuple(_kinds)


def available(result: Result) -> list[Kind]:
    """Return the kinds that a file has the data for."""
    return [row for row in kinds() if row.missing(result) is None]


def listing(result: Result) -> str:
    """Return the lines of ``plot --list``: the kinds available for a file, and the needs of the others."""
    lines = [f"{row.name:<18} {row.shows}" for row in available(result)]
    others = [row for row in kinds() if row.missing(result) is not None and find(row.name, result) is row]
    lines += ["not available for this file:"] if others else []
    return "".join(f"{line}\n" for line in lines + [f"{row.name:<18} needs {row.remedy}" for row in others])


def find(name: str, result: Result | None = None) -> Kind:
    """Return a kind by its name; of two with the same name, the one for a sweep if `result` is one.

    Raises
    ------
    UsageError
        If there is no such kind, with the nearest name.
    """
    found = [row for row in kinds() if row.name == name]
    if not found:
        near = difflib.get_close_matches(name, [row.name for row in kinds()], 1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        raise UsageError(f"unknown kind of picture '{name}'{hint}; 'bitbudget plot --list FILE' lists the kinds")
    return next((row for row in found if result is not None and row.of_sweeps == result.is_sweep), found[0])


def _users(option: str) -> str:
    return " and ".join(dict.fromkeys(row.name for row in kinds() if option in row.options))


def draw(result: Result, name: str, axes: Any = None, size: tuple[float, float | None] | None = None,
         **options: Any) -> Any:
    """Draw a picture.

    Parameters
    ----------
    result : Result
        The opened file.
    name : str
        Kind of picture.
    axes : matplotlib Axes, optional
        Place of the picture; the default is a new figure with a caption.
    size : (float, float or None), optional
        Width and height of a new figure in cm; the default is 17 cm and the height of the kind.
    **options
        Options of the kind.

    Returns
    -------
    matplotlib Figure
    """
    from . import style

    row = find(name, result)
    missing = row.missing(result)
    if missing is not None:
        raise UsageError(f"picture '{name}' is not available for this file: it has no numbers in /{missing}; "
                         f"use {row.remedy}")
    options = {key: value for key, value in options.items() if value is not None}
    for option in options:
        if option == "more" and option not in row.options:
            raise UsageError(f"several files need --kind kernels; '{name}' draws one file")
        if option not in row.options:
            raise UsageError(f"--{option} is valid only for {_users(option) or 'no kind'}, not for '{name}'")
    if axes is not None:
        fig, others = axes.figure, [other for other in axes.figure.axes if other is not axes]
        with style.context():
            _call(row, result, row.draw, axes, **options)
            style.finish(fig, others)
        return fig
    width, height = size if size is not None else (17.0, None)
    chosen = height
    if height is None:
        height = _call(row, result, row.height, width, **options) if callable(row.height) else row.height * width
    with style.context():
        fig = style.figure(width, height)
        note = _call(row, result, row.draw, fig.subplots(), **options)
        below = style.caption(fig, result, note)
        if chosen is None:
            fig.set_figheight((height + below) * style.CM)
        style.finish(fig, [])
    return fig


def _call(row: Kind, result: Result, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function of a kind; data of another structure than the program writes are an error of the file."""
    try:
        return function(result, *arguments, **options)
    except Error:
        raise
    except (IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FileError(f"cannot draw '{row.name}' of '{result.path}': its data do not have the structure that the "
                        f"program writes ({type(error).__name__}: {error})") from error


class Plots:
    """Pictures of one file, each a method: ``result.plot.psf(axes, ...)`` returns the figure."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return functools.partial(draw, self._result, name.replace("_", "-"))

    def __dir__(self) -> list[str]:
        return [row.name.replace("-", "_") for row in available(self._result)]
