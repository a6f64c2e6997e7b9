# SPDX-License-Identifier: Apache-2.0
"""Pages and LaTeX files: content of their sections, texts that are markup, and the program's command."""
import os
import subprocess

import files
import pytest

import bitbudget as bb
from bitbudget import program
from bitbudget import report as reports

HOSTILE = "h&#39;&#34;&lt;b&gt;&amp;3"


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    return bb.open(files.swept(tmp_path_factory.mktemp("sweep") / "s.h5"))


@pytest.fixture(scope="module")
def page(swept):
    return reports.page(swept, source="a <b>.h5")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    values = {"experiment": "product", "matrix": __import__("numpy").random.default_rng(1).normal(size=(40, 60)), "pipelines": [
        {"name": "reference", "storage": "fp64", "multiply": "fp64", "accumulate": "fp64"},
        {"name": "fp16", "storage": "fp16", "multiply": "fp32", "accumulate": "fp32"}]}
    here = os.getcwd()
    os.chdir(folder)
    try:
        return bb.study(values).run(folder / "r.h5")
    finally:
        os.chdir(here)


def test_values_are_in_their_sections(page):
    for expected in (
            f"Fewest bytes among them: {HOSTILE}, width 2, 2 MB, strehl loss at worst 0.004 ",
            "<p>4 of 5 choices finish at every condition. ",
            '<tr class="front"><td>sp</td>',
            '<td>3.500e-06</td>',
            "<td>1 of 6 points</td><td>r0_m 0.2, width 0</td><td>not_spd</td>",
            "<td>atmosphere.r0_m</td><td>2</td><td>0.1</td><td>0.2</td><td>m</td>",
            "bitbudget sweep run DIR", "@media print"):
        assert expected in page, expected
    # Three pictures, each for wide and for narrow pages; all identifiers are unique.
    assert page.count("<figure id=") == 3 and page.count("<svg") == 6 and page.count('<div class="narrow">') == 3
    names = [part.split('"', 1)[0] for part in page.split(' id="')[1:]]
    assert len(names) == len(set(names))


def test_texts_are_no_markup(page):
    assert "<title>&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;</title>" in page
    assert "{&#34;plan&#34;: &#34;of &lt;/script&gt;&#34;}" in page
    assert page.count("</script>") == 1 and "<img" not in page and "<b>&amp;3" not in page and 'src="http' not in page
    assert reports._clean("a\x01\x7fb\n") == "a??b\n"


def test_limits_change_the_answer(swept):
    assert "with strehl loss of at most 1e-05 at every condition: sp, 4 MB" in reports.page(swept, 1e-5)


def test_pages_of_a_run(run, tmp_path):
    text = run.report(tmp_path / "r.html", max_loss=1e-2).read_text()
    for expected in ("<p>Reference: ", "within relative error 0.01: fp16", "All pipelines succeeded.", "experiment: product",
                     f"bitbudget rerun {run.path} --verify", "<details><summary>", "operator [MB]", "solve time [ms]"):
        assert expected in text, expected
    assert len([row for row in text.split("<tr") if "<td>fp16</td>" in row]) == 1
    with pytest.raises(bb.UsageError, match="must end in .html"):
        run.report(tmp_path / "r.pdf")
    with pytest.raises(bb.FileError, match="cannot write"):
        run.report(tmp_path / "none" / "r.html")


def test_rows_of_a_thousand_choices_are_small(tmp_path):
    """All rows are on the page; 10,000 choices need less than 5 MB with three pictures of 0.1 MB."""
    result = bb.open(files.large(tmp_path / "large.h5", 1000))
    table = reports.page(result).split('<section id="table">')[1].split("</section>")[0]
    assert table.count("<tr") == 1 + 1004 and "<td>p4, width 999</td>" in table
    assert len(table) < 300 * 1004
    # Numbers with more digits than their text are sorted by them.
    loss = result.losses[-1]
    assert f'<td data-value="{loss:.9g}">' in table and f'data-value="{1e6:.9g}"' not in table


def test_latex_parts(swept, tmp_path):
    reports.write_tex(swept, tmp_path / "paper")
    names = sorted(os.listdir(tmp_path / "paper"))
    assert names == ["all.tex", "heatmap.pdf", "lines.pdf", "pareto.pdf", "table.tex"]
    whole = (tmp_path / "paper" / "all.tex").read_text()
    assert "\\input{table}" in whole and "\\includegraphics{heatmap}" in whole and "&#" not in whole
    with pytest.raises(bb.FileError, match="exists"):
        reports.write_tex(swept, tmp_path / "paper")


@pytest.mark.parametrize(("words", "code", "message"), [
    (["report", "s.h5"], 2, "report needs -o REPORT.html, --tex DIR or both"),
    (["report", "s.h5", "-o", "s.pdf"], 2, "must end in .html"),
    (["report", "none.h5", "-o", "n.html"], 3, "cannot report on 'none.h5'"),
    (["report", "bad.h5", "-o", "n.html"], 3, "cannot report on 'bad.h5'"),
    (["report", "s.h5", "-o", "s.h5", "--force"], 2, "'s.h5' is the input file 's.h5'"),
    (["report", "s.h5", "-o", "there.html"], 3, "exists"),
    (["plot", "s.h5", "--kind", "heatmaps", "-o", "a.svg"], 2, "did you mean 'heatmap'?"),
    (["plot", "s.h5", "--kind", "heatmap"], 2, "plot needs --kind KIND and -o FILE"),
    (["plot", "s.h5", "--kind", "heatmap", "-o", "a.gif"], 2, "must end in .pdf, .svg, .png or .pgf"),
    (["plot", "s.h5", "--kind", "heatmap", "-o", "a.svg", "--size", "2"], 2, "--size 2, expected WIDTHxHEIGHT"),
    (["plot", "s.h5", "--kind", "psf", "-o", "a.svg"], 2, "not available for this file"),
    (["plot", "s.h5", "--kind", "pareto", "-o", "a.svg", "--x", "r0_m"], 2, "--x is valid only for"),
    (["plot", "--list", "s.h5", "s.h5"], 2, "--list accepts one file, got 2"),
    (["plot", "--list", "none.yaml"], 3, "none.yaml"),
    (["plot", "none.h5", "--kind", "pareto", "-o", "a.svg"], 3, "cannot plot 'none.h5'"),
    (["plot", "s.h5", "--kind", "heatmap", "-o", "none/a.svg"], 3, "none"),
])
def test_program_refuses(swept, tmp_path, words, code, message):
    os.symlink(swept.path, tmp_path / "s.h5")
    (tmp_path / "bad.h5").write_bytes(swept.path.read_bytes()[:4000])
    (tmp_path / "there.html").write_text("")
    before = sorted(os.listdir(tmp_path))
    done = subprocess.run([program.find(), *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code and message in done.stderr, done.stderr
    assert sorted(os.listdir(tmp_path)) == before


def test_program_draws_and_reports(swept, tmp_path):
    name = "$(touch x) 'a'.svg"  # a name is no command
    for words in (["plot", str(swept.path), "--kind", "lines", "-o", name, "--size", "8.5"],
                  ["plot", "--kind", "lines", str(swept.path), "-o", "-x.svg"],
                  ["report", str(swept.path), "--output", "-x.html", "-q"],
                  ["report", str(swept.path), "-o", "q.html", "-q"]):
        done = subprocess.run([program.find(), *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path)) == sorted([name, "-x.svg", "-x.html", "q.html"])
    listed = subprocess.run([program.find(), "plot", "--list", str(swept.path)], capture_output=True, text=True, check=False)
    assert listed.stdout.startswith("pareto             worst loss") and "\nnot available for this file:\n" in listed.stdout


def test_modules_beside_the_results_are_not_imported(swept, tmp_path):
    (tmp_path / "numpy.py").write_text("raise SystemExit(99)")
    done = subprocess.run([program.find(), "plot", "--list", str(swept.path)], cwd=tmp_path, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


def test_files_of_another_structure_are_named(tmp_path):
    path = files.swept(tmp_path / "s.h5")
    import h5py

    with h5py.File(path, "a") as file:
        del file["statistics/operator_bytes"]
        file["statistics/operator_bytes"] = [1.0]
    with pytest.raises(bb.FileError, match="do not have the structure"):
        bb.open(path).plot.pareto()


def test_program_needs_python(swept, tmp_path):
    environment = {**os.environ, "BITBUDGET_PYTHON": "/nowhere/python3"}
    done = subprocess.run([program.find(), "plot", "--list", str(swept.path)], env=environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 2 and "'plot' needs Python 3" in done.stderr and "apt-get install" in done.stderr


def test_completion_knows_all_kinds():
    from bitbudget import plot

    done = subprocess.run([program.find(), "completion", "bash"], capture_output=True, text=True, check=True)
    assert {row.name for row in plot.kinds()} <= set(done.stdout.replace("'", " ").replace('"', " ").split())
