# SPDX-License-Identifier: Apache-2.0
"""Pictures of benchmarks and machines: rooflines, and kernels against their bounds."""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..errors import UsageError
from ..result import Result
from . import kind, style

_PAIR_CM = 12.0  # page width from which panels are side by side

# -- Roofline ------------------------------------------------------------------------------------


def _columns(result: Result, *names: str) -> list[np.ndarray | None]:
    """Return datasets of the benchmarks; None if absent or of another length."""
    count = result["results/benchmark"].shape if "results/benchmark" in result else ()
    paths = [f"results/{name}" for name in names]
    return [result[path] if path in result and result[path].shape == count != () else None for path in paths]


def _roofs(result: Result) -> dict[str, np.ndarray]:
    """Return the columns of the benchmarks with a roofline."""
    names = ("benchmark", "floor_bytes", "floor_flops", "flops_per_s", "roof_bytes_per_s", "roof_flops_per_s")
    columns = dict(zip(names, _columns(result, *names)))
    if any(column is None for column in columns.values()):
        raise UsageError(f"{result.path}: the benchmarks lack columns; use a file of 'bitbudget-bench' of this version")
    found = (columns["roof_bytes_per_s"] > 0) & (columns["floor_bytes"] > 0) & (columns["flops_per_s"] > 0)
    if not found.any():
        raise UsageError(f"{result.path}: the file has no roofline benchmark; run bitbudget-bench with roofline-*")
    return {name: column[found] for name, column in columns.items()}


@kind("roofline", "operations per second of the wafer's steps against operations per byte, with rooflines",
      ("results/benchmark", "results/roof_bytes_per_s"),
      "a file of 'bitbudget-bench' with the benchmarks roofline-*",
      height=lambda result, width_cm: 0.62 * width_cm + style.legend_cm(_roofs(result)["benchmark"], width_cm - 1.8))
def roofline(result: Result, axes: Any) -> str:
    """Draw the rate of each step, each under its own roof: both are measured together."""
    found = _roofs(result)
    read, peak, rate = (1e-9 * found[name] for name in ("roof_bytes_per_s", "roof_flops_per_s", "flops_per_s"))
    intensity = found["floor_flops"] / found["floor_bytes"]
    # Without a peak the roof is only the slope, up to the edge of the page.
    ridge = np.where(peak > 0, peak / read, intensity * 4)
    low, high = intensity.min() / 4, max(intensity.max(), ridge.max()) * 4
    peak = np.where(peak > 0, peak, read * high)
    axes.grid()
    handles = []
    for i, name in enumerate(found["benchmark"]):
        look = dict(color=style.COLOURS[i % 7], ls=style.DASHES[i % 7])
        axes.plot([low, peak[i] / read[i], high], [read[i] * low, peak[i], peak[i]], lw=1.0, **look)
        mark = dict(marker=style.MARKERS[i % 7], ms=5, mec="white", mew=0.4)
        share = rate[i] / min(peak[i], read[i] * intensity[i])
        label = f"{name.removeprefix('roofline-')}, {100 * share:.0f} %"
        point = axes.plot(intensity[i], rate[i], color=look["color"], zorder=3, **mark)[0]
        style.hover(point, f"{name}: {rate[i]:.4g} GFLOP/s at {intensity[i]:.3g} FLOP/byte")
        handles.append(Line2D([], [], label=label, **look, **mark))
    style.log_axis(axes, "x", low, high)
    style.log_axis(axes, "y", rate.min() / 4, peak.max() * 2.5)
    axes.set(xlabel="Arithmetic intensity [FLOP/byte]", ylabel="Rate [GFLOP/s]")
    style.legend(axes, handles)
    return ("Marks: attained rate of a step, with its share of the roof at this intensity. The roof of the same colour "
            "has the read rate and the peak of separate products and sums in fp32, measured in the same run.")


# -- Kernels -------------------------------------------------------------------------------------

_FAMILIES = ("Processors", "GPUs")
_PAPER = ((0.35, 0.61), (0.45, 0.80))  # figures 6 and 7 of the paper on the kernel language
_TYPES = ("SP", "DP")
_MOST_KERNELS, _MOST_SERIES = 24, 6


def _series(device: str, text: str) -> tuple[str, int]:
    """Return the name of a back end and device, and its family. PoCL is OpenCL on a processor."""
    pocl = device == "opencl" and "Portable Computing Language" in text
    label = {"cpu": "C", "cuda": "CUDA"}.get(device) or ("PoCL" if pocl else "NVIDIA OpenCL" if "NVIDIA" in text
                                                          else "OpenCL")
    return f"{label}, {text.split(',')[0]}", int(device != "cpu" and not pocl)


def _bars(files: Sequence[Result]) -> dict[tuple[str, int, tuple[str, int]], tuple[float, float, str]]:
    """Return share of the bound, share of a library (NaN: none) and hover text by kernel, type and series."""
    bars: dict[tuple[str, int, tuple[str, int]], tuple[float, float, str]] = {}
    for number, result in enumerate(files, 1):
        names, shares, devices, against, libraries, ratios = _columns(
            result, "benchmark", "kernel_share", "device", "against", "library", "library_ratio")
        if names is None or shares is None or devices is None:
            raise UsageError(f"file {number} is not a file of 'bitbudget-bench' with the benchmarks kernel-*")
        for row, name in enumerate(names):
            parts = re.fullmatch(r"kernel-(.+)-(sp|dp)-([^-]+)", name)
            if parts is None or np.isnan(shares[row]):
                continue
            kernel, precision, device = parts.groups()
            series = _series(device, devices[row])
            key = (kernel, int(precision == "dp"), series)
            if key in bars:
                raise UsageError(f"{name} of {series[0]} is in two files; give one of them")
            library = shares[row] / ratios[row] if ratios is not None and libraries is not None else np.nan
            text = (f"{kernel}, {precision.upper()}, {series[0]}: {shares[row]:.2f} of "
                    f"{'its bound' if against is None else against[row]}")
            bars[key] = (shares[row], library, text if np.isnan(library) else f"{text}; {libraries[row]} {library:.2f}")
    if not bars:
        raise UsageError("the file has no results of benchmarks kernel-*")
    for what, count, most in (("kernels", len({key[0] for key in bars}), _MOST_KERNELS),
                              ("back ends and devices", len({key[2] for key in bars}), _MOST_SERIES)):
        if count > most:
            raise UsageError(f"the file has {count} {what}, the limit of the picture is {most}")
    return bars


def _fit(names: Sequence[str], width_cm: float) -> bool:
    """Return whether names fit below their bars without rotation."""
    return max(map(style.text_cm, names)) < (width_cm - 1.8) / len(names) - 0.1


def _cells(bars: Any, width_cm: float) -> tuple[list[tuple[int, int] | None], int]:
    """Return family and type of each panel, None if it has no bars, and the number of columns.

    SP and DP are side by side on a wide page, else all panels are in a column.
    """
    found = sorted({(key[2][1], key[1]) for key in bars})
    if width_cm < _PAIR_CM or len({its_type for _, its_type in found}) == 1:
        return found, 1
    return [(f, t) if (f, t) in found else None for f in dict(found) for t in (0, 1)], 2


def _kernels_height(result: Result, width_cm: float, more: Sequence[Result] = ()) -> float:
    bars = _bars([result, *more])
    cells, columns = _cells(bars, width_cm)
    labels = [*dict.fromkeys(key[2][0] for key in bars), "range of the paper", "library on the same data"]
    panel = min(0.5 * width_cm / columns, 4.5) + 0.6
    kernel_names = list(dict.fromkeys(key[0] for key in bars))
    below = 0.4 if _fit(kernel_names, width_cm / columns) else max(map(style.text_cm, kernel_names)) + 0.2
    return panel * len(cells) / columns + below + style.legend_cm(labels, width_cm - 0.3) + 0.6


@kind("kernels", "fraction of the roofline reached by kernels, by back end, on processors and GPUs",
      ("results/benchmark", "results/kernel_share", "results/device"),
      "a file of 'bitbudget-bench' with the benchmarks kernel-*", height=_kernels_height)
def kernels(result: Result, axes: Any, more: Sequence[Result] = ()) -> str:
    """Draw the share of its bound that each kernel reaches: a bar for each back end and device.

    Parameters
    ----------
    more : sequence of Result, optional
        Further files, as of a GPU.
    """
    bars = _bars([result, *more])
    width = style.page_cm(axes)
    cells, columns = _cells(bars, width)
    names = list(dict.fromkeys(key[0] for key in bars))
    series = list(dict.fromkeys(key[2] for key in bars))
    top = max(1.1, 1.05 * max(np.nanmax(bar[:2]) for bar in bars.values()))
    handles = [Patch(color=style.COLOURS[i], label=one[0]) for i, one in enumerate(series)]
    handles.append(Patch(color="#e0e0e0", label="range of the paper"))
    if not all(np.isnan(bar[1]) for bar in bars.values()):
        handles.append(Line2D([], [], color="black", lw=1.5, label="library on the same data"))
    grid = style.split(style.legend_row(axes, handles), len(cells) // columns, columns, sharey=True, wspace=0.02)
    for i, (panel, cell) in enumerate(zip(grid.flat, cells)):
        if cell is None:
            panel.remove()
            continue
        family, precision = cell
        panel.set_title(f"{_FAMILIES[family]}, {_TYPES[precision]}")
        panel.axhspan(*_PAPER[family], color="#e0e0e0", lw=0, zorder=0)
        panel.grid(axis="y")
        members = [one for one in series if one[1] == family]
        for (kernel, its_type, one), (share, library, text) in bars.items():
            if its_type == precision and one[1] == family:
                wide = 0.8 / len(members)
                x = names.index(kernel) - 0.4 + wide * members.index(one)
                bar = panel.bar(x, share, 0.92 * wide, align="edge", zorder=2, color=style.COLOURS[series.index(one)])
                style.hover(bar[0], text)
                panel.plot([x, x + 0.92 * wide], [library] * 2, color="black", lw=1.5, zorder=3, solid_capstyle="butt")
        panel.set(xlim=(-0.6, len(names) - 0.4), ylim=(0, top), xticks=range(len(names)))
        panel.set_xticklabels(names, rotation=0 if _fit(names, width / columns) else 90)
        lowest = i + columns >= len(cells) or cells[i + columns] is None
        panel.tick_params(axis="x", length=0, labelbottom=lowest)
        panel.set_ylabel("Share of the bound" if i % columns == 0 else "")
    return ("Bounds are measured together with the kernel: a copy, a triad or a read of the same bytes; for gemm the "
            "BLAS on a processor, chains of fma on a GPU.")


# -- Machines ------------------------------------------------------------------------------------

_PRODUCT = 0.5  # operations per byte of y = A x in single precision: two for each element of four bytes
_LOW, _HIGH = 0.1, 100.0
_MOST_MACHINES = 24
_DASHES = {"cpu": style.DASHES[0], "gpu": style.DASHES[1], "fpga": style.DASHES[2]}
# Title, label, divisor of the rates, rate of the product, unit of the labels in 1/s.
_RATES = (("Absolute", "Rate [GFLOP/s]", None, "product_flops_per_s", 1e-9),
          ("Per price", "Rate [MFLOP/s/USD]", "price_usd", "product_flops_per_usd", 1e-6),
          ("Per power", "Rate [GFLOP/s/W]", "power_w", "product_flops_per_w", 1e-9))


def _scales(result: Result) -> list[np.ndarray]:
    """Return the factors of the rates of each machine in the panels; NaN without price or power."""
    count = len(result["machines/machine"])
    if count > _MOST_MACHINES:
        raise UsageError(f"the table has {count} machines, the limit of the picture is {_MOST_MACHINES}")
    return [unit / (result[f"machines/{divisor}"] if divisor else np.ones(count)) for _, _, divisor, _, unit in _RATES]


def _machine_colours(count: int) -> list[str]:
    """Return distinct colours: those of the style, grey, and darker ones."""
    dark = [to_hex(np.array(to_rgb(colour)) * 0.55) for colour in style.COLOURS[:-1]]
    return [([*style.COLOURS, style.GREY, *dark] * 2)[i] for i in range(count)]


def _machines_height(result: Result, width_cm: float) -> float:
    count = sum(bool(np.isfinite(scale).any()) for scale in _scales(result))
    rows, panel = (1, 6.5) if width_cm >= _PAIR_CM else (count, 0.5 * width_cm)
    return rows * panel + style.legend_cm([*result["machines/machine"], "y = A x"], width_cm - 0.3) + 1.0


@kind("machines", "rooflines of a table of machines, absolute, per dollar and per watt, and the attainable rate of a "
      "product", ("machines/machine", "machines/product_flops_per_s"), "a table of machines, as configs/machines.yaml",
      height=_machines_height)
def machines(result: Result, axes: Any) -> str:
    """Draw rooflines of machines, and their rate for y = A x: figure 4 of Bamakhrama et al. (2019)."""
    names, kinds, peak, read = (result[f"machines/{name}"] for name in ("machine", "kind", "single_flops_per_s",
                                                                         "memory_bytes_per_s"))
    shown = [(rate, scale) for rate, scale in zip(_RATES, _scales(result)) if np.isfinite(scale).any()]
    width = style.page_cm(axes)
    colours = _machine_colours(len(names))
    columns = len(shown) if width >= _PAIR_CM else 1
    looks = [dict(color=colour, marker=style.MARKERS[m % 7], mec="white", mew=0.4) for m, colour in enumerate(colours)]
    handles = [Line2D([], [], ls=_DASHES[sort], label=name, **look) for name, sort, look in zip(names, kinds, looks)]
    handles.append(Line2D([], [], color="black", lw=1.0, ls=(0, (2, 2)), label="y = A x"))
    grid = style.split(style.legend_row(axes, handles), len(shown) // columns, columns, sharex=True, wspace=0.02)
    for panel, ((title, label, _, product, unit), scale) in zip(grid.flat, shown):
        panel.grid()
        panel.axvline(_PRODUCT, color="black", lw=1.0, ls=(0, (2, 2)))
        for m in np.flatnonzero(np.isfinite(scale)):
            panel.plot([_LOW, peak[m] / read[m], _HIGH], scale[m] * np.array([_LOW * read[m], peak[m], peak[m]]),
                       color=colours[m], ls=_DASHES[kinds[m]], lw=0.9)
            rate = unit * result[f"machines/{product}"][m]
            mark = panel.plot(_PRODUCT, rate, ms=4.5, zorder=3, **looks[m])
            style.hover(mark[0], f"{names[m]}: {rate:.4g}, {label}")
        style.log_axis(panel, "x", _LOW, _HIGH)
        style.log_axis(panel, "y", np.nanmin(scale * read) * _LOW / 1.5, np.nanmax(scale * peak) * 1.5)
        panel.set(ylabel=label, title=title)
    for panel in grid[-1]:
        panel.set_xlabel("Arithmetic intensity [FLOP/byte]" if columns == 1 else "Intensity [FLOP/byte]")
    absent = "".join(f" Without a {what} in the table: {', '.join(names[np.isnan(scale)])}."
                     for what, scale in zip(("price", "power"), _scales(result)[1:]) if np.isnan(scale).any())
    return (f"Peaks and bandwidths as in the table, single precision; prices in dollars of their year, design power of "
            f"a board or a processor. y = A x has {_PRODUCT:g} operations per byte. Solid: processors, dashed: GPUs, "
            f"dotted: FPGAs.{absent}")
