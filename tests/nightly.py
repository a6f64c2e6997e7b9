# SPDX-License-Identifier: Apache-2.0
"""Long searches run every fourth case, or all cases if BB_TEST_NIGHTLY is set (tests/nightly)."""
import os

STRIDE = 4
IS_WHOLE = "BB_TEST_NIGHTLY" in os.environ


def part_of(cases):
    return list(cases)[::1 if IS_WHOLE else STRIDE]
