// SPDX-License-Identifier: Apache-2.0
#include "core/text.h"
#include "tests/check.h"

TEST(pieces_add_up)
{
    autorelease(bb_text) text = {0};
    assert_string_equal(bb_text_string(&text), "");
    check_ok(bb_text_add(&text, "%d", 12));
    check_ok(bb_text_add_bytes(&text, "345", 2));
    assert_string_equal(bb_text_string(&text), "1234");
    assert_int_equal(text.length, 4);
}

// A title in a file is untrusted: control sequences do not reach the terminal.
TEST(what_steers_a_terminal_is_not_printed)
{
    static const char given[] = "a\tb\n\x1b[31mred \x07\x7f\r \xc2\x9b"
                                "2J \xc3\xa4 \xc2\xb5m";
    char printed[64] = "";
    FILE *file = tmpfile();
    assert_non_null(file);
    bb_text_print(given, file);
    rewind(file);
    printed[fread(printed, 1, sizeof printed - 1, file)] = '\0';
    (void)fclose(file);
    assert_string_equal(printed, "a\tb\n?[31mred ??? ?2J \xc3\xa4 \xc2\xb5m");
}
