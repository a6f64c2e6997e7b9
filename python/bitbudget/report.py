# SPDX-License-Identifier: Apache-2.0
"""Reports: a result file or a sweep as one self-contained HTML page, or as parts of a LaTeX document."""
from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from . import output, plot, program
from .errors import Error, FileError, UsageError
from .plot import style, sweep
from .result import Result

WIDE_CM, NARROW_CM = 17.0, 8.5
# Units of the table for people: factor and name.
_SCALES = {"byte": (1e-6, "MB"), "s": (1e3, "ms"), "1": (1.0, "")}
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_IDENTIFIERS = re.compile(r"""(\bid="|href="#|url\(#)""")


def _number(value: float) -> str:
    """Four significant digits, as in the program's tables."""
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    if value == round(value) and abs(value) < 1e4:
        return f"{value:.0f}"
    digits = 3 - int(np.floor(np.log10(abs(value))))
    return f"{value:.{max(digits, 0)}f}" if -1 < digits < 8 and abs(value) < 1e7 else f"{value:.3e}"


def _table(result: Result) -> dict[str, Any] | None:
    """Headings and cells: what the program shows with --full, in units for people."""
    if not result.experiment or not ("results/status" in result or result.is_sweep):
        return None
    shown = result.shown() if result.is_sweep else result.shown("--full")
    heads, fields = [], shown["fields"]
    for field in fields:
        field["scale"], unit = _SCALES.get(field["unit"], (1.0, field["unit"]))
        name = field["name"]
        for ending in (f"_{field['unit']}", "_bytes" if unit == "MB" else "", "_s" if unit == "ms" else ""):
            name = name.removesuffix(ending) if ending else name
        texts = all(isinstance(row[field["key"]], str) for row in shown["pipelines"])
        heads.append({"name": name.replace("_", " ") + (f" [{unit}]" if unit else ""), "text": texts,
                      "title": field["long_name"]})
    rows = [{"name": row["pipeline"], "front": row["on_front"],
             "cells": [_cell(row[field["key"]], field["scale"]) for field in fields]} for row in shown["pipelines"]]
    return {"heads": heads, "rows": rows, "first": "choice" if result.is_sweep else "pipeline"}


def _cell(value: Any, scale: float) -> tuple[str, str | None, bool]:
    """Text of a cell, its value for sorting if the text has fewer digits, and whether it is a text."""
    if value is None or isinstance(value, str):
        return ("-", "", False) if value is None else (value, None, True)
    text = _number(scale * value)
    return text, None if float(text) == value else f"{value:.9g}", False


def _inline(svg: str, prefix: str, title: str) -> str:
    """Return an SVG picture for a page: identifiers of its own, and a name for screen readers."""
    start = svg.index("<svg")
    body = _IDENTIFIERS.sub(rf"\g<1>{prefix}", svg[start:])
    return body.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)


def _pictures(result: Result) -> list[dict[str, str]]:
    found = []
    for row in plot.available(result):
        picture = {"name": row.name, "caption": row.shows.split(";")[0], "problem": ""}
        try:
            for width, name in ((WIDE_CM, "wide"), (NARROW_CM, "narrow")):
                drawn = plot.draw(result, row.name, size=(width, None))
                picture[name] = _inline(style.svg(drawn), f"{row.name}-{name[0]}-", row.name)
        except Error as error:
            picture["problem"] = str(error)
        found.append(picture)
    return found


def _failures(result: Result) -> dict[str, Any]:
    """Heads, rows and, for a sweep, the number of points without results by cause."""
    if not result.is_sweep:
        details = result.column("status_detail")
        rows = [(name, ending, "" if details is None else details[i])
                for i, (name, ending) in enumerate(zip(result.pipelines, result["results/status"])) if ending != "ok"]
        return {"heads": ("pipeline", "status", "cause"), "rows": rows, "causes": None}
    keys, status = sweep.keys(result), sweep.table(result, "status")
    states = result["results/point_status"].reshape(-1)
    rows = []
    for i, name in enumerate(result.pipelines):
        failed = [] if status is None else np.flatnonzero((states == "done") & (status[:, i] != "ok"))
        if len(failed):
            place = ", ".join(f"{key.name} {key.labels[key.places[failed[0]]]}" for key in keys)
            rows.append((name, f"{len(failed)} of {states.size} points", place, status[failed[0], i]))
    return {"heads": ("pipeline", "failed", "first failure at", "cause"), "rows": rows,
            "causes": Counter(map(str, states[states != "done"])), "points": states.size}


def _conditions(result: Result) -> list[tuple[str, str, str, str, str]]:
    """Path, number of values, first, last and unit of every swept key."""
    return [(key.path, f"over {sweep.MOST_VALUES}" if key.ranges else str(len(key.values)), key.labels[0],
             key.labels[-1], "" if key.unit == "1" else key.unit) for key in sweep.keys(result)]


def _provenance(result: Result) -> list[tuple[str, str]]:
    rows = [(name, value) for group in (result.attrs, result.attributes("provenance"))
            for name, value in group.items() if name != "sweep_plan"]
    if "provenance/input_file" in result and "provenance/input_digest" in result:
        rows += list(zip(result["provenance/input_file"].reshape(-1), result["provenance/input_digest"].reshape(-1)))
    return [(str(name), str(value)) for name, value in rows]


def _clean(value: Any) -> Any:
    """Replace control characters of texts."""
    return value if hasattr(value, "__html__") else _CONTROL.sub("?", str(value))


def _environment() -> jinja2.Environment:
    return jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"), trim_blocks=True,
                              lstrip_blocks=True, autoescape=jinja2.select_autoescape(["html"]), finalize=_clean)


def page(result: Result, max_loss: float | None = None, source: str | None = None) -> str:
    """Return the page of a result as text."""
    table = _table(result)
    return _environment().get_template("report.html").render(
        result=result, source=source or str(result.path), table=table, pictures=_pictures(result),
        answer=result.answer(max_loss) if table else "", provenance=_provenance(result),
        failures=_failures(result) if table else {"rows": [], "causes": None},
        keys=_conditions(result) if result.is_sweep else [], commit=result.attribute("provenance", "commit"),
        date=result.attribute("provenance", "start_utc")[:10], plan=result.attribute("provenance", "sweep_plan"),
        config=str(result["provenance/config_resolved"]) if "provenance/config_resolved" in result else "")


def write(result: Result, path: str | os.PathLike[str], max_loss: float | None = None,
          source: str | None = None) -> Path:
    """Write the page of a result, replacing a file of that name.

    Parameters
    ----------
    result : Result
    path : path-like
        File that ends in .html.
    max_loss : float, optional
        As in `Result.answer`.
    source : str, optional
        Name of the result in the instructions that repeat it; the default is its path.
    """
    if Path(path).suffix != ".html":
        raise UsageError(f"output '{path}': the name must end in .html")
    output.write(path, page(result, max_loss, source))
    return Path(path)


def write_tex(result: Result, folder: str | os.PathLike[str], force: bool = False) -> None:
    """Write table.tex, a .pdf for each picture, and all.tex, which includes them.

    Parameters
    ----------
    result : Result
    folder : path-like
        Made if it does not exist.
    force : bool
        Replace existing files.
    """
    folder = Path(folder)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot create folder '{folder}': {error.strerror}") from None
    texts = {}
    if _table(result):
        texts["table.tex"] = program.run(["show", str(result.path), "--format", "latex"])
    rows = plot.available(result)
    texts["all.tex"] = _environment().get_template("all.tex").render(table="table.tex" in texts, kinds=rows)
    for name in (*texts, *(f"{row.name}.pdf" for row in rows)):
        if (folder / name).exists() and not force:
            raise FileError(f"output '{folder / name}' exists; choose another folder or add --force")
    for row in rows:
        style.save(plot.draw(result, row.name, size=(NARROW_CM, None)), folder / f"{row.name}.pdf", True)
    for name, text in texts.items():
        output.write(folder / name, text)
