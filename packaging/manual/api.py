# SPDX-License-Identifier: Apache-2.0
"""The public names of the Python package as Markdown, from their docstrings (numpydoc)."""
import importlib
import inspect
import re
import sys

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)


def entries(text):
    """Items of a section of parameters: a name with its type, and indented lines."""
    for found in re.finditer(r"^(\S[^\n]*)\n?((?:(?: {4}[^\n]*)?\n)*(?: {4}[^\n]*)?)", text, re.M):
        meaning = " ".join(found.group(2).split())
        yield f"- `{found.group(1).strip()}`" + (f": {meaning}" if meaning else "")


def markdown(docstring):
    """A docstring as Markdown."""
    parts = SECTION.split(inspect.cleandoc(docstring or ""))
    text = re.sub(r"``(.+?)``", r"`\1`", parts[0].strip())
    for name, body in zip(parts[1::2], parts[2::2]):
        if name == "Examples":
            text += f"\n\n```\n{body.strip()}\n```"
        else:
            text += f"\n\n{name}:\n\n" + re.sub(r"``(.+?)``", r"`\1`", "\n".join(entries(body.strip("\n"))))
    return text


def describe(name, item, level):
    """A heading with the signature, and the text of a function or a class with its methods."""
    try:
        signature = str(inspect.signature(item))
    except (TypeError, ValueError):
        signature = ""
    signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature).replace("self, ", "").replace("(self)", "()")
    signature = re.sub(r"\b(np|os|h5py)\.| -> None$", "", signature)
    text = f"\n\n{'#' * level} {name}\n\n`{name}{signature}`\n\n{markdown(item.__doc__)}"
    if inspect.isclass(item) and not issubclass(item, BaseException):
        for member, value in vars(item).items():
            if not member.startswith("_") and getattr(value, "__doc__", None):
                made = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
                if isinstance(value, property) or hasattr(value, "func"):
                    text += f"\n\n{'#' * (level + 1)} {name}.{member}\n\n{markdown(made.__doc__)}"
                else:
                    text += describe(f"{name}.{member}", made, level + 1)
    return text


def pictures():
    """The kinds of pictures: the parameters of all, then name, content and options of each."""
    methods = [kind.method() for kind in importlib.import_module("bitbudget.plot").kinds()]
    shared, text = "", ""
    for method in methods:
        meaning, _, rest = markdown(method.__doc__).partition("\n\nParameters:\n\n")
        lines = rest.partition("\n\nReturns:")[0].splitlines()
        shared, options = "\n".join(lines[:2]), "".join(f"\n  {line}" for line in lines[2:])
        text += f"\n- `{method.__name__}`: " + meaning.replace("\n\n", " ") + options
    return ("\n\n#### bitbudget.Result.plot.KIND\n\n`KIND(axes=None, size=None, *, ...) -> Figure`\n\n"
            f"Parameters of all kinds:\n\n{shared}\n\nKinds and their options:\n{text}")


def reference(folder):
    """Markdown of all public names of the package in a folder."""
    sys.path.insert(0, str(folder))
    package = importlib.import_module("bitbudget")
    return "".join(describe(f"bitbudget.{name}", getattr(package, name), 3) + pictures() * (name == "Result")
                   for name in package.__all__)


if __name__ == "__main__":
    print(reference(sys.argv[1]))
