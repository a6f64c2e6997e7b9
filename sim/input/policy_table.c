// SPDX-License-Identifier: Apache-2.0
#include "sim/input/policy_table.h"

#include "core/file.h"
#include "core/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Room for a tile row of 65,536 names of four letters, more tiles than any factorization has.
enum { LINE_BYTES = 1 << 19, MOST_ROWS = 65536 };

typedef struct reading {
    const char *file;
    bb_index line; // from 1
    bb_policy_table table;
    bb_index capacity; // in variants
    bb_index filled;   // number of variants read for the current tile row
} reading;

static bb_status append(reading *measured, bb_variant variant)
{
    bb_status status = BB_OK;
    bb_variant *longer = NULL;
    bb_index row = measured->table.tile_rows;
    bb_index used = row * (row + 1) / 2 + measured->filled;
    BB_REQUIRE(measured->filled <= row, BB_INVALID,
               "%s:%td: more than %td variants in tile row %td", measured->file, measured->line,
               row + 1, row + 1);
    if (used == measured->capacity) {
        bb_index capacity = 2 * measured->capacity + 64;
        BB_TRY(BB_ALLOCATE(capacity, &longer));
        if (used > 0) {
            memcpy(longer, measured->table.variants, (size_t)used * sizeof *longer);
        }
        BB_RELEASE(&measured->table.variants);
        measured->table.variants = longer;
        measured->capacity = capacity;
    }
    measured->table.variants[used] = variant;
    ++measured->filled;
done:
    return status;
}

// Reads "hp1" or "hp1*20".
static bb_status read_word(reading *measured, char *word)
{
    bb_status status = BB_OK;
    long times = 1;
    int found = 0;
    char *star = strchr(word, '*');
    if (star != NULL) {
        char *end = NULL;
        *star = '\0';
        times = strtol(star + 1, &end, 10);
        BB_REQUIRE(end != star + 1 && *end == '\0' && times >= 1 && times <= MOST_ROWS, BB_INVALID,
                   "%s:%td: %s*%s: expected a count after *", measured->file, measured->line, word,
                   star + 1);
    }
    while (found < BB_VARIANT_COUNT && strcmp(word, bb_variant_names[found]) != 0) {
        ++found;
    }
    BB_REQUIRE(found < BB_VARIANT_COUNT, BB_INVALID,
               "%s:%td: unknown variant '%.40s', expected one of dp, sp, tf32, bf16, hp1, hp2, "
               "hp3, x3, fp8",
               measured->file, measured->line, word);
    for (long i = 0; i < times; ++i) {
        BB_TRY(append(measured, (bb_variant)found));
    }
done:
    return status;
}

static bb_status read_line(reading *measured, char *line)
{
    bb_status status = BB_OK;
    char *rest = NULL;
    char *comment = strchr(line, '#');
    if (comment != NULL) {
        *comment = '\0';
    }
    measured->filled = 0;
    for (char *word = strtok_r(line, " \t\r\n", &rest); word != NULL;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        BB_TRY(read_word(measured, word));
    }
    if (measured->filled > 0) {
        bb_index expected = measured->table.tile_rows + 1;
        BB_REQUIRE(measured->filled == expected, BB_INVALID,
                   "%s:%td: %td variants in tile row %td, expected %td", measured->file,
                   measured->line, measured->filled, expected, expected);
        BB_REQUIRE(expected <= MOST_ROWS, BB_INVALID, "%s:%td: more than %d tile rows",
                   measured->file, measured->line, MOST_ROWS);
        measured->table.tile_rows = expected;
    }
done:
    return status;
}

bb_status bb_policy_table_read(const char *file, bb_policy_table *out)
{
    bb_status status = BB_OK;
    char *line = NULL;
    reading measured = {.file = file};
    FILE *stream = NULL;
    double bytes = 0.0;
    *out = (bb_policy_table){0};
    BB_TRY(bb_file_stamp_size(file, &bytes)); // a device file could be endless
    stream = fopen(file, "rb");
    BB_REQUIRE(stream != NULL, BB_IO, "'%s': %s", file, strerror(errno));
    BB_TRY(BB_ALLOCATE(LINE_BYTES, &line));
    while (fgets(line, LINE_BYTES, stream) != NULL) {
        ++measured.line;
        BB_REQUIRE(line[0] != '\0', BB_INVALID, "%s:%td: NUL character, expected text", file,
                   measured.line);
        BB_REQUIRE(strlen(line) + 1 < LINE_BYTES, BB_INVALID,
                   "%s:%td: more than %d bytes in a line", file, measured.line, LINE_BYTES - 2);
        BB_TRY(read_line(&measured, line));
    }
    BB_REQUIRE(!ferror(stream), BB_IO, "table '%s': %s", file, strerror(errno));
    BB_REQUIRE(measured.table.tile_rows > 0, BB_INVALID, "%s: no tile rows in the file", file);
    *out = measured.table;
    measured.table = (bb_policy_table){0};
done:
    if (stream != NULL) {
        (void)fclose(stream);
    }
    BB_RELEASE(&line);
    bb_policy_table_release(&measured.table);
    return status;
}

void bb_policy_table_release(bb_policy_table *table)
{
    BB_RELEASE(&table->variants);
    table->tile_rows = 0;
}
