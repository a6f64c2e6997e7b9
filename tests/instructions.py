#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instruction counts of the CPU kernels against a baseline: instructions.py BENCH PROGRAM BASELINE [--record]

Each row of the baseline is a benchmark at test size, on one thread under callgrind: the mean
instructions of a call of `function`, including its callees. Valgrind emulates AVX2 and OpenBLAS
uses its Haswell kernels, so that the counts depend only on the program and its compiler. --record
rewrites the baseline. Exit 1: a row needs over 3 % more than the baseline. Exit 77: skipped,
because valgrind is missing or the compiler differs from that of the baseline; the counts are still
printed.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

LIMIT = 0.03


def compiler_of(program):
    printed = subprocess.run([program, "info"], capture_output=True, text=True, check=True).stdout
    return ", ".join(re.search(rf"^  {word} +(.*)", printed, re.M).group(1) for word in ("compiler", "flags"))


def instructions_of(profile, function):
    """(calls, instructions including callees) of a function in a callgrind file."""
    names, callee, calls, total, counting = {}, None, 0, 0, False
    for line in profile.splitlines():
        if match := re.match(r"c?fn=\((\d+)\)(?: (.*))?", line):
            if match.group(2):
                names[match.group(1)] = match.group(2)
            callee = names[match.group(1)]
        elif match := re.match(r"calls=(\d+)", line):
            counting = callee == function
            calls += int(match.group(1)) if counting else 0
        elif counting:
            total += int(line.split()[1])
            counting = False
    return calls, total


def groups_of(rows):
    """Groups rows by process, so that no process runs a function twice."""
    groups = []
    for row in rows:
        free = [group for group in groups if all(one["function"] != row["function"] for one in group)]
        if free:
            free[0].append(row)
        else:
            groups.append([row])
    return groups


def measure(program, group, folder):
    """Instructions per call by row name."""
    profile = pathlib.Path(folder, "profile")
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", program,
               *(row["name"] for row in group), "--quick", "--threads", "1", "--device", "cpu", "-q", "--force", "-o", f"{folder}/bench.h5"]
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", OPENBLAS_CORETYPE="Haswell", BITBUDGET_CACHE="off")
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nends with {done.returncode}:\n{done.stdout}{done.stderr}")
    text, counts = profile.read_text(encoding="utf-8"), {}
    for row in group:
        calls, total = instructions_of(text, row["function"])
        if calls == 0:
            sys.exit(f"{row['name']}: {row['function']} is not called")
        counts[row["name"]] = round(total / calls)
    return counts


def record(path, compiler, rows):
    lines = ["# Instructions of a call of the CPU's kernels: tests/instructions.py BENCH PROGRAM THIS --record",
             f'compiler: "{compiler}"', "rows:"]
    lines += [f"  - {{name: {row['name']}, function: {row['function']}, instructions: {row['instructions']}}}"
              for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    program, path = sys.argv[1], pathlib.Path(sys.argv[3])
    if shutil.which("valgrind") is None:
        print("skipped: no valgrind here; ./setup test-full installs it")
        return 77
    baseline = yaml.safe_load(path.read_text(encoding="utf-8"))
    compiler, faults = compiler_of(sys.argv[2]), 0
    same = compiler == baseline["compiler"]
    if not same:
        print(f"not compared: this is {compiler}, the baseline {baseline['compiler']}")
    with tempfile.TemporaryDirectory() as folder:
        counts = {}
        for group in groups_of(baseline["rows"]):
            counts.update(measure(program, group, folder))
        for row in baseline["rows"]:
            count = counts[row["name"]]
            change = count / row["instructions"] - 1.0
            slower = same and change > LIMIT
            faults += slower
            print(f"{row['name']:20} {row['instructions']:12} {count:12} {100 * change:+7.2f} %"
                  + (f"  MORE than {100 * LIMIT:.0f} %" if slower else ""))
            row["instructions"] = count
    if "--record" in sys.argv[4:]:
        record(path, compiler, baseline["rows"])
        return 0
    return 1 if faults else 0 if same else 77


if __name__ == "__main__":
    sys.exit(main())
