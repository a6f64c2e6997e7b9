// SPDX-License-Identifier: Apache-2.0
//
// A schema with a key of every kind, and an experiment whose run can be made to wait.
#ifndef BB_TESTS_SIM_TOY_H
#define BB_TESTS_SIM_TOY_H

#include "sim/run/experiment.h"
#include "sim/run/study.h"

typedef struct toy_grid {
    bb_index columns;
    bb_index rows;
} toy_grid;

typedef struct toy_record {
    const char *name;
    toy_grid grid; ///< shorthand for a grid: columns
    double weight;
    int device;
} toy_record;

typedef struct toy_study {
    bb_study common;
    double length_m;
    double optional_m;
    bb_index steps;
    bool flag;
    const char *file;
    int word;
    bb_list numbers;
    bb_list integers;
    bb_list words;
    toy_grid grid;
    toy_grid extra; ///< optional
    bb_list records;
    double wait_s; ///< duration of the run
} toy_study;

enum { TOY_WORDS = 3 };
static const char *const toy_words[] = {"on", "two words", "plain", NULL};

// clang-format off
static const bb_key toy_grid_keys[] = {
    {.name = "columns", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 100.0,
     .offset = offsetof(toy_grid, columns), .meaning = "Columns."},
    {.name = "rows", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 100.0,
     .offset = offsetof(toy_grid, rows), .default_text = "7", .meaning = "Rows."},
};
static const bb_schema toy_grid_schema = BB_SCHEMA("grid", toy_grid, toy_grid_keys);

static const bb_key toy_record_keys[] = {
    {.name = "name", .kind = BB_KEY_TEXT, .offset = offsetof(toy_record, name),
     .meaning = "A name."},
    {.name = "grid", .kind = BB_KEY_GROUP, .schema = &toy_grid_schema, .shorthand = "columns",
     .offset = offsetof(toy_record, grid), .meaning = "A grid."},
    {.name = "weight", .kind = BB_KEY_DOUBLE, .unit = "1", .offset = offsetof(toy_record, weight),
     .default_text = "1.0", .meaning = "A weight."},
    {.name = "device", .kind = BB_KEY_CHOICE, .choices = bb_device_names, .optional = true,
     .offset = offsetof(toy_record, device), .meaning = "A device."},
};
static const bb_schema toy_record_schema = BB_SCHEMA("records", toy_record, toy_record_keys);

static const bb_key toy_keys[] = {
    BB_STUDY_KEYS(toy_study),
    {.name = "length_m", .kind = BB_KEY_DOUBLE, .unit = "m", .minimum = 0.0, .maximum = 5.0,
     .exclusive_minimum = true, .offset = offsetof(toy_study, length_m), .default_text = "0.5",
     .meaning = "A length."},
    {.name = "optional_m", .kind = BB_KEY_DOUBLE, .unit = "m", .optional = true,
     .offset = offsetof(toy_study, optional_m), .meaning = "A length that may be left out."},
    {.name = "steps", .kind = BB_KEY_INTEGER, .unit = "1", .offset = offsetof(toy_study, steps),
     .optional = true, .meaning = "Steps."},
    {.name = "file", .kind = BB_KEY_PATH, .offset = offsetof(toy_study, file), .optional = true,
     .meaning = "A file."},
    {.name = "flag", .kind = BB_KEY_BOOLEAN, .offset = offsetof(toy_study, flag),
     .default_text = "true", .meaning = "A flag."},
    {.name = "word", .kind = BB_KEY_CHOICE, .choices = toy_words,
     .offset = offsetof(toy_study, word), .default_text = "plain", .meaning = "A word."},
    {.name = "numbers", .kind = BB_KEY_DOUBLES, .unit = "um", .minimum = -10.0, .maximum = 1e9,
     .offset = offsetof(toy_study, numbers), .default_text = "[1.65, 2.2]", .meaning = "Numbers."},
    {.name = "integers", .kind = BB_KEY_INTEGERS, .unit = "1", .accepts_all = true,
     .offset = offsetof(toy_study, integers), .default_text = "all", .meaning = "Integers."},
    {.name = "words", .kind = BB_KEY_CHOICES, .choices = toy_words, .optional = true,
     .offset = offsetof(toy_study, words), .meaning = "Words."},
    {.name = "grid", .kind = BB_KEY_GROUP, .schema = &toy_grid_schema,
     .offset = offsetof(toy_study, grid), .default_text = "{columns: 3, rows: 4}",
     .meaning = "A grid."},
    {.name = "extra", .kind = BB_KEY_GROUP, .schema = &toy_grid_schema, .optional = true,
     .offset = offsetof(toy_study, extra), .meaning = "A grid that may be left out."},
    {.name = "records", .kind = BB_KEY_RECORDS, .schema = &toy_record_schema, .minimum_count = 1,
     .offset = offsetof(toy_study, records), .meaning = "Records."},
    {.name = "wait_s", .kind = BB_KEY_DOUBLE, .unit = "s", .minimum = 0.0, .maximum = 100.0,
     .offset = offsetof(toy_study, wait_s), .default_text = "0.0", .meaning = "Time of a run."},
};
// clang-format on
static const bb_schema toy_schema = BB_SCHEMA("toy", toy_study, toy_keys);

#endif
