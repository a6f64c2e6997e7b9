#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Good and bad inputs for the checks of the manual."""
import json
import pathlib
import re
import sys
import tempfile

import console
import links
import pictures

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "packaging" / "manual"))
import build  # noqa: E402
import key_links  # noqa: E402
import search  # noqa: E402

SAME = [
    ("sp  ok  1.193e-10  4.337", "sp ok 4.1e-10 4.337"),  # rounding differences
    ("loss 0.001830", "loss 0.001842"),
    ("time, estimated 10.2 s", "time, estimated 3 min"),
    ("2026-11-22T21:04:05Z warning: x", "2027-01-01T00:00:00Z warning: x"),
    ("... warning: x", "2027-01-01T00:00:00Z warning: x"),
    ("bf16 5/60", "bf16 8/60"),
    ("/a/2/60 of ...", "/a/2/60 of b 1/2"),
    ("[3/4] (a|b) .*", "[3/4] (a|b) .*"),
]
OTHER = [
    ("loss 0.001830", "loss 0.001930"),
    ("bf16 5/60", "bf16 15/60"),
    ("bf16 0/60", "bf16 1/60"),
    ("bf16 5/60", "bf16 5/61"),
    ("5 of 60 failed", "6 of 60 failed"),
    ("bf16 ok 0.0018", "bf16 unsafe 0.0018"),
    ("loss 0.0018", "loss -0.0018"),
    ("loss 1e-4", "loss 1e-8"),
    ("bits 19.46", "bits 19.46 more"),
    ("time, estimated 10.2 s", "time, planned 10.2 s"),
]
PAGE = """# A page
```text note.txt
one
```
```console
$ cat note.txt
one
$ printf 'a\\nb\\nc\\n' | \\
  tail -n 2
...
c
```
"""


def check(condition, what):
    if not condition:
        sys.exit(f"does not hold: {what}")


def check_lines():
    for shown, printed in SAME:
        check(console.same_line(shown, printed), f"'{shown}' is '{printed}'")
    for shown, printed in OTHER:
        check(not console.same_line(shown, printed), f"'{shown}' is not '{printed}'")
    check(console.same_lines(["a", "...", "c"], ["a", "c"]), "... stands for no line")
    check(console.same_lines(["a", "...", "c"], ["a", "b", "b", "c"]), "... stands for lines")
    check(not console.same_lines(["a", "...", "c"], ["a", "b"]), "what follows ... is there")
    check(not console.same_lines(["a"], ["a", "b"]), "a line too many is seen")
    check(not console.same_lines(["a", "b"], ["a"]), "a line too few is seen")


def holds(page):
    with tempfile.TemporaryDirectory() as folder:
        run = list(console.run_page(page, sys.executable, f"{folder}/scratch"))
    check(len(run) == 2, "two commands are run")
    return all(status == 0 and console.same_lines(step.shown, printed) for _, step, printed, status in run)


def check_links():
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder)
        (source / "docs").mkdir()
        (source / "docs/other.md").write_text("# A `b` heading, 2.1\n")
        (source / "README.md").write_text("[good](docs/other.md#a-b-heading-21) [bad](docs/none.md)\n"
                                          "`[code](none)` [two\nlines](docs/other.md#none) [folder](docs)\n")
        faults, count = links.faults_of_source(source)
        check(count == 4 and len(faults) == 3, f"three of four links lead nowhere: {faults}")
        (source / "a.html").write_text('<a href="b.html#here">x</a><a href="b.html#none">x</a>'
                                       '<a href="c.html">x</a><img src="https://a.b/c.png">')
        (source / "b.html").write_text('<h2 id="here">x</h2>')
        faults = links.faults_of_pages(source)
        check(len(faults) == 3, f"three faults of rendered pages: {faults}")


def check_pictures():
    kept = ("<use transform='translate(100.67,119.85) scale(1.80)' color='rgb(0, 1, 2)'/>\n"
            "<text>fp16 0.0024</text>\n<text>bitbudget 0.1.0, 2026-11-22, results 703091c8</text>")
    check(not pictures.same_picture(kept, kept.replace("703091c8", "1").replace("11-22", "12-01")
                                    .replace("119.85", "121.85").replace("(0, 1", "(1, 1")), "a day later")
    for old, new in ("119.85", "139.85"), ("0.0024", "0.0027"), ("fp16", "fp32"), ("\n<text>", "<text>"):
        check(pictures.same_picture(kept, kept.replace(old, new, 1)), f"a picture with {new} for {old}")


def check_chapters():
    parts = json.loads((SOURCE / "packaging/manual/chapters.json").read_text(encoding="utf-8"))
    chapters = [chapter["source"] for part in parts for chapter in part["chapters"]]
    for page in sorted(SOURCE.glob("docs/**/*.md")):
        name = str(page.relative_to(SOURCE))
        check(chapters.count(name) == 1, f"{name} is a chapter of the manual")
    text = (SOURCE / "docs/manual/plots.md").read_text(encoding="utf-8")
    gallery = (SOURCE / "docs/manual/gallery.md").read_text(encoding="utf-8")
    kinds = [row for table in text.split("| kind |")[1:]
             for row in re.findall(r"^\| `(\S+)` \|", table.partition("\n\n")[0], re.M)]
    check(len(kinds) > 10, f"kinds of pictures in plots.md: {kinds}")
    for kind in kinds:
        check(f"--kind {kind} " in gallery, f"a picture of kind {kind} is in the gallery")


LISTING = """## ao

| key | type |
|---|---|
| `layers.N.cn2` | number |
| `layers.N.size.rows` | integer |
| `pipelines.N.storage.codec` | word |
| `seed` | integer |
"""
YAML = """layers:
- {cn2: 1.0, size: {rows: 2}}
-
  cn2: 2.0  # seed: no key
  size: {rows: 3}
pipelines: [{storage: {codec: bfp}}]
sweep:
  seed: 1
  layers.0.cn2: [1, 2]
seed: 2
"""


def check_key_links():
    keys = key_links.KeyLinks(LISTING)
    found = re.findall(r'#ao\.([\w.]+)">([\w.]+)<', keys.yaml(YAML, "ao"))
    check(found == [("layers.N.cn2", "cn2"), ("layers.N.size.rows", "rows"), ("layers.N.cn2", "cn2"),
                    ("layers.N.size.rows", "rows"), ("pipelines.N.storage.codec", "codec"),
                    ("layers.N.cn2", "layers.0.cn2"), ("seed", "seed")], f"keys of YAML: {found}")
    check(re.sub(r"</?a[^>]*>", "", keys.yaml(YAML, "ao")) == YAML, "YAML keeps its text")
    page = ('<h2 id="x"><code>seed</code></h2><p><code>seed: 1</code> <code>seeds</code> <a href="b"><code>seed</code></a>'
            "<pre><code>$ run --seed=2 storage.codec=bfp</code></pre></p>")
    linked = keys.add_links(page, "ao")
    check(re.findall(r"#ao\.([\w.]+)", linked) == ["seed", "pipelines.N.storage.codec"], linked)
    check(keys.add_links(page, None).count("<a ") == 2, "without an experiment dotted keys alone are linked")
    rows = keys.add_rows('<h2 id="ao">ao</h2><table><tr><th>key</th></tr><tr>\n<td><code>seed</code></td></tr></table>')
    check(rows.count("<tr id=") == 1 and '<tr id="ao.seed">' in rows, rows)


def check_search():
    text = ("<h1 id='t'>Title</h1>text<h2 id='a'>Alpha <code>x_y</code></h2><p>one two</p>"
            "<table><tr id='k.b'><td><code>key.b</code></td><td>number</td></tr></table><script>no</script>")
    found = [[part if k == 0 else " ".join(part.split()) for k, part in enumerate(section)]
             for section in search.Sections("page", text).found]
    check(found == [["", "page", ""], ["t", "Title", "text"], ["a", "Alpha x_y", "one two"], ["k.b", "k.b", "key.b number"]],
          f"sections of a page: {found}")
    postings = {}
    search.add_words(postings, 3, "Alpha", "alpha beta beta")
    check(postings == {"alpha": [[3, 11]], "beta": [[3, 2]]}, f"weights of words: {postings}")


def end_of_build(source, folder):
    """Exception raised when rendering a source without its second chapter."""
    try:
        build.build(source, source / "program", folder)
    except (FileNotFoundError, SystemExit) as error:
        return type(error)
    return None


def check_build():
    build.pandoc = lambda text, *words: '<main><p class="turn">'
    with tempfile.TemporaryDirectory() as scratch:
        source, folder = pathlib.Path(scratch) / "source", pathlib.Path(scratch) / "manual"
        source.mkdir()
        (source / "README.md").write_text("# Start here\n")
        (source / "program").write_text("#!/bin/sh\necho bitbudget 0\n")
        (source / "program").chmod(0o755)
        check(end_of_build(source, folder) is FileNotFoundError, "it fails at the second chapter")
        check(not folder.exists(), "no half a manual is left")
        folder.mkdir()
        check(build.may_replace(folder), "an empty folder is taken")
        (folder / "index.html").write_text("of somebody's own")
        check(not build.may_replace(folder), "a folder with other pages is no manual")
        check(end_of_build(source, folder) is SystemExit, "and not replaced")
        (folder / "manual.css").touch()
        check(build.may_replace(folder), "a former manual is replaced")
        check(not build.may_replace(folder / "manual.css"), "a file is not replaced")
        check(end_of_build(source, folder) is FileNotFoundError, "it fails over a former manual")
        check((folder / "index.html").read_text() == "of somebody's own", "a former one stays")
        check(sorted(path.name for path in folder.parent.iterdir()) == ["manual", "source"],
              "nothing is left beside it")


def main():
    check_lines()
    check_chapters()
    check_key_links()
    check_search()
    check_build()
    check_pictures()
    check(holds(PAGE), "the page holds")
    check(not holds(PAGE.replace("\nc\n```", "\nd\n```")), "a page that shows what is not printed")
    check_links()
    print("the checks of the manual see what they are for")


if __name__ == "__main__":
    main()
