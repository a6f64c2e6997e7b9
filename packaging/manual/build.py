#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renders the manual: build.py SOURCE PROGRAM FOLDER [PAGE ...]

Pandoc renders the chapters of chapters.json as HTML pages in FOLDER, which load nothing from the
network. The commands of a page marked `run` are run; a picture that a command draws (`-o NAME.svg`)
is added below it, once as drawn and once for phones. PAGE limits the runs to the pages named. PROGRAM
prints keys and commands, api.py the reference of the Python package. Keys in pages are linked to
their rows (key_links.py); index.js is the search index (search.py). A broken link is an error.

FOLDER may be absent, empty or an earlier manual. It is replaced once the new manual is complete.
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests" / "manual"))
import api  # noqa: E402
import console  # noqa: E402
import key_links  # noqa: E402
import links  # noqa: E402
import search  # noqa: E402

PICTURE = re.compile(r"bitbudget plot .*-o (\S+)\.svg")
NARROW_CM = "8.5"


def printed_by(program, *words):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


def pandoc(text, *words):
    return subprocess.run(["pandoc", *words], input=text, check=True, capture_output=True,
                          text=True).stdout


def man_pages(program):
    """The pages of commands as one text of Markdown, a heading each."""
    text = ""
    for line in printed_by(program, "help", "--list").splitlines():
        file, *name = line.split()
        if not file.startswith("man1/"):
            continue
        page = pandoc(printed_by(program, "help", "--man", *name), "-f", "man", "-t", "markdown",
                      "--columns=100", "--shift-heading-level-by=2")
        page = re.sub(r"^### NAME\s+(\S+) - (.*?)\n\n(?=###)", r"\2.\n\n", page, flags=re.S | re.M)
        page = re.sub(r"^### SEE ALSO\n\n.*?(?=^#|\Z)", "", page, flags=re.S | re.M)
        text += f"\n\n## {' '.join(['bitbudget', *name])}\n\n" + page
    return text


class Manual:
    """Data shared by all pages."""

    def __init__(self, source, program, folder, scratch, run):
        self.source, self.program, self.folder, self.scratch = source, program, folder, scratch
        self.parts = json.loads((HERE / "chapters.json").read_text(encoding="utf-8"))
        self.chapters = [chapter for part in self.parts for chapter in part["chapters"]]
        self.files = {chapter["source"]: chapter["file"] + ".html" for chapter in self.chapters}
        self.version = printed_by(program, "--version").split()[1]
        names = [chapter["file"] for chapter in self.chapters]
        for name in set(run) - set(names):
            sys.exit(f"no page '{name}'; there are {', '.join(names)}")
        self.run = run or names
        self.missing = []
        self.listing = printed_by(program, "config", "--list", "--format", "md")
        self.keys = key_links.KeyLinks(self.listing)

    def navigation(self, here):
        text = ""
        for part in self.parts:
            text += f"<p>{part['part']}</p>\n<ul>\n"
            for chapter in part["chapters"]:
                mark = ' class="here"' if chapter is here else ""
                text += f'<li><a{mark} href="{chapter["file"]}.html">{chapter["title"]}</a></li>\n'
            text += "</ul>\n"
        return text

    def turn(self, here):
        place = self.chapters.index(here)
        around = [self.chapters[k] if 0 <= k < len(self.chapters) else None
                  for k in (place - 1, place + 1)]
        return "".join("<span></span>" if chapter is None else
                       f'<a rel="{rel}" href="{chapter["file"]}.html">{word}: {chapter["title"]}</a>'
                       for chapter, rel, word in zip(around, ("prev", "next"), ("Previous", "Next")))

    def draw(self, chapter, text):
        """Runs the commands of a page and adds each picture below the block that draws it."""
        scratch, drawn = self.scratch / chapter["file"], {}
        for block, step, printed, status in console.run_page(text, self.program, scratch):
            if status != 0:
                sys.exit(f"{chapter['source']}:{step.line + 1}: $ {step.command}\nends with {status}:\n"
                         + "\n".join(printed))
            for match in PICTURE.finditer(step.command):
                drawn.setdefault(block.last, []).append(self.keep_picture(chapter, step, match, scratch))
        lines = text.splitlines()
        for last in sorted(drawn, reverse=True):
            lines[last + 1:last + 1] = ["", *drawn[last]]
        return "\n".join(lines) + "\n"

    def keep_picture(self, chapter, step, match, scratch):
        name = match.group(1)
        narrow = step.command.replace(f"-o {name}.svg", f"-o {name}-narrow.svg")
        narrow = re.sub(r" --size \S+", "", narrow) + f" --size {NARROW_CM}"
        environment = dict(os.environ, PATH=f"{(scratch / '.bin').resolve()}:{os.environ['PATH']}")
        subprocess.run(["bash", "-c", narrow], cwd=scratch, env=environment, check=True,
                       stderr=subprocess.DEVNULL)
        pictures = self.folder / "pictures"
        pictures.mkdir(exist_ok=True)
        for ending in ("", "-narrow"):
            shutil.copy(scratch / f"{name}{ending}.svg", pictures / f"{chapter['file']}-{name}{ending}.svg")
        said = html.escape(step.command.replace("\\\n", " "), quote=True)
        place = f"pictures/{chapter['file']}-{name}"
        return (f'<figure class="picture"><picture><source media="(max-width: 38rem)" '
                f'srcset="{place}-narrow.svg"><img src="{place}.svg" alt="{said}"></picture></figure>\n')

    def target(self, chapter, target):
        """Target in the rendered manual of a link in the source of a chapter."""
        if re.match(r"[a-z]+:|#|pictures/", target):
            return target
        path, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(chapter["source"]), path))
        if path in self.files:
            return self.files[path] + (f"#{anchor}" if anchor else "")
        file = self.source / path
        if not file.is_file():
            self.missing.append(f"{chapter['source']}: {target}")
            return target
        kept = self.folder / "files" / path
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, kept)
        return f"files/{path}"

    def finish(self, chapter, page):
        """Translates links of files to pages, links keys, and makes tables scroll."""
        page = re.sub(r'(<(?:a|img)\b[^>]*?\b(?:href|src)=")([^"]+)(")',
                      lambda m: m.group(1) + html.escape(self.target(chapter, html.unescape(m.group(2))))
                      + m.group(3), page)
        if chapter.get("printed") == "keys":
            page, kind = self.keys.add_rows(page), ' class="keys"'
        else:
            page, kind = self.keys.add_links(page, chapter.get("experiment")), ""
        page = page.replace("<table>", f'<div class="scroll"><table{kind}>')
        return page.replace("</table>", "</table></div>")

    def render(self, chapter):
        text = (self.source / chapter["source"]).read_text(encoding="utf-8")
        reader = "gfm"
        if chapter.get("printed") == "keys":
            text += "\n" + self.listing.replace("\\|", ", ")  # so that lines break between words
        if chapter.get("printed") == "python":
            text += api.reference(self.source / "python")
        if chapter.get("printed") == "commands":
            text += man_pages(self.program)
            reader = "markdown-smart+gfm_auto_identifiers"
        if chapter.get("run") and chapter["file"] in self.run:
            text = self.draw(chapter, text)
        text = re.sub(r"^```(\w+) (\S+)$", r'<p class="file">\2</p>\n\n```\1', text, flags=re.M)
        body = self.folder / "body.md"
        body.write_text(text, encoding="utf-8")
        page = pandoc("", "-f", reader, "-t", "html5", "--standalone", "--no-highlight",
                      f"--template={HERE / 'page.html'}", "--toc", "--toc-depth=2", "--mathml",
                      "--wrap=preserve", f"--metadata=pagetitle:{chapter['title']}",
                      f"--variable=navigation:{self.navigation(chapter)}",
                      f"--variable=turn:{self.turn(chapter)}",
                      f"--variable=version:{self.version}", str(body))
        body.unlink()
        head, main = page.split("<main>", 1)
        main, foot = main.split('<p class="turn">', 1)
        (self.folder / f"{chapter['file']}.html").write_text(
            f'{head}<main>{self.finish(chapter, main)}<p class="turn">{foot}', encoding="utf-8")


def render_all(source, program, folder, scratch, run):
    """Renders into a new folder; returns the faults."""
    folder.mkdir()
    manual = Manual(source, str(program), folder, scratch, run)
    for name in ("manual.css", "search.js"):
        shutil.copy(HERE / name, folder)
    for number, chapter in enumerate(manual.chapters, 1):
        runs = ", running its commands" if chapter.get("run") and chapter["file"] in manual.run else ""
        print(f"[{number}/{len(manual.chapters)}] {chapter['title']}{runs}", flush=True)
        manual.render(chapter)
    search.write(folder, manual.chapters)
    return [f"{fault}: no such file" for fault in manual.missing] + links.faults_of_pages(folder)


def may_replace(folder):
    """True if the folder is absent, empty or an earlier manual."""
    if not folder.exists():
        return True
    return folder.is_dir() and (all((folder / name).is_file() for name in ("index.html", "manual.css"))
                                or not any(folder.iterdir()))


def build(source, program, folder, run=()):
    """Replaces the folder by a new manual if that has no faults; returns the faults."""
    if not may_replace(folder):
        sys.exit(f"{folder} is neither empty nor an earlier manual: not replaced")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # In the same file system, so that the folder can be renamed.
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        scratch = pathlib.Path(scratch)
        faults = render_all(source, program, scratch / "manual", scratch / "run", run)
        if not faults:
            if folder.exists():
                folder.rename(scratch / "former")
            (scratch / "manual").rename(folder)
    return faults


def main():
    source, program, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    if shutil.which("pandoc") is None:
        sys.exit("pandoc is missing; ./setup manual installs it")
    os.environ.setdefault("BITBUDGET_SHARE", str(source))
    faults = build(source, program, folder, sys.argv[4:])
    print("\n".join(faults) or f"the manual: {folder / 'index.html'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
