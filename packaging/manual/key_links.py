# SPDX-License-Identifier: Apache-2.0
"""Links from keys in pages of the rendered manual to their rows on the page of keys."""
import html
import re

ROW = re.compile(r"\| `([\w.]+)` \|")
YAML_TOKEN = re.compile(r"#[^\n]*|&quot;.*?&quot;|'[^'\n]*'|\n *|- |[\[\]{},]|[\w.]+(?=:(?:\s|$))|[^\s\[\]{},]+")


def path_of(word):
    """A key path with N for every index."""
    return re.sub(r"(?<=\.)\d+(?=\.|$)", "N", word)


class KeyLinks:
    """Keys of each experiment, from `config --list --format md`."""

    def __init__(self, listing):
        self.keys = {}
        for section in re.split(r"^## ", listing, flags=re.M)[1:]:
            self.keys[section.split(None, 1)[0]] = set(ROW.findall(section))

    def target(self, word, experiment):
        """Anchor of a key, or None. Without an experiment, a dotted key of the first one that has it."""
        path = path_of(word)
        if experiment is None and "." not in path:
            return None
        for name in [experiment] if experiment else self.keys:
            for known in (path, f"pipelines.N.{path}"):
                if known in self.keys[name]:
                    return f"{name}.{known}"
        return None

    def link(self, word, shown, experiment):
        anchor = self.target(word, experiment)
        return shown if anchor is None else f'<a href="keys.html#{anchor}">{shown}</a>'

    def add_rows(self, page):
        """The page of keys with an id in each row: EXPERIMENT.KEY."""
        experiment, parts = None, re.split(r'(<h2 id="\w+"|<tr[^>]*>(?=\s*<td[^>]*><code>[\w.]+</code>))', page)
        for k in range(1, len(parts), 2):
            if parts[k].startswith("<h2"):
                experiment = parts[k].split('"')[1]
            else:
                key = re.search(r"<code>([\w.]+)</code>", parts[k + 1]).group(1)
                parts[k] = f'<tr id="{experiment}.{key}">'
        return "".join(parts).replace("<td>-</td>", '<td class="none">-</td>')

    def yaml(self, text, experiment):
        """A block of YAML with its keys linked; block mappings by columns, flow mappings by brackets."""
        blocks, flow, here, linked, end, start = [], [], [], "", 0, 0
        for token in YAML_TOKEN.finditer(text):
            word, column = token.group(0), token.start() - start
            linked += text[end:token.start()]
            end = token.end()
            if word[0] == "\n":
                start = token.start() + 1
            elif word in "{[":
                flow.append(here + ["N"] if word == "[" else here)
                here = flow[-1]
            elif word in "}]":
                here = flow.pop() if flow else []
            elif word == "," and flow:
                here = flow[-1]
            elif word == "- " and not flow:
                blocks = [block for block in blocks if block[0] < column or block[0] == column and block[1] != "N"]
                blocks.append((column + 0.5, "N"))
                here = [block[1] for block in blocks]
            elif text[end:end + 1] == ":" and re.match(r"[\w.]+$", word):
                if flow:
                    here = flow[-1] + [word]
                else:
                    blocks = [block for block in blocks if block[0] < column] + [(column, word)]
                    here = [block[1] for block in blocks]
                word = self.link(word if "." in word else ".".join(here), word, experiment)
            linked += word
        return linked + text[end:]

    def block(self, match, experiment):
        """A block of code: keys of YAML, and KEY=VALUE of commands."""
        head, text, tail = match.groups()
        if 'class="yaml"' in head:
            found = re.match(r"experiment: (\w+)", text)
            if found and found.group(1) in self.keys:
                experiment = found.group(1)
            return head + self.yaml(text, experiment) + tail
        return head + re.sub(r"(?<![\w.-])([a-z][\w.]*)(?==)",
                             lambda found: self.link(found.group(1), found.group(1), experiment), text) + tail

    def add_links(self, page, experiment):
        """A page with its keys linked: whole code spans outside links and headings, and blocks of code."""
        def part(match):
            if match.group(1):
                return re.sub(r"(<pre[^>]*><code[^>]*>)(.*?)(</code></pre>)",
                              lambda block: self.block(block, experiment), match.group(0), flags=re.S)
            if match.group(2):
                return match.group(0)
            word = html.unescape(match.group(3))
            return self.link(re.split(r"[=:]", word, maxsplit=1)[0], match.group(0), experiment)

        return re.sub(r"(<pre.*?</pre>)|(<(?:a|h[1-6])\b.*?</(?:a|h[1-6])>)|<code>([a-z][\w.]*(?:[=:][^<]*)?)</code>",
                      part, page, flags=re.S)
