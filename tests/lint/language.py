#!/usr/bin/env python3
"""Phrase counts and samples of the project's texts: language.py [ROOT] [SEED]

Advice for a reader, never a check: counts of phrases per 10,000 words of Markdown outside docs/lab, the longest
sentences of the manual, and a random sample of messages, comments, function names and manual paragraphs.
"""
import pathlib
import random
import re
import subprocess
import sys

PHRASES = ("what (?:is|the|a|it)", "takes", "holds|held", "says", "beside", "stands", "those (?:of|that)",
           "in the place of")
LAYERS = ("core", "precision", "physics", "solvers", "sim", "bench")
MESSAGE = re.compile(r'(?:BB_REQUIRE|bb_status_set|BB_FAIL|bb_log_warning|bb_fault)\w*\([^;]*?("(?:[^"\\]|\\.)*"'
                     r'(?:\s*"(?:[^"\\]|\\.)*")*)', re.S)
COMMENT = re.compile(r"^(?:[ \t]*// (?!SPDX).*\n)+", re.M)
FUNCTION = re.compile(r"\b(bb_[a-z0-9_]+)\(", re.M)


def tracked(root, *patterns):
    names = subprocess.run(["git", "-C", root, "ls-files", *patterns], capture_output=True, text=True,
                           check=True).stdout.split()
    return [pathlib.Path(root) / name for name in names]


def prose(page):
    """Text of a page without code, tables and pictures."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return "\n".join(line for line in text.splitlines() if not line.startswith(("|", "    ", "!", "#")))


def sentences(text):
    for paragraph in re.split(r"\n\s*\n|^\s*- ", text, flags=re.M):
        for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z`*])", " ".join(paragraph.split())):
            if sentence:
                yield sentence


def counts(pages):
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    words = len(text.split())
    print(f"{words} words of Markdown outside docs/lab; phrases per 10,000 words:")
    for phrase in PHRASES:
        found = len(re.findall(rf"\b(?:{phrase})\b", text, re.I))
        print(f"  {phrase:24} {1e4 * found / words:5.1f}")


def longest(pages):
    found = [(len(sentence.split()), page.name, sentence) for page in pages for sentence in sentences(prose(page))]
    over = sum(words > 35 for words, _, _ in found)
    print(f"\n{over} of {len(found)} sentences over 35 words ({100 * over / len(found):.1f} %); the longest:")
    for words, name, sentence in sorted(found, reverse=True)[:10]:
        print(f"  {words:3} {name}: {sentence[:160]}")


def sample(title, items, count, draw):
    print(f"\n{title}, {count} of {len(items)}:")
    for item in draw.sample(items, min(count, len(items))):
        print("  " + " ".join(item.split()))


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    draw = random.Random(sys.argv[2] if len(sys.argv) > 2 else None)
    pages = [page for page in tracked(root, "*.md") if "lab" not in page.parts]
    sources = {path: path.read_text(encoding="utf-8", errors="replace")
               for path in tracked(root, *(f"{layer}/{name}" for layer in LAYERS for name in ("*.c", "*.h", "*.cu")))}
    comments = [found for text in sources.values() for found in COMMENT.findall(text)]
    opening = sum(bool(re.match(r"\s*// (What|Of)\b", comment)) for comment in comments)
    headers = "\n".join(text for path, text in sources.items() if path.suffix == ".h")
    counts(pages)
    print(f"{opening} of {len(comments)} comments begin with What or Of")
    longest([page for page in pages if "manual" in page.parts])
    sample("messages", [re.sub(r'"\s*"', "", found) for text in sources.values() for found in MESSAGE.findall(text)],
           20, draw)
    sample("comments", comments, 20, draw)
    sample("functions", sorted(set(FUNCTION.findall(headers))), 20, draw)
    sample("paragraphs of the manual", [paragraph for page in pages if "manual" in page.parts
                                        for paragraph in re.split(r"\n\s*\n", prose(page)) if len(paragraph) > 200],
           5, draw)


if __name__ == "__main__":
    main()
