// SPDX-License-Identifier: Apache-2.0
#include "sim/input/csv_table.h"

#include "core/disk_file.h"
#include "core/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char BLANKS[] = " \t";

typedef struct reading {
    const char *file;
    bb_csv_table *table;
    int line;           // from 1
    char separator;     // cell separator: a comma, or a semicolon if the header line has it
    char *start;        // start of the line, for columns
    bb_csv_cell *found; // cells of the line
    bb_index count;
} reading;

// The caller owns `*out`.
static bb_status read_text(const char *file, char **out)
{
    bb_status status = BB_OK;
    FILE *stream = NULL;
    char *text = NULL;
    size_t length = 0;
    BB_TRY(bb_disk_file_open(file, true, &stream));
    BB_REQUIRE(fseek(stream, 0, SEEK_END) == 0, BB_IO, "'%s': %s", file, strerror(errno));
    const long bytes = ftell(stream);
    BB_REQUIRE(bytes >= 0, BB_IO, "'%s': %s", file, strerror(errno));
    BB_REQUIRE(bytes <= BB_CSV_BYTES, BB_INVALID, "%s: %ld bytes, expected at most %d", file, bytes,
               BB_CSV_BYTES);
    rewind(stream);
    BB_TRY(BB_ZEROED(bytes + 1, &text));
    length = fread(text, 1, (size_t)bytes, stream);
    BB_REQUIRE(ferror(stream) == 0, BB_IO, "'%s': %s", file, strerror(errno));
    BB_REQUIRE(strlen(text) == length, BB_INVALID,
               "%s: a NUL character, expected UTF-8 text (a spreadsheet calls it CSV UTF-8)", file);
    *out = text;
    text = NULL;
done:
    BB_RELEASE(&text);
    if (stream != NULL) {
        (void)fclose(stream);
    }
    return status;
}

static bb_index occurrences(const char *text, char letter)
{
    bb_index count = 0;
    for (const char *c = strchr(text, letter); c != NULL; c = strchr(c + 1, letter)) {
        ++count;
    }
    return count;
}

static int column_of(const reading *measured, const char *place)
{
    return (int)(place - measured->start) + 1;
}

// Cuts a cell from after the opening quote to after the closing one; `""` is replaced by one quote
// in place.
static bb_status cut_quoted(const reading *measured, char *cell, char **end)
{
    bb_status status = BB_OK;
    char *out = cell;
    char *c = cell;
    while (c[0] != '\0' && (c[0] != '"' || c[1] == '"')) {
        c += c[0] == '"';
        *out++ = *c++;
    }
    BB_REQUIRE(*c == '"', BB_INVALID, "%s:%d:%d: quote without a closing quote on the line",
               measured->file, measured->line, column_of(measured, cell) - 1);
    *out = '\0';
    *end = c + 1 + strspn(c + 1, BLANKS);
    BB_REQUIRE(**end == measured->separator || **end == '\0', BB_INVALID,
               "%s:%d:%d: '%.20s' after a quoted cell, expected a %s", measured->file,
               measured->line, column_of(measured, *end), *end,
               measured->separator == ',' ? "comma" : "semicolon");
done:
    return status;
}

static bb_status cut_plain(const reading *measured, char *cell, char **end)
{
    bb_status status = BB_OK;
    *end = cell + strcspn(cell, (const char[]){measured->separator, '"', '\0'});
    BB_REQUIRE(**end != '"', BB_INVALID,
               "%s:%d:%d: a quote inside a cell, expected quotes around the cell", measured->file,
               measured->line, column_of(measured, *end));
done:
    return status;
}

// Cell separator of a header line: a comma if the header has one outside of quotes, else a
// semicolon if present.
static char find_separator(const char *names)
{
    bool is_quoted = false, has_semicolon = false;
    for (const char *c = names; *c != '\0'; ++c) {
        is_quoted = is_quoted != (*c == '"');
        if (*c == ',' && !is_quoted) {
            return ',';
        }
        has_semicolon = has_semicolon || (*c == ';' && !is_quoted);
    }
    return has_semicolon ? ';' : ',';
}

static void trim(char *cell, char *end)
{
    while (end > cell && strchr(BLANKS, end[-1]) != NULL) {
        --end;
    }
    *end = '\0';
}

// True if a line that starts with # is a row whose first cell is a spreadsheet error such as #N/A,
// #REF! or #DIV/0! in any language: capitals without a blank, and as many cells as names.
static bool begins_with_error(const reading *measured, const char *line)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_";
    const char *c = line + 1;
    if (strchr("0123456789/_", *c) != NULL) {
        return false;
    }
    while (*c != '\0' && (strchr(letters, *c) != NULL || (unsigned char)*c > 0x7f)) {
        ++c;
    }
    c += *c == '!' || *c == '?';
    c += strspn(c, BLANKS);
    return (*c == measured->separator || *c == '\0') &&
           occurrences(line, measured->separator) + 1 == measured->table->column_count;
}

static bb_status skip_comment(const reading *measured, const char *line, bool *is_comment)
{
    bb_status status = BB_OK;
    *is_comment = *line == '#';
    BB_REQUIRE(!*is_comment || !begins_with_error(measured, line), BB_INVALID,
               "%s:%d:%d: '%.*s' is not a value (a comment starts with '# ')", measured->file,
               measured->line, column_of(measured, line),
               (int)strcspn(line, (const char[]){measured->separator, '\0'}), line);
done:
    return status;
}

// Cuts a NUL-terminated line into cells; a blank line or a comment has none.
static bb_status cut_line(reading *measured, char *line)
{
    bb_status status = BB_OK;
    char *end = line;
    bool is_comment = false;
    measured->start = line;
    measured->count = 0;
    line += strspn(line, BLANKS);
    BB_TRY(skip_comment(measured, line, &is_comment));
    if (is_comment || *line == '\0') {
        goto done;
    }
    if (measured->table->column_count == 0) {
        measured->separator = find_separator(line);
    }
    for (char mark = measured->separator; mark == measured->separator; line = end + 1) {
        char *cell = line + strspn(line, BLANKS);
        BB_REQUIRE(measured->count < BB_CSV_COLUMNS, BB_INVALID, "%s:%d: more than %d cells",
                   measured->file, measured->line, BB_CSV_COLUMNS);
        measured->found[measured->count++] = (bb_csv_cell){
            *cell == '"' ? cell + 1 : cell, measured->line, column_of(measured, cell)};
        if (*cell == '"') {
            BB_TRY(cut_quoted(measured, cell + 1, &end));
            mark = *end;
        } else {
            BB_TRY(cut_plain(measured, cell, &end));
            mark = *end;
            trim(cell, end);
        }
    }
done:
    return status;
}

static bool has_content(const reading *measured)
{
    for (bb_index i = 0; i < measured->count; ++i) {
        if (measured->found[i].text[0] != '\0') {
            return true;
        }
    }
    return false;
}

static bb_status read_names(reading *measured)
{
    bb_status status = BB_OK;
    bb_csv_table *table = measured->table;
    const bb_csv_cell *names = measured->found;
    const size_t plain = strcspn(names[0].text, "\t|");
    BB_REQUIRE(measured->count > 1 || names[0].text[plain] == '\0', BB_INVALID,
               "%s:%d:%d: columns separated by %s, expected commas or semicolons", measured->file,
               names[0].line, names[0].column + (int)plain,
               names[0].text[plain] == '\t' ? "tabs" : "bars");
    for (bb_index i = 0; i < measured->count; ++i) {
        BB_REQUIRE(names[i].text[0] != '\0', BB_INVALID, "%s:%d:%d: column %td has no name",
                   measured->file, names[i].line, names[i].column, i + 1);
        table->column_count = i;
        BB_REQUIRE(bb_csv_table_column(table, names[i].text) < 0, BB_INVALID,
                   "%s:%d:%d: duplicate column %.60s", measured->file, names[i].line,
                   names[i].column, names[i].text);
    }
    table->column_count = measured->count;
    measured->found += measured->count;
    table->cells = measured->found;
done:
    return status;
}

static bb_status read_row(reading *measured)
{
    bb_status status = BB_OK;
    bb_csv_table *table = measured->table;
    BB_REQUIRE(measured->count == table->column_count, BB_INVALID,
               "%s:%d: %td cells, expected %td, the number of names in line %d", measured->file,
               measured->line, measured->count, table->column_count, table->names[0].line);
    BB_REQUIRE(table->row_count < BB_CSV_ROWS, BB_INVALID, "%s:%d: more than %d rows",
               measured->file, measured->line, BB_CSV_ROWS);
    ++table->row_count;
    measured->found += measured->count;
done:
    return status;
}

// Replaces the end of the line by a NUL; `*rest` is NULL after the last line.
static bb_status end_line(const reading *measured, char *line, char **rest)
{
    bb_status status = BB_OK;
    char *end = strchr(line, '\n');
    *rest = end == NULL ? NULL : end + 1;
    end = end == NULL ? line + strlen(line) : end;
    end -= end > line && end[-1] == '\r';
    *end = '\0';
    const char *inside = strchr(line, '\r');
    BB_REQUIRE(inside == NULL, BB_INVALID,
               "%s:%d:%td: a carriage return inside a line, expected line feeds at line ends",
               measured->file, measured->line, inside - line + 1);
done:
    return status;
}

// Position of `mark` in a number with digits on either side; NULL for any other text.
static char *find_mark(char *cell, char mark)
{
    static const char digits[] = "0123456789";
    char *place = cell + (*cell == '+' || *cell == '-');
    const size_t whole = strspn(place, digits);
    place += whole;
    const size_t part = *place == mark ? strspn(place + 1, digits) : 0;
    const char *end = place + 1 + part;
    if (*place != mark || whole + part == 0) {
        return NULL;
    }
    if (*end == 'e' || *end == 'E') {
        ++end;
        end += *end == '+' || *end == '-';
        const size_t exponent = strspn(end, digits);
        end += exponent == 0 ? -1 : (ptrdiff_t)exponent;
    }
    return *end == '\0' ? place : NULL;
}

// With semicolons, decimal commas are replaced by points; a cell with both may use points to group
// thousands.
static bb_status replace_decimal_commas(const reading *measured)
{
    bb_status status = BB_OK;
    const bb_csv_cell *point = NULL, *comma = NULL;
    const bb_csv_table *table = measured->table;
    for (bb_index i = 0; i < table->row_count * table->column_count; ++i) {
        const bb_csv_cell *cell = &table->cells[i];
        char *text = table->cut + (cell->text - table->cut);
        char *mark = find_mark(text, ',');
        point = point == NULL && find_mark(text, '.') != NULL ? cell : point;
        if (mark != NULL) {
            comma = cell;
            *mark = '.';
        }
    }
    BB_REQUIRE(
        point == NULL || comma == NULL, BB_INVALID,
        "%s:%d:%d: '%.20s' has a decimal point but line %d has decimal commas, expected one style",
        measured->file, point->line, point->column, point->text, comma->line);
done:
    return status;
}

static bb_status cut_table(const char *file, bb_csv_table *table)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    bb_status status = BB_OK;
    reading measured = {.file = file, .table = table, .separator = ','};
    // Every cell ends with a separator or the line.
    const bb_index capacity = occurrences(table->text, ',') + occurrences(table->text, ';') +
                              occurrences(table->text, '\n') + 1;
    BB_TRY(BB_ALLOCATE(capacity, &table->names));
    measured.found = table->names;
    char *line = table->cut;
    if (strncmp(line, byte_order_mark, strlen(byte_order_mark)) == 0) {
        line += strlen(byte_order_mark);
    }
    while (line != NULL) {
        char *rest = NULL;
        ++measured.line;
        BB_TRY(end_line(&measured, line, &rest));
        BB_TRY(cut_line(&measured, line));
        if (has_content(&measured)) {
            BB_TRY(table->column_count == 0 ? read_names(&measured) : read_row(&measured));
        }
        line = rest;
    }
    BB_REQUIRE(table->column_count > 0, BB_INVALID,
               "%s: the file is empty, expected a line with the column names", file);
    if (measured.separator == ';') {
        BB_TRY(replace_decimal_commas(&measured));
    }
done:
    return status;
}

// Makes a table from a text, whose ownership it takes.
static bb_status make_table(const char *file, char **text, bb_csv_table **out)
{
    bb_status status = BB_OK;
    bb_csv_table *table = NULL;
    BB_TRY(BB_ZEROED(1, &table));
    table->text = *text;
    *text = NULL;
    BB_TRY(bb_memory_printf(&table->cut, "%s", table->text));
    BB_TRY(cut_table(file, table));
    *out = table;
    table = NULL;
done:
    bb_csv_table_destroy(&table);
    return status;
}

bb_status bb_csv_table_read(const char *file, bb_csv_table **out)
{
    bb_status status = BB_OK;
    char *text = NULL;
    *out = NULL;
    BB_TRY(read_text(file, &text));
    BB_TRY(make_table(file, &text, out));
done:
    BB_RELEASE(&text);
    return status;
}

bb_status bb_csv_table_parse(const char *file, const char *text, bb_csv_table **out)
{
    bb_status status = BB_OK;
    char *copy = NULL;
    *out = NULL;
    BB_TRY(bb_memory_printf(&copy, "%s", text));
    BB_TRY(make_table(file, &copy, out));
done:
    BB_RELEASE(&copy);
    return status;
}

void bb_csv_table_destroy(bb_csv_table **table)
{
    if (*table != NULL) {
        BB_RELEASE(&(*table)->names);
        BB_RELEASE(&(*table)->cut);
        BB_RELEASE(&(*table)->text);
    }
    BB_RELEASE(table);
}

bb_index bb_csv_table_column(const bb_csv_table *table, const char *name)
{
    for (bb_index column = 0; column < table->column_count; ++column) {
        if (strcmp(table->names[column].text, name) == 0) {
            return column;
        }
    }
    return -1;
}

const bb_csv_cell *bb_csv_table_cell(const bb_csv_table *table, bb_index row, bb_index column)
{
    return &table->cells[row * table->column_count + column];
}
