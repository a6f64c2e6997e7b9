#!/usr/bin/env python3
"""Compare the page of result files with the program: outputs.py PROGRAM BENCH PAGE [--write].

Every table printed by `PROGRAM outputs --list` and `BENCH --datasets` must be in the page, with the
same text, heading, position under the heading and preceding sentence; the page must have no other
tables of datasets. --write first replaces the tables in the page.
"""
import itertools
import pathlib
import re
import subprocess
import sys

HEADER = "| dataset | dimensions | unit | meaning |"


class Table:
    """Rows of a table of datasets and the prose before it."""

    def __init__(self, title, first, prose):
        self.title, self.first, self.rows = title, first, []
        self.prose = " ".join(" ".join(prose).split())


def tables_of(lines):
    """Maps (heading, index under it) to the Table, from lines of Markdown."""
    found, title, prose = {}, "", []
    for number, line in enumerate(lines):
        if line.startswith("## "):
            title, prose = line[3:], []
        elif line == HEADER:
            place = next(k for k in itertools.count() if (title, k) not in found)
            table = found[title, place] = Table(title, number, prose)
            table.rows = list(itertools.takewhile(lambda row: row.startswith("|"), lines[number:]))
            prose = []
        elif not line.startswith("|"):
            prose.append(line)
    return found


def write(page, printed, lines):
    for key, table in sorted(page.items(), key=lambda item: -item[1].first):
        if key in printed:
            lines[table.first : table.first + len(table.rows)] = printed[key].rows


def complaints(name, page, printed):
    for (title, place), table in printed.items():
        its = page.get((title, place))
        if its is None:
            yield f"{name}: no table {place + 1} of datasets under '## {title}', which is printed"
            continue
        for k, (here, there) in enumerate(itertools.zip_longest(its.rows, table.rows)):
            if here != there:
                yield f"{name}:{its.first + k + 1}: '{here}', printed is '{there}'"
                break
        for row in table.rows:
            if len(re.findall(r"(?<!\\)\|", row)) != 5:
                yield f"{name}: a row of four cells is torn by a '|' in its text: '{row}'"
        if table.prose not in its.prose:
            yield f"{name}:{its.first + 1}: '{table.prose}' is printed above it, not there"
    for (title, place), table in page.items():
        if (title, place) not in printed:
            yield f"{name}:{table.first + 1}: table {place + 1} under '## {title}' is not printed"


def main():
    program, bench, name = sys.argv[1:4]
    path = pathlib.Path(name)
    commands = [program, "outputs", "--list"], [bench, "--datasets"]
    output = "".join(subprocess.run(command, check=True, capture_output=True, text=True).stdout
                     for command in commands)
    printed = tables_of(output.splitlines())
    lines = path.read_text(encoding="utf-8").splitlines()
    if "--write" in sys.argv[4:]:
        write(tables_of(lines), printed, lines)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = list(complaints(path.name, tables_of(lines), printed))
    print("\n".join(found) or f"outputs: {len(printed)} tables of {path.name} are what is printed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
