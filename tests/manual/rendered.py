#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renders the manual and checks its pages in Chromium: rendered.py SOURCE PROGRAM FOLDER

At desktop and phone width no page scrolls horizontally, every picture is loaded with a nonzero
size, and nothing is requested from the network (forbidden by the page policy; violations are
reported). The nightly tests check every page, others every fourth and one whose commands plot. Exit
77: skipped, because pandoc or chromium is missing.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

import links

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import nightly

WIDTHS = (1280, 390)
# Chromium's windows are at least 500 wide, so pages are in frames, which report to the outer page.
PROBE = """<script>
window.addEventListener('load', () => {
  const wide = [...document.querySelectorAll('main > *')].filter(
    (part) => part.getBoundingClientRect().right > innerWidth + 1).map((part) => part.tagName);
  const empty = [...document.images].filter((one) => !one.naturalWidth || one.width < 100).length;
  parent.postMessage({width: innerWidth, page: document.documentElement.scrollWidth, wide: wide,
    pictures: document.images.length, empty: empty}, '*');
});
</script>"""
FRAMES = """<!DOCTYPE html><html><head><title></title><script>
const seen = [];
addEventListener('message', (event) => {
  seen.push(event.data);
  document.title = 'SEEN' + JSON.stringify(seen);
});
</script></head><body>%s</body></html>"""
FRAME = '<iframe src="%s" style="border:0;width:%dpx;height:900px"></iframe>'


def look(page, widths, profile):
    """Probe results of a page at each width, and messages of the console."""
    frames = page.with_name(f"frames-{page.name}")
    frames.write_text(FRAMES % "".join(FRAME % (page.name, width) for width in widths), encoding="utf-8")
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
         "--enable-logging=stderr", "--v=0", "--virtual-time-budget=20000", "--dump-dom", frames.as_uri()],
        capture_output=True, text=True, timeout=120)
    frames.unlink()
    seen = re.search(r"<title>SEEN(.*?)</title>", done.stdout)
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return json.loads(seen.group(1)) if seen else [], console


def probed(page):
    """Copies a page with the probe and relaxes the page policy, which would forbid it."""
    text = page.read_text(encoding="utf-8")
    text = text.replace("script-src 'self'", "script-src 'unsafe-inline' 'self'", 1)
    copy = page.with_name(f"probed-{page.name}")
    copy.write_text(text.replace("</head>", f"{PROBE}</head>", 1), encoding="utf-8")
    return copy


def faults_of(page, profile):
    """Faults of a page at all widths, and the number of pictures found."""
    copy = probed(page)
    seen, console = look(copy, WIDTHS, profile)
    copy.unlink()
    faults = [f"{page.name}: {line}" for line in console]
    if sorted(one["width"] for one in seen) != sorted(WIDTHS):
        faults.append(f"{page.name}: Chromium showed it as {seen}, expected widths of {WIDTHS}")
    faults += [f"{page.name}: {one}" for one in seen
               if one["page"] > one["width"] or one["wide"] or one["empty"]]
    return faults, sum(one["pictures"] for one in seen)


# Queries and a link that the results must contain; None: no result expected.
QUERIES = (("memory_limit", "keys.html#ao.solver.memory_limit_gb"), ("Slurm shards", "tutorial-cluster.html#submit"),
           ("lenslets zernike qqq", None))


def faults_of_search(page, profile):
    """Queries of the search box whose results are wrong."""
    faults = []
    for query, link in QUERIES:
        done = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
             "--virtual-time-budget=20000", "--dump-dom", f"{page.as_uri()}?q={urllib.parse.quote(query)}"],
            capture_output=True, text=True, timeout=120)
        results = re.search(r"<form.*?</form>", done.stdout, re.S).group(0)
        if (link is None) != ("No section" in results) or (link or "") not in results:
            faults.append(f"search of {query!r}: expected {link}, found {results}")
    return faults


# Faults that must be detected: too wide for a phone, a missing picture, a remote picture.
BAD = ('<p style="width:600px">wide</p>', '<img src="none.svg">', '<img src="https://example.org/a.png">')


def blind_to(page, folder, profile):
    """Items of BAD that are not detected in a copy of a good page."""
    text = page.read_text(encoding="utf-8")
    copy, missed = folder / "bad.html", []
    for bad in BAD:
        copy.write_text(text.replace("<main>", f"<main>{bad}", 1), encoding="utf-8")
        missed += [] if faults_of(copy, profile)[0] else [f"not seen: {bad}"]
    copy.unlink()
    return missed


def main():
    for tool in ("pandoc", "chromium"):
        if shutil.which(tool) is None:
            print(f"skipped: no {tool} here; ./setup test-full installs it")
            return 77
    source, program, folder = sys.argv[1:4]
    maker = pathlib.Path(source) / "packaging" / "manual" / "build.py"
    drawn = [] if nightly.IS_WHOLE else ["tutorial-wafer"]
    subprocess.run([sys.executable, maker, source, program, folder, *drawn], check=True)
    folder, faults, pictures = pathlib.Path(folder).resolve(), [], 0
    pages = nightly.part_of(sorted(folder.glob("*.html")))
    pages += [page for page in (folder / f"{name}.html" for name in drawn) if page not in pages]
    for page in pages:
        found, count = faults_of(page, folder / "profile")
        faults += found
        if page.stem in drawn and count == 0:
            faults.append(f"{page.name}: no picture of its commands")
        pictures += count
    faults += blind_to(folder / "glossary.html", folder, folder / "profile")
    faults += links.faults_of_pages(folder) + faults_of_search(folder / "glossary.html", folder / "profile")
    print("\n".join(faults) or f"{len(pages)} pages at {len(WIDTHS)} widths, {pictures} pictures")
    if not faults:
        shutil.rmtree(folder)
    return 1 if faults or pictures == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
