#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that links have valid targets.

    links.py SOURCE         relative links and anchors of all Markdown pages
    links.py --html FOLDER  those of rendered pages, which must load nothing from other hosts
"""
import html.parser
import pathlib
import re
import sys
import urllib.parse

PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "outputs/README.md", "docs/**/*.md"]
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


def without_code(text):
    """Lines of the text without code blocks and code spans."""
    lines, inside = [], False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        inside ^= fence
        lines.append("" if inside or fence else re.sub(r"`[^`]*`", "", line))
    return lines


def anchors_of(text):
    """Anchors that GitHub and pandoc generate for the headings of a page."""
    found, inside = set(), False
    for line in text.splitlines():
        inside ^= line.lstrip().startswith("```")
        heading = None if inside else re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).lower()
            base = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            name, count = base, 0
            while name in found:
                count += 1
                name = f"{base}-{count}"
            found.add(name)
    return found


def faults_of_source(source):
    faults, count = [], 0
    for pattern in PAGES:
        for page in sorted(source.glob(pattern)):
            text = "\n".join(without_code(page.read_text(encoding="utf-8")))
            for link in LINK.finditer(text):
                target = link.group(1)
                if re.match(r"[a-z]+:", target):
                    continue
                count += 1
                path, _, anchor = target.partition("#")
                file = page if path == "" else page.parent / urllib.parse.unquote(path)
                where = f"{page.relative_to(source)}:{text.count(chr(10), 0, link.start()) + 1}: {target}"
                if not file.exists():
                    faults.append(f"{where}: no such file")
                elif file.is_dir():
                    faults.append(f"{where}: a folder, of which the rendered manual has no page")
                elif anchor and anchor not in anchors_of(file.read_text(encoding="utf-8")):
                    faults.append(f"{where}: no such heading")
    return faults, count


class Page(html.parser.HTMLParser):
    """Anchors and links of a page, and the resources that it loads."""

    def __init__(self, text):
        super().__init__()
        self.names, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.names.add(value)
            elif name == "href" and tag == "a":
                self.links.append(value)
            elif name in ("href", "src", "srcset"):
                self.loads.append(value)


def faults_of_pages(folder):
    folder = pathlib.Path(folder)
    pages = {file.name: Page(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.html"))}
    faults = [] if pages else [f"{folder}: no pages"]
    for name, page in pages.items():
        for target in page.links + page.loads:
            if re.match(r"[a-z]+:", target):
                if target in page.loads and not target.startswith("data:"):
                    faults.append(f"{name}: loads {target}")
                continue
            path, _, anchor = urllib.parse.unquote(target).partition("#")
            path = path or name
            if not (folder / path).is_file():
                faults.append(f"{name}: {target}: no such file")
            elif anchor and path in pages and anchor not in pages[path].names:
                faults.append(f"{name}: {target}: no such heading")
    return faults


def main():
    if sys.argv[1] == "--html":
        faults = faults_of_pages(sys.argv[2])
        print("\n".join(faults) or "every link of the rendered pages leads somewhere")
    else:
        faults, count = faults_of_source(pathlib.Path(sys.argv[1]).resolve())
        print("\n".join(faults) or f"{count} links lead somewhere")
        if count == 0:
            sys.exit("no link was found")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
