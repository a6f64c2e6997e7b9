// SPDX-License-Identifier: Apache-2.0
#include "sim/input/policy_table.h"
#include "tests/check.h"

static const char path[] = "variants.txt";

TEST(rows_counts_and_comments_are_read)
{
    autorelease(bb_policy_table) table;
    write_text(path, "# of three tile rows\n"
                     "dp\n"
                     "\n"
                     "hp1 sp  # the diagonal last\n"
                     "\tfp8*2 x3");
    check_ok(bb_policy_table_read(path, &table));
    const bb_variant expected[6] = {BB_VARIANT_DP,  BB_VARIANT_HP1, BB_VARIANT_SP,
                                    BB_VARIANT_FP8, BB_VARIANT_FP8, BB_VARIANT_X3};
    assert_int_equal(table.tile_rows, 3);
    for (int i = 0; i < 6; ++i) {
        assert_int_equal(table.variants[i], expected[i]);
    }
}

TEST(many_rows_grow)
{
    enum { ROWS = 60 };
    autorelease(bb_policy_table) table;
    char text[ROWS * 16] = "";
    for (int i = 1; i <= ROWS; ++i) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, i == 1 ? "hp%d\n" : "hp1*%d\n", i);
    }
    write_text(path, text);
    check_ok(bb_policy_table_read(path, &table));
    assert_int_equal(table.tile_rows, ROWS);
    assert_int_equal(table.variants[ROWS * (ROWS + 1) / 2 - 1], BB_VARIANT_HP1);
}

TEST(what_is_wrong_is_named_with_its_line)
{
    const struct {
        const char *text, *message;
    } cases[] = {
        {"sp\nsp hp9\n", ":2: unknown variant 'hp9', expected one of dp, sp"},
        {"sp\n\nsp\n", ":3: 1 variants in tile row 2, expected 2"},
        {"sp\nsp*3\n", ":2: more than 2 variants in tile row 2"},
        {"sp*0\n", ":1: sp*0: expected a count after *"},
        {"sp*x\n", ":1: sp*x: expected a count after *"},
        {"# nothing\n", ": no tile rows in the file"},
    };
    bb_policy_table table;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        write_text(path, cases[i].text);
        check_fails(bb_policy_table_read(path, &table), BB_INVALID, cases[i].message);
        assert_null(table.variants);
    }
    check_fails(bb_policy_table_read("/nowhere/table.txt", &table), BB_IO,
                "'/nowhere/table.txt': No such file");
    check_fails(bb_policy_table_read("/dev/zero", &table), BB_IO, "not a regular file");
    check_fails(bb_policy_table_read("/tmp", &table), BB_IO, "not a regular file");
}

TEST_GROUP(.has_folder = true);
