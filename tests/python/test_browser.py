# SPDX-License-Identifier: Apache-2.0
"""Reports in headless Chromium: no message on its console, every visible picture has a size, the table sorts, and the
page is no wider than a phone. Skipped without Chromium."""
import re
import shutil
import subprocess

import files
import pytest

import bitbudget as bb

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium")

# Summary of a page, printed in place of its last line.
PROBE = """<script>
const shown = [...document.querySelectorAll('svg')].filter((s) => getComputedStyle(s.parentNode).display !== 'none');
const box = (s) => s.getBoundingClientRect();
const body = document.querySelector('#table tbody');
const names = () => [...body.rows].map((r) => r.cells[0].textContent).join('|');
const button = document.querySelectorAll('#table th button')[COLUMN];
button.click();
const first = names();
button.click();
const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
const probe = {pictures: shown.length, empty: shown.filter((s) => box(s).width < 100 || box(s).height < 30).length,
  cut: shown.filter((s) => box(s).right > innerWidth).length, hovers: document.querySelectorAll('svg g > title').length > 0,
  wide: document.documentElement.scrollWidth > innerWidth, twice: ids.length - new Set(ids).size,
  markup: document.querySelectorAll('img, b b').length, up: first, down: names()};
document.body.textContent = 'PROBE' + JSON.stringify(probe) + 'END';
</script></body>"""


def look(tmp_path, page, width, column):
    probed = tmp_path / "probe.html"
    probed.write_text(page.read_text().replace("</body>", PROBE.replace("COLUMN", str(column))))
    done = subprocess.run(
        ["timeout", "100", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         f"--user-data-dir={tmp_path}/profile", f"--window-size={width},1400", "--dump-dom", f"file://{probed}"],
        capture_output=True, text=True, check=False)
    found = re.search(r"PROBE(\{.*\})END", done.stdout)
    assert found, done.stderr[-2000:]
    assert "CONSOLE" not in done.stderr, done.stderr
    import html
    import json
    return json.loads(html.unescape(found.group(1)))


@pytest.mark.parametrize("width", [500, 1200])
def test_pages_show_and_sort(tmp_path, width):
    page = bb.open(files.swept(tmp_path / "s.h5")).report(tmp_path / "s.html")
    # Sorted by the worst loss: 0, 6e-6, 1e-3, 4e-3, 6e-3, and back.
    heads = re.findall(r"<button type=\"button\">(.*?)</button>", page.read_text())
    seen = look(tmp_path, page, width, heads.index("loss most"))
    order = ["reference", "sp", *(f"{files.NAME}, width {w}" for w in (0, 2, 4))]
    assert seen == {"pictures": 3, "empty": 0, "cut": 0, "hovers": True, "wide": False, "twice": 0, "markup": 0,
                    "up": "|".join(order), "down": "|".join(reversed(order))}
