// SPDX-License-Identifier: Apache-2.0
//
// What every test program includes first: cmocka in the order it wants, and checks of doubles that
// print got, expected and the difference.
#ifndef BB_TESTS_CHECK_H
#define BB_TESTS_CHECK_H

// clang-format off
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h> // needs the ones above
// clang-format on

/// |got - expected| <= tolerance * |scale|. NaN never passes.
#define check_close(got, expected, tolerance, scale)                                               \
    check_close_at((got), (expected), (tolerance)*fabs(scale), #got, __FILE__, __LINE__)

/// |got - expected| <= tolerance * |expected|.
#define check_relative(got, expected, tolerance)                                                   \
    check_close_at((got), (expected), (tolerance)*fabs(expected), #got, __FILE__, __LINE__)

static inline void check_close_at(double got, double expected, double bound, const char *what,
                                  const char *file, int line)
{
    if (!(fabs(got - expected) <= bound)) {
        print_error("%s: got %.17g, expected %.17g, difference %.3g over the bound %.3g\n", what,
                    got, expected, got - expected, bound);
        _fail(file, line);
    }
}

/// The call succeeds; otherwise the message and trace are printed.
#define check_ok(call)                                                                             \
    do {                                                                                           \
        bb_status checked_ = (call);                                                               \
        if (checked_ != BB_OK) {                                                                   \
            print_error("%s: %s\n%s", #call, bb_status_message(), bb_status_trace_text());         \
            _fail(__FILE__, __LINE__);                                                             \
        }                                                                                          \
    } while (0)

/// The call fails with `code` and a message that contains `text`.
#define check_fails(call, code, text)                                                              \
    do {                                                                                           \
        assert_int_equal((call), (code));                                                          \
        if (strstr(bb_status_message(), (text)) == NULL) {                                         \
            print_error("message '%s' lacks '%s'\n", bb_status_message(), (text));                 \
            _fail(__FILE__, __LINE__);                                                             \
        }                                                                                          \
    } while (0)

#endif
