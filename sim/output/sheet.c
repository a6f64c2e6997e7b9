// SPDX-License-Identifier: Apache-2.0
#include "sim/output/sheet.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bb_status bb_sheet_path(const char *path, const char *group, char **out)
{
    size_t length = strlen(path);
    if (length > 3 && strcmp(path + length - 3, ".h5") == 0) {
        length -= 3;
    }
    return bb_memory_printf(out, "%.*s-%s.csv", (int)length, path, group);
}

// The shortest of 15 and 17 digits that reads back to the same number.
static bb_status add_number(bb_text *out, double value)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value) {
        (void)snprintf(text, sizeof text, isnan(value) ? "nan" : "%.17g", value);
    }
    return bb_text_add(out, "%s", text);
}

// Whether equal texts are equal values all along the axis.
static bool tells_steps(const bb_dataset *axis, int digits)
{
    char before[40] = "";
    char text[40];
    for (bb_index i = 0; i < axis->count; ++i) {
        (void)snprintf(text, sizeof text, "%.*g", digits, axis->numbers[i]);
        if (i > 0 && strcmp(text, before) == 0 && axis->numbers[i] != axis->numbers[i - 1]) {
            return false;
        }
        memcpy(before, text, sizeof before);
    }
    return true;
}

// Digits of an axis: sums of steps end in noise, which no reader wants.
static int axis_digits(const bb_dataset *axis)
{
    const int digits[] = {12, 15};
    for (size_t i = 0; i < sizeof digits / sizeof *digits; ++i) {
        if (tells_steps(axis, digits[i])) {
            return digits[i];
        }
    }
    return 17;
}

static bb_status add_place(bb_text *out, double value, int digits)
{
    return isnan(value) ? bb_text_add(out, "nan") : bb_text_add(out, "%.*g", digits, value);
}

static const bb_dataset *find_axis(const bb_results *results, const char *group)
{
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(results, i);
        if (dataset->is_axis && !dataset->is_text && strcmp(dataset->group, group) == 0) {
            return dataset;
        }
    }
    return NULL;
}

static bool is_column(const bb_dataset *dataset, const bb_dataset *axis)
{
    return strcmp(dataset->group, axis->group) == 0 && !dataset->is_text && !dataset->is_axis &&
           dataset->rank == 1 && strcmp(dataset->axes[0], axis->name) == 0;
}

static bb_status add_line(const bb_results *results, const bb_dataset *axis, int digits,
                          bb_index row, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(row < 0 ? bb_text_add(out, "%s", axis->name)
                   : add_place(out, axis->numbers[row], digits));
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(results, i);
        if (!is_column(dataset, axis)) {
            continue;
        }
        BB_TRY(bb_text_add(out, ","));
        BB_TRY(row < 0 ? bb_text_add(out, "%s", dataset->name)
                       : add_number(out, dataset->numbers[row]));
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

bb_status bb_sheet_build(const bb_results *results, const char *group, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_dataset *axis = find_axis(results, group);
    const int digits = axis == NULL ? 0 : axis_digits(axis);
    for (bb_index row = -1; axis != NULL && row < axis->count; ++row) {
        BB_TRY(add_line(results, axis, digits, row, out));
    }
done:
    return status;
}
