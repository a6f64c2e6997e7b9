// SPDX-License-Identifier: Apache-2.0
//
// The longest searches try one case in four where BB_TEST_TURN is 0, 1, 2 or 3, as .ci/run draws it
// from the commit's hash, and every case where it is not set. tests/turn.py says the same to
// scripts.
#ifndef BB_TESTS_TURN_H
#define BB_TESTS_TURN_H

#include "core/status.h"
#include "tests/check.h"

#include <stdlib.h>
#include <string.h>

enum { TURNS = 4 };

/// Cases `first`, `first + stride`, ... of those numbered from 0.
typedef struct test_turn {
    bb_index first, stride;
} test_turn;

static const test_turn turn_all = {0, 1};

static inline test_turn turn_of_environment(void)
{
    const char *text = getenv("BB_TEST_TURN");
    if (text == NULL) {
        return turn_all;
    }
    if (strlen(text) != 1 || text[0] < '0' || text[0] >= '0' + TURNS) {
        print_error("BB_TEST_TURN is '%s', expected 0 to %d\n", text, TURNS - 1);
        abort();
    }
    return (test_turn){text[0] - '0', TURNS};
}

#endif
