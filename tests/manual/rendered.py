#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual is rendered, and looked at in Chromium: rendered.py SOURCE PROGRAM FOLDER

Every page, at the width of a desk and of a phone: no page scrolls sideways, every picture has come
and has a size, and nothing was asked of the network (its policy forbids it, and a breach is said).
Exit 77: skipped, where pandoc or chromium are missing.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import links

WIDTHS = (1280, 390)
PROBE = """<script>
window.addEventListener('load', () => {
  const wide = [...document.querySelectorAll('main > *')].filter(
    (part) => part.getBoundingClientRect().right > innerWidth + 1).map((part) => part.tagName);
  const empty = [...document.images].filter((one) => !one.naturalWidth || one.width < 100).length;
  document.title = 'SEEN' + JSON.stringify({width: innerWidth, page: document.documentElement.scrollWidth,
    wide: wide, pictures: document.images.length, empty: empty});
});
</script>"""


def look(page, width, profile):
    """What the probe saw of a page, and complaints of the console."""
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
         "--enable-logging=stderr", "--v=0", f"--window-size={width},900", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120)
    seen = re.search(r"<title>SEEN(.*?)</title>", done.stdout)
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return json.loads(seen.group(1)) if seen else None, console


def probed(page):
    """A copy with the probe; the page's own policy forbids scripts, and only that part gives way."""
    text = page.read_text(encoding="utf-8")
    text = text.replace("default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';", 1)
    copy = page.with_name(f"probed-{page.name}")
    copy.write_text(text.replace("</head>", f"{PROBE}</head>", 1), encoding="utf-8")
    return copy


def main():
    for tool in ("pandoc", "chromium", "gnuplot"):
        if shutil.which(tool) is None:
            print(f"skipped: no {tool} here; ./setup test-full installs it")
            return 77
    source, program, folder = sys.argv[1:4]
    maker = pathlib.Path(source) / "packaging" / "manual" / "build.py"
    subprocess.run([sys.executable, maker, source, program, folder], check=True)
    folder, faults, pictures = pathlib.Path(folder).resolve(), [], 0
    pages = sorted(folder.glob("*.html"))
    for page in pages:
        copy = probed(page)
        for width in WIDTHS:
            seen, console = look(copy, width, folder / "profile")
            if seen is None:
                faults.append(f"{page.name}: Chromium did not load it")
                continue
            pictures += seen["pictures"]
            if seen["width"] != width or seen["page"] > width or seen["wide"] or seen["empty"] or console:
                faults.append(f"{page.name} at {width}: {seen} {console}")
        copy.unlink()
    faults += links.faults_of_pages(folder)
    print("\n".join(faults) or f"{len(pages)} pages at {len(WIDTHS)} widths, {pictures} pictures")
    if not faults:
        shutil.rmtree(folder)
    return 1 if faults or pictures == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
