#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every page and script of examples/ as a user does: examples.py PROGRAM SOURCE FOLDER.

The walk-through computes its three results itself; the scripts read them. Their output is compared
with the program's own summary of the same files. tests/readers.py then opens every group of all
files.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import xarray
    import netCDF4  # noqa: F401
    import h5netcdf  # noqa: F401
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

PROGRAM, SOURCE, FOLDER = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
ENVIRONMENT = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
               "BITBUDGET_SHARE": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1"}

NIGHTS = """
experiment: ao
device: cpu
telescope: {diameter_m: 8.0, obstruction: 0.14}
atmosphere: {profile: moao-2, outer_scale_m: 25.0}
sensors: {lenslets: 5}
guide_stars:
  - {kind: lgs, ring: {count: 3, radius_arcsec: 20.0}, altitude_km: 90.0}
  - {kind: ngs, x_arcsec: -16.0, y_arcsec: -36.0, magnitude: 11.0}
targets:
  - {x_arcsec: 0.0, y_arcsec: 0.0}
wavelengths_um: [1.65]
solver: {tile: 32}
pipelines:
  - {name: reference, arithmetic: dp}
  - {name: hp1, arithmetic: hp1}
sweep:
  axes:
    atmosphere.seeing_arcsec: [0.5, 0.6]
    telescope.zenith_angle_deg: [0, 10]
"""


def call(*command):
    """Runs a command, which must succeed, and returns its output."""
    done = subprocess.run([str(word) for word in command], cwd=FOLDER, env=ENVIRONMENT, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def example(name, *arguments):
    print(f"{name} {' '.join(arguments)}", flush=True)
    return call(sys.executable, SOURCE / "examples" / name, *arguments)


def answer(file, *options):
    """The program's summary sentence of a file."""
    return json.loads(call(PROGRAM, "show", file, "--format", "json", *options))["files"][0]["answer"]


def number(pattern, text):
    found = re.search(pattern, text)
    assert found, f"no '{pattern}' in:\n{text}"
    return float(found.group(1))


def word(pattern, text):
    found = re.search(pattern, text)
    assert found, f"no '{pattern}' in:\n{text}"
    return found.group(1)


def close(got, expected, digits=3):
    """Checks that two numbers agree to the given number of digits."""
    assert abs(got - expected) <= 10.0 ** (1 - digits) * abs(expected), (got, expected)


def walk_through():
    page = (SOURCE / "examples" / "walk_through.py").read_text(encoding="utf-8")
    cells = re.split(r"^# %%", page, flags=re.M)[1:]
    for cell in cells:
        kind, _, body = cell.partition("\n")
        is_words = kind.strip() == "[markdown]"
        assert is_words or kind.strip() == "", kind
        assert not is_words or all(line.startswith("#") or not line for line in body.splitlines()), body
    text = example("walk_through.py")
    assert len(re.findall(r"^(reference|sp|tf32|bf16|hp1|hp2|hp2-band-3|hp3-band-3) ", text, re.M)) >= 8
    saying = answer("ao.h5")
    close(number(r"reference +ok +([0-9.]+)", text), number(r"Strehl ratio ([0-9.]+)", saying))
    # The half-maximum width must agree with that of the pixels.
    width = number(r"FWHM ([0-9.]+) mas", text)
    pixels = number(r"mas; ([0-9]+) pixels", text) * number(r"pixels of ([0-9.]+) mas", text)
    assert 0.5 * width < pixels < 1.5 * width, text
    best = word(r"under 0.1 nm at every dose: (\S+),", text)
    saying = answer("doses.h5", "--max-loss", "0.1")
    assert f"at every condition: {best}," in saying, saying
    close(number(r"every dose: .* at worst ([0-9.e-]+) nm", text), number(r"at worst ([0-9.e-]+)", saying), 2)
    # The loss of storage alone is proportional to the dose, so the printed ratio is constant.
    low, high = re.search(r"bfp8: ([0-9.e-]+) to ([0-9.e-]+) nm", text).groups()
    close(float(low), float(high), 2)


def ao_strehl():
    text = example("ao_strehl_by_pipeline.py", "ao.h5", "1e-3")
    best = word(r"fewest bytes within 0.001 of Strehl ratio: (\S+),", text)
    saying = answer("ao.h5", "--max-loss", "1e-3")
    assert f"within strehl loss 0.001: {best} " in saying, saying
    assert "8 m telescope, 16 lenslets across, 5 guide stars: lgs, lgs, lgs, ngs, ngs" in text, text
    assert "target 1 at (6, -4) arcsec" in text, text
    close(number(r"target 0 at .*: ([0-9.]+),", text), number(r"Strehl ratio ([0-9.]+)", saying), 4)


def wafer_error():
    text = example("wafer_error_by_field.py", "wafer.h5", "bfp8")
    data = xarray.open_dataset(FOLDER / "wafer.h5").sel(pipeline="bfp8")
    largest = max(float(data.overlay_error_x_nm), float(data.overlay_error_y_nm))
    close(number(r"overlay error ([0-9.e-]+) nm", text), largest)
    assert "30 mJ/cm2, mesh of 4 mm, pipeline bfp8" in text, text
    # Three edge fields, those that the study exposes.
    assert len(re.findall(r"^  field (6|8|14) at \(", text, re.M)) == 3, text
    raw = [float(n) for n in re.search(r"  raw: (\S+), (\S+)", text).groups()]
    assert abs(max(raw) - largest) <= 0.5 * largest, (raw, largest)
    rings = [float(n) for n in re.findall(r" mm: ([0-9.e-]+)$", text, re.M)][3:]
    assert rings and 0.0 < max(rings) < largest, text
    # Without an argument the script must select the same pipeline as the program.
    best = word(r"Fewest bytes within [^:]*: (\S+) \(", answer("wafer.h5", "--max-loss", "0.1"))
    text = example("wafer_error_by_field.py", "wafer.h5")
    assert f"pipeline {best}:" in text, text


def wafer_map():
    text = example("wafer_error_map.py", "wafer.h5", "map.svg")
    picture = (FOLDER / "map.svg").read_text(encoding="utf-8")
    assert "11 maps of 3 fields" in text and picture.count("<rect") == 33 and picture.count("<circle") == 11, text
    least, largest = (float(n) for n in re.search(r">bfp8</text>\n<text[^>]*>(\S+) to (\S+) nm<", picture).groups())
    fields = xarray.open_dataset(FOLDER / "wafer.h5", group="results").field_m3s_nm.sel(
        pipeline="bfp8", error="numerical", direction="vector")
    close(least, float(fields.min()), 2)
    close(largest, float(fields.max()), 2)


def sweep_worst():
    text = example("sweep_worst_by_pipeline.py", "doses.h5")
    assert "5 points: 5 done" in text, text
    data = xarray.open_dataset(FOLDER / "doses.h5").overlay_error_x_nm.sel(pipeline="bfp8")
    close(number(r"bfp8: fails at 0 of 5, at worst (\S+) at dose_mj_per_cm2 60", text), float(data.max()))
    # A sweep over two keys prints a map, in which small losses keep their digits.
    (FOLDER / "nights.yaml").write_text(NIGHTS, encoding="utf-8")
    call(PROGRAM, "sweep", "nights.yaml", "-o", "nights.h5", "-q")
    text = example("sweep_worst_by_pipeline.py", "nights.h5")
    name = word(r"(\S+), rows seeing_arcsec, columns zenith_angle_deg:", text)
    printed = [float(n) for n in re.findall(r"[0-9.e-]+", text[text.index("[["):])]
    data = xarray.open_dataset(FOLDER / "nights.h5").strehl_loss.sel(pipeline=name)
    assert len(printed) == data.size == 4 and 0.0 < float(data.max()) < 1e-3, text
    for got, expected in zip(printed, data.values.ravel()):
        close(got, float(expected))


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    walk_through()
    ao_strehl()
    wafer_error()
    wafer_map()
    sweep_worst()
    known = {"walk_through.py", "ao_strehl_by_pipeline.py", "wafer_error_by_field.py",
             "wafer_error_map.py", "sweep_worst_by_pipeline.py"}
    lone = {path.name for path in (SOURCE / "examples").glob("*.py")} - known
    assert not lone, f"not run: {lone}"
    # The small studies have groups that the quick ones lack: operators, and a product.
    small = SOURCE / "tests" / "configs" / "small"
    call(PROGRAM, "run", small / "ao.yaml", "-q", "-o", "small.h5", "--dump", "R,pupil", "images=all")
    call(PROGRAM, "run", small / "wafer.yaml", "-q", "-o", "rows.h5", "--dump", "rows")
    call(PROGRAM, "run", small / "product.yaml", "-q", "-o", "product.h5", "matrix.file=rows.h5")
    files = ("ao.h5", "wafer.h5", "doses.h5", "small.h5", "rows.h5", "product.h5")
    print(call(sys.executable, SOURCE / "tests" / "readers.py", *files), end="")
    shutil.rmtree(FOLDER)
    print("examples: all say what the program says")


if __name__ == "__main__":
    main()
