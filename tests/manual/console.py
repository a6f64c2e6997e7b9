#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a manual page and compares their output with that shown in the page.

    console.py PAGE.md PROGRAM FOLDER [--update]

In the page, in order:

- a block ```LANGUAGE NAME is a file that the reader writes; it is stored as FOLDER/NAME;
- a block ```console has lines `$ command` (a `\` at the end continues the line, as in a shell),
  each followed by its output from both streams. A line `...` matches any lines, `...` within a
  line any text. A number before a unit of time matches any number. Numbers that are not integers
  may differ by 2 %, as rounding differs between processors, or by a factor of 100 below 1e-6,
  where rounding dominates. In counts K/N, such as failed points, K may differ by a tenth of N,
  because rounding decides borderline cases; but none must stay none, and all must stay all.

GPUs are hidden, because their numbers differ from those of a processor, and BLAS uses one thread,
as in all tests.

A command with an exit code other than 0 is a failure. --update replaces outputs that differ in the
page; read them before committing. Exit 1: the page differs, with the differences printed.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

SECONDS = 300
FENCE = re.compile(r"^```(\S*)(?: (\S+))?\s*$")
NUMBER = re.compile(r"[-+]?(?:\d+\.\d+(?:e[-+]?\d+)?|\d+(?:e[-+]?\d+)?)(?![\w.])", re.IGNORECASE)
TIME = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)? ?(?:ms|min|s|h)\b|\d{4}-\d\d-\d\dT[\d:]+Z?|\b\d+:\d\d(?::\d\d)?\b")
COUNT = re.compile(r"(?<![\w./])(\d+)/(\d+)(?![\w./])")
ROUNDING, SHARE, FACTOR, EDGE = 1e-6, 0.02, 100.0, 0.1


class Step:
    """A command of the page with its output shown there."""

    def __init__(self, line, command):
        self.line, self.command, self.shown = line, command, []


class Block:
    """A block of the page: a file to write, or steps; [first, last) is the range of its lines."""

    def __init__(self, language, name, first):
        self.language, self.name, self.first, self.last = language, name, first, first
        self.lines, self.steps = [], []


def blocks_of(text):
    """Blocks to write or run, in page order."""
    found, block = [], None
    for number, line in enumerate(text.splitlines()):
        fence = FENCE.match(line)
        if block is None and fence:
            block = Block(fence.group(1), fence.group(2), number + 1)
        elif block is not None and line.rstrip() == "```":
            block.last = number
            if block.language == "console":
                block.steps = steps_of(block)
            if block.language == "console" or block.name:
                found.append(block)
            block = None
        elif block is not None:
            block.lines.append(line)
    return found


def steps_of(block):
    steps, goes_on = [], False
    for number, line in enumerate(block.lines):
        if goes_on:
            steps[-1].command += "\n" + line
        elif line.startswith("$ "):
            steps.append(Step(block.first + number, line[2:]))
        elif steps:
            steps[-1].shown.append(line)
        goes_on = bool(steps) and not steps[-1].shown and line.endswith("\\")
    return steps


def same_number(one, other):
    if one == other:
        return True
    if not re.search(r"[.e]", one, re.IGNORECASE) and not re.search(r"[.e]", other, re.IGNORECASE):
        return False
    a, b = float(one), float(other)
    if a == 0 or b == 0 or (a < 0) != (b < 0):
        return abs(a - b) < ROUNDING
    if max(abs(a), abs(b)) < ROUNDING:
        return 1 / FACTOR < a / b < FACTOR
    return abs(a - b) <= SHARE * max(abs(a), abs(b))


def same_counts(shown, printed):
    """Whether the counts K/N of two lines agree, and both lines without their counts."""
    one, other = COUNT.findall(shown), COUNT.findall(printed)
    close = len(one) == len(other) and all(
        n == m and (j == k or (0 < int(j) < int(n) and 0 < int(k) < int(n)
                               and abs(int(j) - int(k)) <= EDGE * int(n)))
        for (j, n), (k, m) in zip(one, other))
    return close, COUNT.sub("<count>", shown), COUNT.sub("<count>", printed)


def pattern_of(line):
    """Regular expression of a line of the page whose groups are its numbers, and these numbers."""
    pattern, numbers = "", []
    for piece in re.split(r"(\.\.\.)", " ".join(TIME.sub("<time>", line).split())):
        if piece == "...":
            pattern += ".*?"
            continue
        end = 0
        for number in NUMBER.finditer(piece):
            pattern += re.escape(piece[end:number.start()]) + f"({NUMBER.pattern})"
            numbers.append(number.group())
            end = number.end()
        pattern += re.escape(piece[end:])
    return re.compile(pattern + r"\Z", re.IGNORECASE), numbers


def same_line(shown, printed):
    close, shown, printed = same_counts(shown, printed)
    if not close and "..." not in shown:
        return False
    expression, numbers = pattern_of(shown)
    match = expression.match(" ".join(TIME.sub("<time>", printed).split()))
    return match is not None and all(map(same_number, numbers, match.groups()))


def same_lines(shown, printed):
    """Whether the lines of the page, which may include `...`, match the output."""
    reach = {0}  # possible numbers of output lines matched so far
    for line in shown:
        if line.strip() == "...":
            reach = set(range(min(reach), len(printed) + 1))
        else:
            reach = {k + 1 for k in reach if k < len(printed) and same_line(line, printed[k])}
        if not reach:
            return False
    return len(printed) in reach


def run_page(text, program, folder):
    """Yields (block, step, printed lines, exit status) of every command."""
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    tools = folder / ".bin"
    tools.mkdir(parents=True)
    for name in ("bitbudget", "bitbudget-bench"):
        (tools / name).symlink_to(pathlib.Path(program).resolve().parent / name)
    environment = dict(os.environ, PATH=f"{tools.resolve()}:{os.environ['PATH']}", COLUMNS="100",
                       CUDA_VISIBLE_DEVICES="", OPENBLAS_NUM_THREADS="1")
    for block in blocks_of(text):
        if block.name:
            (folder / block.name).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.name).write_text("\n".join(block.lines) + "\n", encoding="utf-8")
        for step in block.steps:
            done = subprocess.run(["bash", "-c", step.command], cwd=folder, env=environment, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=SECONDS, errors="replace")
            yield block, step, [line.rstrip() for line in done.stdout.splitlines()], done.returncode


def update(path, text, corrections):
    lines = text.splitlines()
    for step, printed in sorted(corrections, key=lambda each: -each[0].line):
        start = step.line + 1 + step.command.count("\n")
        lines[start:start + len(step.shown)] = printed
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    path, program, folder = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    text = path.read_text(encoding="utf-8")
    count, faults, corrections = 0, 0, []
    for _, step, printed, status in run_page(text, program, folder):
        count += 1
        if status == 0 and same_lines(step.shown, printed):
            continue
        faults += 1
        print(f"{path.name}:{step.line + 1}: $ {step.command}\n--- the page shows", *step.shown,
              f"--- it prints, and ends with {status}", *printed, "---", sep="\n")
        if status != 0:
            break
        corrections.append((step, printed))
    if "--update" in sys.argv[4:]:
        update(path, text, corrections)
    if count == 0:
        sys.exit(f"{path.name}: no command in it")
    print(f"{path.name}: {count} commands, {faults} of them do not hold")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
