#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the pictures of first-results.md with a new run: pictures.py SOURCE PROGRAM FOLDER [--write]

The commands of plotting blocks run in FOLDER, and each picture is compared with that of
docs/pictures: same marks and texts at the same positions, to a sixtieth of the page width. Date,
version and digest in the small print may differ. BLAS uses the instructions common to all x86-64
processors, because the last rounding decides which conditions lose definiteness under tf32. --write
replaces the stored pictures that differ.
"""
import os
import pathlib
import re
import shutil
import sys

import console

SMALL_PRINT = re.compile(r"bitbudget\s[\w.+-]+,\s[\d-]+,\sresults\s[0-9a-f]+")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
COLOUR = re.compile(r"#[0-9a-fA-F]{6}|rgb\([^)]*\)")  # colours of cells, whose values are printed too
PLACE, SHARE = 10.0, 0.05  # tolerances of positions, for pages about 600 wide, and of printed numbers


def same_picture(one, other):
    """Empty string if two pictures agree, otherwise the first difference."""
    one, other = (SMALL_PRINT.sub("<small print>", text).splitlines() for text in (one, other))
    if len(one) != len(other):
        return f"{len(one)} lines, {len(other)} when drawn"
    for number, (kept, drawn) in enumerate(zip(one, other), 1):
        if "base64" in kept and "base64" in drawn:
            continue  # pixels of a map; the values of its cells are texts
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
