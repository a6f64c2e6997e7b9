# SPDX-License-Identifier: Apache-2.0
"""Pictures of result files: one function for each kind, with the datasets that it needs."""
from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
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
        One-line description.
    needs : tuple of str
        Datasets with a text or a number that is not NaN.
    remedy : str
        File that has these datasets.
    draw : callable
        ``draw(result, axes, **options)``: fills the axes, or parts of them (`style.split`), and
        returns a note for the caption or None. Its docstring describes the options.
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
    of_sweeps: bool = False
    height: float | Callable[..., float] = 0.62

    @property
    def options(self) -> list[str]:
        """Names of the options that the kind accepts."""
        return list(inspect.signature(self.draw).parameters)[2:]

    def missing(self, result: Result) -> str | None:
        """Return the dataset that a file lacks for this kind, or None."""
        if self.of_sweeps != result.is_sweep:
            return "statistics" if self.of_sweeps else "results over pipelines only"
        return next((path for path in self.needs if not result.has_values(path)), None)

    def method(self, result: Result | None = None) -> Callable[..., Any]:
        """Return the function that draws a file, with the signature and the documentation of the kind."""

        def method(axes: Any = None, size: Any = None, **options: Any) -> Any:
            """Draw {shows}.

            Needs {remedy}.

            Parameters
            ----------
            axes : matplotlib Axes, optional
                Place of the picture. The text of the caption is then its attribute ``note``. The
                default is a new figure with a caption.
            size : float, (float, float) or str, optional
                Width, or width and height, of a new figure in cm: 8.5, (8.5, 6) or "8.5x6". The
                default is 17 and the height of the kind.
            {options}

            Returns
            -------
            matplotlib Figure
            """
            return draw(result, self.name, axes, size, **options)

        shared, own = inspect.signature(method), list(inspect.signature(self.draw).parameters.values())[2:]
        method.__signature__ = shared.replace(parameters=[  # type: ignore[attr-defined]
            *list(shared.parameters.values())[:2], *(option.replace(kind=option.KEYWORD_ONLY) for option in own)])
        method.__name__ = method.__qualname__ = self.name.replace("-", "_")
        options = inspect.getdoc(self.draw).partition("-\n")[2]
        method.__doc__ = inspect.getdoc(method).format(shows=self.shows, remedy=self.remedy, options=options)
        return method


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


def near(word: str, words: list[str]) -> str:
    """Return a hint to the word that resembles another, or nothing."""
    found = difflib.get_close_matches(word, words, 1)
    return f" (did you mean '{found[0]}'?)" if found else ""


def available(result: Result) -> list[Kind]:
    """Return the kinds that a file has the data for."""
    return [row for row in kinds() if row.missing(result) is None]


def listing(result: Result) -> str:
    """Return the lines of ``plot --list``: the kinds available for a file, and the needs of the others."""
    lines = []
    for row in available(result):
        options = ", ".join(f"--{option}" for option in row.options if option != "more")
        lines.append(f"{row.name:<18} {row.shows}{'; ' * bool(options)}{options}")
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
        hint = near(name, [row.name for row in kinds()])
        raise UsageError(f"unknown kind of picture '{name}'{hint}; 'bitbudget plot --list FILE' lists the kinds")
    return next((row for row in found if result is not None and row.of_sweeps == result.is_sweep), found[0])


def _check(row: Kind, result: Result, options: dict[str, Any]) -> None:
    """Refuse options that a kind does not have, and files without its data."""
    missing = row.missing(result)
    if missing is not None:
        raise UsageError(f"picture '{row.name}' is not available for this file: it has no numbers in /{missing}; "
                         f"use {row.remedy}")
    for option in options.keys() - set(row.options):
        users = list(dict.fromkeys(other.name for other in kinds() if option in other.options))
        if option == "more":
            raise UsageError(f"several files need --kind kernels; '{row.name}' draws one file")
        if users:
            raise UsageError(f"--{option} is valid only for {' and '.join(users)}, not for '{row.name}'")
        raise UsageError(f"'{row.name}' has no option '{option}'; use {', '.join(['axes', 'size', *row.options])}")


@contextlib.contextmanager
def _structure(row: Kind, result: Result) -> Iterator[None]:
    """Turn data of another structure than the program writes into an error of the file."""
    try:
        yield
    except Error:
        raise
    except (IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FileError(f"cannot draw '{row.name}' of '{result.path}': its data do not have the structure that the "
                        f"program writes ({type(error).__name__}: {error})") from error


def draw(result: Result, name: str, axes: Any = None, size: Any = None, **options: Any) -> Any:
    """Draw a kind of picture by its name; other arguments are those of the method of `Plots`."""
    from matplotlib.axes import Axes

    from . import style

    row = find(name, result)
    options = {key: value for key, value in options.items() if value is not None}
    _check(row, result, options)
    if axes is not None:
        if not isinstance(axes, Axes):
            raise UsageError(f"axes: {type(axes).__name__}, expected one Axes of matplotlib, as from 'fig.subplots()'")
        others = [other for other in axes.figure.axes if other is not axes]
        with _structure(row, result), style.context():
            axes.note = style.notes(result, row.draw(result, axes, **options))
            style.finish([new for new in axes.figure.axes if new not in others])
        return axes.figure
    width, chosen = style.parse_size(17.0 if size is None else size)
    with _structure(row, result), style.context():
        height = chosen or (row.height(result, width, **options) if callable(row.height) else row.height * width)
        fig = style.figure(width, height)
        below = style.caption(fig, result, row.draw(result, fig.subplots(), **options))
        if chosen is None:
            fig.set_figheight((height + below) * style.CM)
    return fig


class Plots:
    """Pictures of one file, each a method: ``result.plot.psf(axes, ...)`` returns the figure."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return find(name.replace("_", "-"), self._result).method(self._result)
        except UsageError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        return [row.name.replace("-", "_") for row in available(self._result)]
