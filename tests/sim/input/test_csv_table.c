// SPDX-License-Identifier: Apache-2.0
#include "sim/input/csv_table.h"
#include "tests/check.h"

#include <unistd.h>

static const char path[] = "table.csv";

static void write_bytes(const char *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

// The caller owns the table.
static bb_csv_table *table_of(const char *text)
{
    bb_csv_table *table = NULL;
    write_text(path, text);
    check_ok(bb_csv_table_read(path, &table));
    return table;
}

static void check_cell(const bb_csv_cell *cell, const char *text, int line, int column)
{
    assert_string_equal(cell->text, text);
    assert_int_equal(cell->line, line);
    assert_int_equal(cell->column, column);
}

TEST(names_and_cells_have_their_places)
{
    bb_csv_table *table = table_of("# fields of lot 7\n"
                                   "\n"
                                   "x_mm,y_mm , direction\n"
                                   "  -13.0,0.5,\tup\n"
                                   ",,\n"
                                   "   # none here\n"
                                   "13.0,, down\n");
    assert_int_equal(table->column_count, 3);
    assert_int_equal(table->row_count, 2);
    check_cell(&table->names[1], "y_mm", 3, 6);
    check_cell(bb_csv_table_cell(table, 0, 0), "-13.0", 4, 3);
    check_cell(bb_csv_table_cell(table, 0, 2), "up", 4, 14);
    check_cell(bb_csv_table_cell(table, 1, 1), "", 7, 6);
    check_cell(bb_csv_table_cell(table, 1, 2), "down", 7, 8);
    assert_int_equal(bb_csv_table_column(table, "direction"), 2);
    assert_int_equal(bb_csv_table_column(table, "Direction"), -1);
    assert_int_equal(bb_csv_table_column(table, "dir"), -1);
    assert_true(strncmp(table->text, "# fields of lot 7\n", 18) == 0);
    bb_csv_table_destroy(&table);
    assert_null(table);
}

TEST(a_table_of_names_alone_has_no_row)
{
    autoptr(bb_csv_table) table = table_of("seed");
    assert_int_equal(table->column_count, 1);
    assert_int_equal(table->row_count, 0);
}

TEST(quotes_hold_commas_blanks_and_quotes)
{
    autoptr(bb_csv_table) table = table_of("\"name, long\", b\n"
                                           "\" a #1, \"\"2\"\" \" ,\"\"\n"
                                           "\"\",\"x\" \n"
                                           "\"\",\n");
    assert_int_equal(table->row_count, 2);
    check_cell(&table->names[0], "name, long", 1, 1);
    check_cell(bb_csv_table_cell(table, 0, 0), " a #1, \"2\" ", 2, 1);
    check_cell(bb_csv_table_cell(table, 0, 1), "", 2, 18);
    check_cell(bb_csv_table_cell(table, 1, 1), "x", 3, 4);
}

// Spreadsheet errors such as #N/A, #REF! and #DIV/0! are cells.
TEST(a_comment_begins_a_line)
{
    autoptr(bb_csv_table) table = table_of("#x,y\n"
                                           "x,y\n"
                                           "1,#REF!\n"
                                           "#N/A is what is missing, here\n"
                                           "#NOTE\n"
                                           "#1,2\n"
                                           "##,\n"
                                           "2 # two,#N/A\n");
    assert_int_equal(table->row_count, 2);
    check_cell(bb_csv_table_cell(table, 0, 1), "#REF!", 3, 3);
    check_cell(bb_csv_table_cell(table, 1, 0), "2 # two", 8, 1);
    check_cell(bb_csv_table_cell(table, 1, 1), "#N/A", 8, 9);
}

TEST(semicolons_come_with_decimal_commas)
{
    static const char *const cells[] = {"-13.0",  "0.5",  "1,5 mm", "+.5",  "5.", "1,2,3",
                                        "1.5e-3", "2.E4", "1,5e",   "a, b", "",   ","};
    autoptr(bb_csv_table) table = table_of("# 1,2\n"
                                           "x_mm; \"y;mm\" ;note\n"
                                           "-13,0;0,5;1,5 mm\n"
                                           "\"+,5\";5, ;1,2,3\n"
                                           "1,5e-3;2,E4;1,5e\n"
                                           "\"a, b\";;,\n");
    assert_int_equal(table->column_count, 3);
    assert_string_equal(table->names[1].text, "y;mm");
    for (int i = 0; i < 12; ++i) {
        assert_string_equal(bb_csv_table_cell(table, i / 3, i % 3)->text, cells[i]);
    }
    bb_csv_table_destroy(&table);
    write_text(path, "a;b\n1.5;2\n"); // semicolons with decimal points
    check_ok(bb_csv_table_read(path, &table));
    assert_string_equal(bb_csv_table_cell(table, 0, 0)->text, "1.5");
    bb_csv_table_destroy(&table);
    write_text(path, "a,b\n\"1,5\",c;d\n"); // commas in cells are quoted
    check_ok(bb_csv_table_read(path, &table));
    assert_string_equal(bb_csv_table_cell(table, 0, 0)->text, "1,5");
    assert_string_equal(bb_csv_table_cell(table, 0, 1)->text, "c;d");
}

TEST(byte_order_mark_and_line_ends_of_spreadsheets_are_read)
{
    autoptr(bb_csv_table) table = table_of("\xef\xbb\xbf"
                                           "a,b\r\n"
                                           "1,2\r\n"
                                           "\r\n"
                                           "3,4\r");
    assert_int_equal(table->row_count, 2);
    check_cell(&table->names[0], "a", 1, 1);
    check_cell(&table->names[1], "b", 1, 3);
    check_cell(bb_csv_table_cell(table, 1, 1), "4", 4, 3);
}

TEST(what_is_wrong_is_named_with_its_place)
{
    const struct {
        const char *text, *message;
    } cases[] = {
        {"", ": the file is empty, expected a line with the column names"},
        {"# x, y\n,,\n", ": the file is empty"},
        {"x\ty\n1\t2\n", ":1:2: columns separated by tabs"},
        {"# |\n\nx |y\n", ":3:3: columns separated by bars"},
        {"x,,y\n", ":1:3: column 2 has no name"},
        {"x,y,\n", ":1:5: column 3 has no name"},
        {"x,y,x\n", ":1:5: duplicate column x"},
        {"x,y\n\n1\n", ":3: 1 cells, expected 2, the number of names in line 1"},
        {"x,y\n1,2,3\n", ":2: 3 cells, expected 2"},
        {"x,y\n1,2,\n", ":2: 3 cells, expected 2"},
        {"x,y\n1,\"2\n", ":2:3: quote without a closing quote on the line"},
        {"x,y\n\"1\" 2,3\n", ":2:5: '2,3' after a quoted cell, expected a comma"},
        {"x,y\n1,\"2\" # two\n", ":2:7: '# two' after a quoted cell, expected a comma"},
        {"x;y\n\"1\",2;3\n", ":2:4: ',2;3' after a quoted cell, expected a semicolon"},
        {"x;y\n1;2;3\n", ":2: 3 cells, expected 2"},
        {"x,y\n1,2\n#N/A,3\n", ":3:1: '#N/A' is not a value (a comment starts with '# ')"},
        {"x;y\n #BEZUG!;3\n", ":2:2: '#BEZUG!' is not a value"},
        {"x;y\n#\xd0\x9d/\xd0\x94;3\n", ":2:1: '#\xd0\x9d/\xd0\x94' is not a value"},
        {"x\n#DIV/0!\n", ":2:1: '#DIV/0!' is not a value"},
        {"x;y\n1,5;2\n3;1.250\n",
         ":3:3: '1.250' has a decimal point but line 2 has decimal commas"},
        {"x,y\n1, 2\" pipe\n", ":2:5: a quote inside a cell"},
        {"x,y\r1,2\r", ":1:4: a carriage return inside a line"},
    };
    bb_csv_table *table = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char expected[160];
        (void)snprintf(expected, sizeof expected, "%s%s", path, cases[i].message);
        write_text(path, cases[i].text);
        check_fails(bb_csv_table_read(path, &table), BB_INVALID, expected);
        assert_null(table);
    }
    write_bytes("x\0,\0y\0\n\0", 8);
    check_fails(bb_csv_table_read(path, &table), BB_INVALID, ": a NUL character, expected UTF-8");
    check_fails(bb_csv_table_read("/nowhere/a.csv", &table), BB_IO, "'/nowhere/a.csv': No such");
    check_fails(bb_csv_table_read("/dev/zero", &table), BB_IO, "/dev/zero");
    check_fails(bb_csv_table_read("/tmp", &table), BB_IO, "/tmp");
}

TEST(sizes_are_limited)
{
    bb_csv_table *table = NULL;
    char *text = malloc(BB_CSV_BYTES + 2);
    assert_non_null(text);
    memset(text, '\n', BB_CSV_BYTES + 1);
    memcpy(text, "x,y", 3);
    write_bytes(text, BB_CSV_BYTES + 1);
    check_fails(bb_csv_table_read(path, &table), BB_INVALID, "bytes, expected at most 16777216");
    write_bytes(text, BB_CSV_BYTES);
    check_ok(bb_csv_table_read(path, &table));
    bb_csv_table_destroy(&table);
    for (bb_index row = 0; row <= BB_CSV_ROWS; ++row) {
        memcpy(text + 4 + 4 * row, "1,2\n", 4);
    }
    write_bytes(text, 4 + 4 * (size_t)BB_CSV_ROWS);
    check_ok(bb_csv_table_read(path, &table));
    assert_int_equal(table->row_count, BB_CSV_ROWS);
    bb_csv_table_destroy(&table);
    write_bytes(text, 4 + 4 * (size_t)(BB_CSV_ROWS + 1));
    check_fails(bb_csv_table_read(path, &table), BB_INVALID, ":100002: more than 100000 rows");
    memset(text, ',', BB_CSV_COLUMNS);
    write_bytes(text, BB_CSV_COLUMNS);
    check_fails(bb_csv_table_read(path, &table), BB_INVALID, ":1: more than 256 cells");
    free(text);
}

TEST_GROUP(.has_folder = true);
