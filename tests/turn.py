# SPDX-License-Identifier: Apache-2.0
"""The longest searches try one case in four where BB_TEST_TURN is 0, 1, 2 or 3, as .ci/run draws
it from the commit's hash, and every case where it is not set. tests/turn.h says the same to C."""
import os

TURNS = 4


def of_turn(cases):
    text = os.environ.get("BB_TEST_TURN")
    if text is None:
        return list(cases)
    if text not in map(str, range(TURNS)):
        raise SystemExit(f"BB_TEST_TURN is '{text}', expected 0 to {TURNS - 1}")
    return list(cases)[int(text)::TURNS]
