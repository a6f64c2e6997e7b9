#!/usr/bin/env python3
"""Report the size of interfaces as tables in Markdown: report.py [ROOT]

Public functions per room, headers with at most one user, public functions without a caller outside
their own source, and the longest files. A report, not a test: the exit code is 0. Names that a
macro builds with ## are not seen; search for a function before you delete it.
"""
import collections
import pathlib
import re
import signal
import sys

LAYERS = ("core", "precision", "physics", "solvers", "sim", "bench")
SOURCES = {".c", ".h", ".cu", ".cuh", ".cl"}
MAX_FUNCTIONS = 60  # target for the number of public functions of a room
LONGEST = 20
COMMENT_OR_STRING = re.compile(
    r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//(?:\\\n|[^\n])*|/\*.*?\*/', re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
NAME = re.compile(r"\bbb_\w+")
# A declaration or definition at file scope up to its parameters, followed by ; or {.
HEAD = re.compile(r'^(?!typedef\b)[A-Za-z_][\w\s*"]*?\b(bb_\w+)\(', re.MULTILINE)
HEAD_END = re.compile(r"[;{]")


class Source:
    """A file: its includes, the functions it declares or defines, and its uses of names."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        self.lines = len(text.splitlines())
        code = COMMENT_OR_STRING.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)
        self.includes = set(INCLUDE.findall(code))
        code = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', code)
        self.uses = collections.Counter(NAME.findall(code))
        self.declared, self.defined = set(), set()
        for head in HEAD.finditer(code):
            end = HEAD_END.search(code, head.end())
            (self.defined if end and end[0] == "{" else self.declared).add(head[1])
            self.uses[head[1]] -= 1


def read_sources(root, layers):
    return {path.relative_to(root).as_posix(): Source(path) for layer in layers
            for path in sorted((root / layer).rglob("*")) if path.suffix in SOURCES}


def print_table(title, columns, rows):
    cells = [columns, *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    cells.insert(1, ["-" * width for width in widths])
    print(f"\n## {title}\n")
    for row in cells if rows else []:
        print(f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths))} |")


def print_rooms(functions):
    rooms = collections.Counter(header.rpartition("/")[0] for header in functions.values())
    rows = [(room, count, "above" if count > MAX_FUNCTIONS else "")
            for room, count in rooms.most_common()]
    print_table(f"Public functions per room: {len(functions)} in {len(rooms)} rooms",
                ("room", "functions", f"aim {MAX_FUNCTIONS}"), rows)


def print_headers(sources):
    headers = [name for name in sources if name.endswith(".h")]
    users = collections.defaultdict(list)
    for name, source in sources.items():
        own = str(pathlib.PurePath(name).with_suffix(".h"))
        for header in source.includes - {own}:
            users[header].append(name)
    rows = [(header, *users[header]) for header in headers if len(users[header]) == 1]
    print_table(f"Headers with one user next to their own source: {len(rows)} of {len(headers)}",
                ("header", "user"), rows)
    rows = [(header,) for header in headers if not users[header]]
    print_table(f"Headers without a user next to their own source: {len(rows)}", ("header",), rows)


def print_callers(functions, sources, tests):
    definers, callers = collections.defaultdict(set), collections.defaultdict(set)
    for name, source in sources.items():
        for function in source.defined:
            definers[function].add(name)
        for function, count in source.uses.items():
            if count > 0:
                callers[function].add(name)
    tested = {function for source in tests.values() for function in source.uses}
    rows = collections.defaultdict(list)
    for function, header in sorted(functions.items(), key=lambda item: (item[1], item[0])):
        own = bool(callers[function])
        if callers[function] - definers[function] or own and header in definers[function]:
            continue  # called by another file, or inline in its header
        rows[own, function in tested].append((function, header))
    for title, key in (("not used anywhere", (False, False)), ("used by tests only", (False, True)),
                       ("used by their own source and tests only", (True, True)),
                       ("used by their own source only, could be static", (True, False))):
        print_table(f"Public functions {title}: {len(rows[key])}", ("function", "header"),
                    rows[key])


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as in report.py | head
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    sources, tests = read_sources(root, LAYERS), read_sources(root, ["tests"])
    functions = {function: name for name, source in sources.items() if name.endswith(".h")
                 for function in source.declared | source.defined}
    lines = sum(source.lines for source in sources.values())
    print(f"# Report: {lines} lines in {len(sources)} files, tests not counted")
    print_rooms(functions)
    print_headers(sources)
    print_callers(functions, sources, tests)
    longest = sorted(((source.lines, name) for name, source in {**sources, **tests}.items()),
                     reverse=True)
    print_table(f"The {LONGEST} longest files", ("lines", "file"), longest[:LONGEST])


if __name__ == "__main__":
    main()
