#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures of first-results.md are what its commands make: pictures.py SOURCE PROGRAM FOLDER [--write]

The commands of the blocks that plot are typed in FOLDER, and each picture is compared with the one that
docs/pictures keeps: the same marks and texts at the same places, to a sixtieth of the page. Its
small print may have another day, version and digest. BLAS takes the instructions that every x86-64
has: which conditions lose definiteness under tf32 is a matter of the last rounding, and differs by
processor. With --write those that differ are put in the place of those that are kept.
"""
import os
import pathlib
import re
import shutil
import sys

import console

SMALL_PRINT = re.compile(r"bitbudget [\w.+-]+, [\d-]+, results [0-9a-f]+")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
COLOUR = re.compile(r"#[0-9a-fA-F]{6}|rgb\([^)]*\)")  # of cells, which say their numbers
PLACE, SHARE = 10.0, 0.05  # of places, on a page some 600 wide, and of numbers that are printed


def same_picture(one, other):
    """'' where two pictures show the same, else where they first differ."""
    one, other = (SMALL_PRINT.sub("<small print>", text).splitlines() for text in (one, other))
    if len(one) != len(other):
        return f"{len(one)} lines, {len(other)} when drawn"
    for number, (kept, drawn) in enumerate(zip(one, other), 1):
        if "base64" in kept and "base64" in drawn:
            continue  # pixels of a map: its cells say their numbers beside
        a, b = (NUMBER.findall(COLOUR.sub("", line)) for line in (kept, drawn))
        bare = [NUMBER.sub("", COLOUR.sub("", line)) for line in (kept, drawn)]
        close = len(a) == len(b) and all(
            abs(float(x) - float(y)) <= max(SHARE * abs(float(x)), PLACE * ("." in x and abs(float(x)) >= 1))
            for x, y in zip(a, b))
        if bare[0] != bare[1] or not close:
            return f"line {number}: '{kept}', '{drawn}' when drawn"
    return ""


def main():
    source, program, folder = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], pathlib.Path(sys.argv[3])
    if shutil.which("gnuplot") is None:
        print("skipped: no gnuplot here; ./setup installs it")
        return 77
    os.environ["BITBUDGET_SHARE"] = str(source)
    os.environ["OPENBLAS_CORETYPE"] = "Prescott"
    text = (source / "docs/manual/first-results.md").read_text(encoding="utf-8")
    blocks = [block for block in console.blocks_of(text)
              if any("bitbudget plot" in line for line in block.lines)]
    page = "\n".join("```console\n" + "\n".join(block.lines) + "\n```" for block in blocks)
    for _, step, printed, status in console.run_page(page, program, folder):
        if status != 0:
            sys.exit(f"$ {step.command}\nends with {status}:\n" + "\n".join(printed))
    kept = sorted((source / "docs" / "pictures").glob("*.svg"))
    drawn = sorted(folder.glob("*.svg"))
    faults = [] if [file.name for file in kept] == [file.name for file in drawn] else [
        f"kept are {[file.name for file in kept]}, the page draws {[file.name for file in drawn]}"]
    for file in drawn:
        there = source / "docs" / "pictures" / file.name
        fault = same_picture(there.read_text(encoding="utf-8"), file.read_text(encoding="utf-8")) \
            if there.is_file() else "is not kept"
        if fault and "--write" in sys.argv[4:]:
            shutil.copy(file, there)
        elif fault:
            faults.append(f"{file.name}: {fault}")
    print("\n".join(faults) or f"{len(drawn)} pictures are what the page's commands draw")
    return 1 if faults or not drawn else 0


if __name__ == "__main__":
    sys.exit(main())
