// SPDX-License-Identifier: Apache-2.0
#include "sim/report/choice_grid.h"

#include "core/memory.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 160 };

// A column: a dataset of /statistics and where the choices have it.
typedef struct column {
    const char *name, *header;
    double scale;
    size_t member;
    bool for_people;
} column;

static const column columns[] = {
    {"points", "points", 1.0, offsetof(bb_swept_choice, points), false},
    {"points_failed", "failed", 1.0, offsetof(bb_swept_choice, failed), false},
    {"share_failed_bound", "bound", 1.0, offsetof(bb_swept_choice, failure_bound), false},
    {"price_median", "median", 1.0, offsetof(bb_swept_choice, price_median), true},
    {"price_p99", "p99", 1.0, offsetof(bb_swept_choice, price_p99), true},
    {"price_most", "worst", 1.0, offsetof(bb_swept_choice, price_most), true},
    {"bits_per_value", "bits", 1.0, offsetof(bb_swept_choice, bits), true},
    {"operator_bytes", "MB", 1e-6, offsetof(bb_swept_choice, bytes), true},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static double value_of(const bb_swept_choice *choice, const column *about)
{
    double value;
    memcpy(&value, (const char *)choice + about->member, sizeof value);
    return value;
}

static bb_status add_column(const bb_swept *swept, const column *about, bb_grid *out)
{
    bb_status status = BB_OK;
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "statistics/%s", about->name);
    const bb_dataset *dataset = bb_results_find(swept->results, path);
    bb_grid_column *cells = &out->columns[out->count++];
    *cells = (bb_grid_column){.name = about->name,
                              .label = "",
                              .unit = dataset->unit,
                              .long_name = dataset->long_name,
                              .scale = about->scale};
    BB_TRY(bb_memory_text(about->header, &cells->header));
    BB_TRY(BB_ALLOCATE(out->rows, &cells->numbers));
    for (bb_index i = 0; i < out->rows; ++i) {
        cells->numbers[i] = value_of(&swept->choices[i], about);
    }
done:
    return status;
}

static bb_status add_counts(const bb_swept *swept, bb_grid *out)
{
    bb_status status = BB_OK;
    bb_grid_column *cells = &out->columns[out->count++];
    *cells = (bb_grid_column){.name = "points_failed",
                              .label = "",
                              .unit = "1",
                              .long_name = "conditions that it did not finish, of all"};
    BB_TRY(bb_memory_text("failed", &cells->header));
    BB_TRY(BB_ZEROED(out->rows, &cells->texts));
    for (bb_index i = 0; i < out->rows; ++i) {
        cells->texts[i] = swept->choices[i].count;
    }
done:
    return status;
}

bb_status bb_choice_grid_fill(const bb_swept *swept, bool for_people, bb_grid *out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ZEROED(swept->choice_count, &out->names));
    BB_TRY(BB_ZEROED(swept->choice_count, &out->marked));
    BB_TRY(BB_ZEROED(COLUMNS + 1, &out->columns));
    out->rows = swept->choice_count;
    for (bb_index i = 0; i < out->rows; ++i) {
        out->names[i] = swept->choices[i].name;
        out->marked[i] = bb_swept_is_front(swept, i);
    }
    if (for_people) {
        BB_TRY(add_counts(swept, out));
    }
    for (int c = 0; c < COLUMNS; ++c) {
        if (columns[c].for_people || !for_people) {
            BB_TRY(add_column(swept, &columns[c], out));
        }
    }
done:
    return status;
}
