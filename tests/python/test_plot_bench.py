# SPDX-License-Identifier: Apache-2.0
"""Pictures of benchmarks and machines: roofs, bars and colours from the numbers of the file."""
from __future__ import annotations

import re

import numpy as np
import pytest
from conftest import HOSTILE, ROOT
from files import write
from layout import check_kind, check_layout, draw
from matplotlib.colors import to_hex

import bitbudget
from bitbudget import UsageError

NAN = np.nan


def write_bench(path, names, **columns):
    columns = {"benchmark": names, **columns}
    return bitbudget.open(write(path, {f"results/{name}": (values, ["results/benchmark"], {})
                                       for name, values in columns.items()}, experiment="bench"))


def note_of(fig):
    return fig._supxlabel.get_text().replace("\n", " ").strip()


# -- Roofline ------------------------------------------------------------------------------------


@pytest.fixture
def roofs(tmp_path):
    """Return a step below the ridge, one without a peak, and a benchmark without a roof."""
    return write_bench(tmp_path / "roofs.h5", ["roofline-thermal", f"roofline-cuda-{HOSTILE}", "gemv-fp32"],
                       floor_bytes=[2e6, 1e6, 1e6], floor_flops=[1e6, 4e6, 1e6], flops_per_s=[5e9, 6e11, 1e9],
                       roof_bytes_per_s=[2e10, 2e11, NAN], roof_flops_per_s=[1e11, NAN, NAN])


def test_roofs_and_rates(roofs):
    axes = draw(roofs, "roofline").axes[0]
    roof, mark, slope, other = axes.lines
    low, high = axes.get_xlim()
    assert (low, high) == pytest.approx((0.125, 64.0))  # ridge of the second: four times its intensity
    np.testing.assert_allclose(roof.get_xydata(), [[low, 20 * low], [5, 100], [high, 100]])
    np.testing.assert_allclose(mark.get_xydata(), [[0.5, 5.0]])
    np.testing.assert_allclose(slope.get_xydata(), [[low, 200 * low], [high, 200 * high], [high, 200 * high]])
    np.testing.assert_allclose(other.get_xydata(), [[4.0, 600.0]])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    # The roof is 10 GFLOP/s at 0.5 FLOP/byte, and 800 at 4.
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["thermal, 50 %", f"cuda-{HOSTILE}, 75 %"]
    assert roof.get_color() == mark.get_color() != slope.get_color() == other.get_color()
    assert axes.get_ylabel() == "Rate [GFLOP/s]" and axes.get_xlabel() == "Arithmetic intensity [FLOP/byte]"


def test_rooflines_are_legible(roofs):
    check_kind(roofs, "roofline")


def test_rooflines_need_their_columns(tmp_path):
    names = ["roofline-thermal"]
    short = write_bench(tmp_path / "short.h5", names, roof_bytes_per_s=[1e9])
    with pytest.raises(UsageError, match="benchmarks lack columns"):
        draw(short, "roofline")
    idle = write_bench(tmp_path / "idle.h5", names, floor_bytes=[1.0], floor_flops=[1.0], flops_per_s=[NAN],
                       roof_bytes_per_s=[1e9], roof_flops_per_s=[1e9])
    with pytest.raises(UsageError, match="no roofline benchmark"):
        draw(idle, "roofline")


# -- Kernels -------------------------------------------------------------------------------------


@pytest.fixture
def processor(tmp_path):
    """Return kernels in C and PoCL; the fourth row is no kernel."""
    return write_bench(
        tmp_path / "cpu.h5",
        ["kernel-add-sp-cpu", "kernel-add-dp-cpu", "kernel-gemv-transposed-sp-cpu", "gemv-fp32",
         "kernel-add-sp-opencl"],
        device=["AMD EPYC"] * 3 + ["", "cpu-znver3-AMD EPYC, Portable Computing Language, driver 5.0"],
        against=["copy", "copy", "read", "copy", "copy"], library=["axpy", "axpy", "", "", ""],
        kernel_share=[0.8, 0.75, 0.5, NAN, 0.7], library_ratio=[0.5, 2.0, NAN, NAN, NAN])


@pytest.fixture
def gpu(tmp_path):
    """Return kernels in CUDA and NVIDIA's OpenCL."""
    return write_bench(
        tmp_path / "gpu.h5",
        ["kernel-gemv-transposed-sp-cuda", "kernel-add-sp-cuda", "kernel-add-sp-opencl", "kernel-add-dp-cuda",
         "kernel-emit"],
        device=["NVIDIA H200, 580", "NVIDIA H200, 580", "NVIDIA H200, NVIDIA CUDA, driver 580", "NVIDIA H200, 580", ""],
        against=["read", "copy", "copy", "copy", ""], library=["", "axpy", "", "", ""],
        kernel_share=[0.9, 0.95, 1.2, NAN, NAN], library_ratio=[NAN, 1.25, NAN, NAN, NAN])


def panel(fig, title):
    axes, = (axes for axes in fig.axes if axes.get_title() == title)
    return axes


def bars(axes):
    """Left edge, width, height and colour of the bars of a panel."""
    return [(round(bar.get_x(), 4), round(bar.get_width(), 4), bar.get_height(), to_hex(bar.get_facecolor()))
            for container in axes.containers for bar in container]


def band(axes):
    """Lower and upper edge of the range of the paper: a polygon, or a rectangle from matplotlib 3.9 on."""
    patch = axes.patches[0]
    y = patch.get_patch_transform().transform_path(patch.get_path()).vertices[:, 1]
    return tuple(np.round([y.min(), y.max()], 9))


def library_lines(axes):
    return [tuple(np.round([*line.get_xdata(), line.get_ydata()[0]], 4)) for line in axes.lines
            if np.isfinite(line.get_ydata()[0])]


def test_bars_of_one_file(processor):
    fig = draw(processor, "kernels")
    single, double = panel(fig, "Processors, SP"), panel(fig, "Processors, DP")
    assert bars(single) == [(-0.4, 0.368, 0.8, "#0072b2"), (0.6, 0.368, 0.5, "#0072b2"), (0.0, 0.368, 0.7, "#d55e00")]
    assert bars(double) == [(-0.4, 0.368, 0.75, "#0072b2")]
    assert library_lines(single) == [(-0.4, -0.032, 1.6)] and library_lines(double) == [(-0.4, -0.032, 0.375)]
    assert [text.get_text() for text in single.get_xticklabels()] == ["add", "gemv-transposed"]
    assert band(single) == (0.35, 0.61)
    assert single.get_ylim()[1] > 1.6  # the library
    legend, = (axes.get_legend() for axes in fig.axes if axes.get_legend())
    assert [text.get_text() for text in legend.get_texts()] == [
        "C, AMD EPYC", "PoCL, cpu-znver3-AMD EPYC", "range of the paper", "library on the same data"]
    assert "add, SP, C, AMD EPYC: 0.80 of copy; axpy 1.60" in fig._hovers.values()


def test_bars_of_two_files(processor, gpu):
    fig = draw(processor, "kernels", more=(gpu,))
    single = panel(fig, "GPUs, SP")
    assert bars(single) == [(0.6, 0.368, 0.9, "#009e73"), (-0.4, 0.368, 0.95, "#009e73"), (0.0, 0.368, 1.2, "#cc79a7")]
    assert library_lines(single) == [(-0.4, -0.032, 0.76)]
    assert band(single) == (0.45, 0.80)
    assert "GPUs, DP" not in [axes.get_title() for axes in fig.axes]
    lower = panel(fig, "Processors, DP").get_xticklabels()[0]
    assert lower.get_visible() and lower.get_text() == "add"  # nothing is below
    assert bars(panel(fig, "Processors, SP")) == bars(panel(draw(processor, "kernels"), "Processors, SP"))
    labels = [text.get_text() for axes in fig.axes if axes.get_legend() for text in axes.get_legend().get_texts()]
    assert labels[2:4] == ["CUDA, NVIDIA H200", "NVIDIA OpenCL, NVIDIA H200"]


def test_kernels_are_legible(processor, gpu):
    check_kind(processor, "kernels", more=(gpu,))


def test_files_without_bars_are_refused(processor, tmp_path):
    with pytest.raises(UsageError, match="kernel-add-sp-cpu of C, AMD EPYC is in two files"):
        draw(processor, "kernels", more=(processor,))
    other = write_bench(tmp_path / "other.h5", ["gemv-fp32"], device=["AMD"])
    with pytest.raises(UsageError, match="file 2 is not a file of 'bitbudget-bench'"):
        draw(processor, "kernels", more=(other,))
    alien = write_bench(tmp_path / "alien.h5", ["kernel-add-hp-cpu"], device=["AMD"], kernel_share=[0.5])
    with pytest.raises(UsageError, match="no results of benchmarks kernel-"):
        draw(alien, "kernels")
    with pytest.raises(UsageError, match="several files need --kind kernels"):
        draw(write_bench(tmp_path / "r.h5", ["a"], roof_bytes_per_s=[1.0]), "roofline", more=(processor,))


@pytest.mark.parametrize("kernels, devices, message", [(25, 1, "25 kernels, the limit of the picture is 24"),
                                                      (1, 7, "7 back ends and devices, the limit of the picture is 6")])
def test_too_many_bars_are_refused(tmp_path, kernels, devices, message):
    names = [f"kernel-k{i}-sp-cpu" for i in range(kernels) for _ in range(devices)]
    many = write_bench(tmp_path / "many.h5", names, device=[f"AMD {i}" for _ in range(kernels) for i in range(devices)],
                       kernel_share=np.ones(len(names)))
    with pytest.raises(UsageError, match=message):
        draw(many, "kernels")


def test_the_most_bars_are_legible(tmp_path):
    names = [f"kernel-gemv-transposed-{i}-{kind}-cpu" for i in range(24) for kind in ("sp", "dp") for _ in range(6)]
    most = write_bench(tmp_path / "most.h5", names, device=[f"processor of {i}" for _ in range(48) for i in range(6)],
                       kernel_share=np.linspace(0, 1, len(names)))
    for width in (8.5, 17.0):
        check_layout(draw(most, "kernels", size=width))


# -- Machines ------------------------------------------------------------------------------------

TABLE = """title: two
machines:
  - {name: "h'\\"<b>&3_$x$", kind: gpu, year: 2020, single_gflop_per_s: 1000, memory: HBM2, memory_gb_per_s: 600,
     memory_gb: 16, power_w: 250, source: a sheet, price_usd: 2000, price_year: 2021, price_source: a list}
  - {name: slow, kind: fpga, year: 2018, single_gflop_per_s: 20, memory: HBM2, memory_gb_per_s: 100, memory_gb: 8,
     source: a sheet}
"""


def test_rooflines_of_machines(tmp_path):
    (tmp_path / "table.yaml").write_text(TABLE)
    fig = draw(bitbudget.open(tmp_path / "table.yaml"), "machines")
    price = panel(fig, "Per price")
    limit, roof, mark = price.lines
    assert limit.get_xdata() == [0.5, 0.5]
    np.testing.assert_allclose(roof.get_xydata(), [[0.1, 30], [1000 / 600, 500], [100, 500]])  # MFLOP/s/USD
    np.testing.assert_allclose(mark.get_xydata(), [[0.5, 150]])
    whole = panel(fig, "Absolute")
    np.testing.assert_allclose(whole.lines[1].get_xydata(), [[0.1, 60], [1000 / 600, 1000], [100, 1000]])
    np.testing.assert_allclose(whole.lines[3].get_xydata(), [[0.1, 10], [0.2, 20], [100, 20]])
    np.testing.assert_allclose(whole.lines[4].get_xydata(), [[0.5, 20]])
    np.testing.assert_allclose(panel(fig, "Per power").lines[2].get_xydata(), [[0.5, 1.2]])
    assert (whole.get_ylabel(), price.get_ylabel()) == ("Rate [GFLOP/s]", "Rate [MFLOP/s/USD]")
    assert panel(fig, "Per power").get_ylabel() == "Rate [GFLOP/s/W]"
    assert "Without a price in the table: slow. Without a power in the table: slow." in note_of(fig)
    labels = [text.get_text() for axes in fig.axes if axes.get_legend() for text in axes.get_legend().get_texts()]
    assert labels == [HOSTILE, "slow", "y = A x"]


def test_unknown_prices_leave_a_panel_out(tmp_path):
    (tmp_path / "table.yaml").write_text(re.sub(r"price_\w+: [^,}]+[,]?", "", TABLE).replace(", }", "}"))
    fig = draw(bitbudget.open(tmp_path / "table.yaml"), "machines")
    assert [axes.get_title() for axes in fig.axes if axes.lines] == ["Absolute", "Per power"]


def test_shipped_machines_have_distinct_colours():
    for fig in check_kind(bitbudget.open(ROOT / "configs" / "machines.yaml"), "machines"):
        roofs = [line for line in panel(fig, "Absolute").lines if len(line.get_xdata()) == 3]
        assert len(roofs) >= 10 and len({line.get_color() for line in roofs}) == len(roofs)


def test_too_many_machines_are_refused(tmp_path):
    rows = "".join(f"  - {{name: m{i}, kind: cpu, year: 2020, single_gflop_per_s: {i + 1}, memory: DDR4, "
                   "memory_gb_per_s: 1, memory_gb: 1, source: s}\n" for i in range(25))
    (tmp_path / "table.yaml").write_text(f"title: many\nmachines:\n{rows}")
    with pytest.raises(UsageError, match="25 machines, the limit of the picture is 24"):
        draw(bitbudget.open(tmp_path / "table.yaml"), "machines")
    (tmp_path / "table.yaml").write_text(f"title: many\nmachines:\n{rows.rsplit('  - ', 1)[0]}")
    check_layout(draw(bitbudget.open(tmp_path / "table.yaml"), "machines", size=8.5))
