# SPDX-License-Identifier: Apache-2.0
"""Search index of the rendered manual: words of each section, for search.js."""
import html.parser
import json
import re

WORD = re.compile(r"[a-z0-9_]{2,}")
EXCERPT = 160  # characters of a section shown with a result


class Sections(html.parser.HTMLParser):
    """Sections of a page: [anchor, title, text]. A heading with an id begins one, and so does a row with an id."""

    SKIPPED = ("script", "style", "details", "annotation")

    def __init__(self, title, text):
        super().__init__()
        self.found, self.open, self.skipped = [["", title, ""]], None, 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        anchor = dict(attrs).get("id")
        if tag in self.SKIPPED:
            self.skipped += 1
        elif anchor and re.match(r"h[1-6]$|tr$", tag):
            self.open = None if tag == "tr" else tag
            self.found.append([anchor, anchor if tag == "tr" else "", ""])

    def handle_endtag(self, tag):
        if tag in self.SKIPPED:
            self.skipped -= 1
        elif tag == self.open:
            self.open = None

    def handle_data(self, data):
        if not self.skipped:
            self.found[-1][1 if self.open else 2] += data + ("" if self.open else " ")


def add_words(postings, number, title, text):
    """Adds [section, weight] to each word; a word of a title weighs as much as ten of a text."""
    weights = {}
    for part, weight in ((title, 10), (text, 1)):
        for word in WORD.findall(part.lower()):
            weights[word] = weights.get(word, 0) + weight
    for word, weight in weights.items():
        postings.setdefault(word, []).append([number, weight])


def write(folder, chapters):
    """Writes index.js: pages, sections [page, anchor, title, excerpt], sorted words and their postings."""
    pages, sections, postings = [], [], {}
    for chapter in chapters:
        text = (folder / f"{chapter['file']}.html").read_text(encoding="utf-8")
        main = text.split("<main>", 1)[1].split('<p class="turn">', 1)[0]
        for anchor, title, body in Sections(chapter["title"], main).found:
            body = " ".join(body.split())
            if anchor or body:
                add_words(postings, len(sections), title, body)
                sections.append([len(pages), anchor, " ".join(title.split()), body[:EXCERPT]])
        pages.append([f"{chapter['file']}.html", chapter["title"]])
    words = sorted(postings)
    index = {"pages": pages, "sections": sections, "words": words, "postings": [postings[word] for word in words]}
    (folder / "index.js").write_text("const INDEX=" + json.dumps(index, separators=(",", ":")) + ";\n",
                                     encoding="utf-8")
