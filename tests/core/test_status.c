// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"
#include "tests/check.h"

static bb_status fails(int got)
{
    bb_status status = BB_OK;
    BB_REQUIRE(got == 4, BB_IO, "got %d, expected 4", got);
done:
    return status;
}

static bb_status passes_on(int got)
{
    bb_status status = BB_OK;
    BB_TRY(fails(got));
done:
    return status;
}

TEST(message_says_got_and_expected)
{
    assert_int_equal(passes_on(3), BB_IO);
    assert_string_equal(bb_status_message(), "got 3, expected 4");
}

TEST(trace_lists_places_innermost_first)
{
    assert_int_equal(passes_on(3), BB_IO);
    const char *inner = strstr(bb_status_trace_text(), "input or output failed");
    const char *outer = strstr(bb_status_trace_text(), "fails(got)");
    assert_non_null(inner);
    assert_non_null(outer);
    assert_true(inner < outer);
}

TEST(success_leaves_ok)
{
    assert_int_equal(passes_on(4), BB_OK);
}

TEST(exit_codes_are_those_of_the_manual)
{
    assert_int_equal(bb_status_exit_code(BB_OK), 0);
    assert_int_equal(bb_status_exit_code(BB_INVALID), 2);
    assert_int_equal(bb_status_exit_code(BB_UNSUPPORTED), 2);
    assert_int_equal(bb_status_exit_code(BB_IO), 3);
    assert_int_equal(bb_status_exit_code(BB_MEMORY), 4);
    assert_int_equal(bb_status_exit_code(BB_DEVICE), 5);
    assert_int_equal(bb_status_exit_code(BB_INTERNAL), 6);
}

TEST(long_messages_are_cut_not_overrun)
{
    char text[4000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(bb_status_set(BB_INVALID, "f.c", 1, "%s", text), BB_INVALID);
    assert_true(strlen(bb_status_message()) < sizeof(bb_status_record));
}
