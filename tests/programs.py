#!/usr/bin/env python3
"""Names of the test programs that `ctest --show-only=json-v1`, read from standard input, would start."""
import json
import pathlib
import sys

tests = json.load(sys.stdin)["tests"]
names = {pathlib.Path(test["command"][0]).name for test in tests if "command" in test}
print("\n".join(sorted(name for name in names if name.startswith("test-"))))
