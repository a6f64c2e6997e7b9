// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/overlay/dwell.h"

#include "core/memory.h"

#include <math.h>

static void place_points(const bb_metrology_config *config, bb_dwell *dwell)
{
    const bb_scan *scan = dwell->slit.scan;
    for (bb_index row = 0; row < config->rows; ++row) {
        for (bb_index column = 0; column < config->columns; ++column) {
            double across = ((double)column + 0.5) / (double)config->columns - 0.5;
            double along = ((double)row + 0.5) / (double)config->rows - 0.5;
            double x = dwell->field.x + across * scan->field_width;
            double y = dwell->field.y + along * scan->field_height;
            if (hypot(x, y) <= scan->usable_radius) {
                dwell->x[dwell->count] = x;
                dwell->y[dwell->count++] = y;
            }
        }
    }
}

// A point gets dose while the slit passes it; each step moves the slit by at least its part of the
// field and the slit.
bb_need bb_dwell_need(const bb_metrology_config *config, const bb_scan_config *scan)
{
    const double points = (double)config->columns * (double)config->rows;
    const double steps = (double)scan->light_steps;
    const double passing = scan->slit_width_mm / (scan->field_height_mm + scan->slit_width_mm);
    return (bb_need){.host_bytes = sizeof(bb_dwell) + 5.0 * points * sizeof(double) +
                                   (2.0 * steps + 1.0) * sizeof(bb_index) +
                                   points * (2.0 + steps * passing) * sizeof(bb_dwell_sample)};
}

bb_status bb_dwell_create(const bb_slit_grid *slit, const bb_field *field,
                          const bb_metrology_config *config, bb_dwell **out)
{
    bb_status status = BB_OK;
    bb_dwell *dwell = NULL;
    BB_REQUIRE(config->columns >= 1 && config->rows >= 1, BB_INVALID,
               "metrology of %td x %td points, expected at least 1 x 1", config->columns,
               config->rows);
    bb_index capacity = config->columns * config->rows;
    BB_TRY(BB_ZEROED(1, &dwell));
    dwell->slit = *slit;
    dwell->field = *field;
    BB_TRY(BB_ALLOCATE(capacity, &dwell->x));
    BB_TRY(BB_ALLOCATE(capacity, &dwell->y));
    BB_TRY(BB_ZEROED(capacity, &dwell->weight));
    BB_TRY(BB_ZEROED(capacity, &dwell->mean));
    BB_TRY(BB_ZEROED(capacity, &dwell->spread));
    place_points(config, dwell);
    *out = dwell;
    dwell = NULL;
done:
    bb_dwell_destroy(&dwell);
    return status;
}

// Samples of a step; in the first pass, which counts them, `out` is NULL.
static bb_index list_step(const bb_dwell *dwell, bb_index step, bb_dwell_sample *out)
{
    bb_index count = 0;
    for (bb_index i = 0; i < dwell->count; ++i) {
        const double dose =
            bb_scan_dose_fraction(dwell->slit.scan, &dwell->field, step, dwell->x[i], dwell->y[i]);
        if (dose == 0.0) {
            continue;
        }
        if (out != NULL) {
            out[count] =
                (bb_dwell_sample){i, dose,
                                  bb_slit_grid_find(&dwell->slit, &dwell->field,
                                                    dwell->offset[step], dwell->x[i], dwell->y[i])};
        }
        ++count;
    }
    return count;
}

bb_status bb_dwell_list(bb_dwell *dwell)
{
    bb_status status = BB_OK;
    const bb_index steps = dwell->slit.scan->light_steps;
    BB_TRY(BB_ALLOCATE(steps, &dwell->offset));
    BB_TRY(BB_ZEROED(steps + 1, &dwell->first));
    for (bb_index step = 0; step < steps; ++step) {
        dwell->offset[step] = bb_slit_grid_offset(&dwell->slit, &dwell->field, step);
        dwell->first[step + 1] = dwell->first[step] + list_step(dwell, step, NULL);
    }
    BB_TRY(BB_ALLOCATE(dwell->first[steps], &dwell->samples));
    for (bb_index step = 0; step < steps; ++step) {
        (void)list_step(dwell, step, dwell->samples + dwell->first[step]);
    }
done:
    return status;
}

void bb_dwell_add(bb_dwell *dwell, bb_index step, const double *window)
{
    for (bb_index s = dwell->first[step]; s < dwell->first[step + 1]; ++s) {
        const bb_dwell_sample *sample = &dwell->samples[s];
        const bb_index i = sample->point;
        const double u = bb_slit_grid_value(&dwell->slit, &sample->cell, window);
        // Updates mean and spread by a recurrence without cancellation (West 1979).
        double total = dwell->weight[i] + sample->dose;
        double away = u - dwell->mean[i];
        dwell->mean[i] += away * sample->dose / total;
        dwell->spread[i] += sample->dose * away * (u - dwell->mean[i]);
        dwell->weight[i] = total;
    }
}

double bb_dwell_deviation(const bb_dwell *dwell, bb_index point)
{
    return dwell->weight[point] > 0.0 ? sqrt(fmax(dwell->spread[point], 0.0) / dwell->weight[point])
                                      : 0.0;
}

void bb_dwell_reset(bb_dwell *dwell)
{
    for (bb_index i = 0; i < dwell->count; ++i) {
        dwell->weight[i] = dwell->mean[i] = dwell->spread[i] = 0.0;
    }
}

void bb_dwell_destroy(bb_dwell **dwell)
{
    if (dwell == NULL || *dwell == NULL) {
        return;
    }
    BB_RELEASE(&(*dwell)->x);
    BB_RELEASE(&(*dwell)->y);
    BB_RELEASE(&(*dwell)->offset);
    BB_RELEASE(&(*dwell)->first);
    BB_RELEASE(&(*dwell)->samples);
    BB_RELEASE(&(*dwell)->weight);
    BB_RELEASE(&(*dwell)->mean);
    BB_RELEASE(&(*dwell)->spread);
    BB_RELEASE(dwell);
}
