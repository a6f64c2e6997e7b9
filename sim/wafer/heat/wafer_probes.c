// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/heat/wafer_probes.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>

enum { BEFORE_RISES = 2, TEXT_BYTES = 128 };

bb_status bb_wafer_probes_create(const bb_wafer_problem *problem, bb_index capacity,
                                 bb_wafer_probes *out)
{
    bb_status status = BB_OK;
    *out = (bb_wafer_probes){.problem = problem};
    if (problem->probe_count > 0) {
        out->width = BEFORE_RISES + problem->probe_count;
        out->capacity = capacity;
        BB_TRY(BB_ALLOCATE(capacity * out->width, &out->rows));
    }
done:
    return status;
}

void bb_wafer_probes_release(bb_wafer_probes *probes)
{
    BB_RELEASE(&probes->rows);
}

void bb_wafer_probes_take(bb_wafer_probes *probes, double time, bb_index wafer, bool bare,
                          const double *state)
{
    if (probes->width == 0) {
        return;
    }
    double *row = probes->rows + probes->taken++ * probes->width;
    row[0] = time;
    row[1] = (double)wafer;
    for (bb_index i = 0; i < probes->problem->probe_count; ++i) {
        const bb_probe *probe = &probes->problem->probes[i];
        const bool gone = bare && probe->config->layer == (int)BB_PROBE_WAFER;
        row[BEFORE_RISES + i] = gone ? NAN : bb_probe_rise(probe, state);
    }
}

static void take_column(const bb_wafer_probes *probes, bb_index column, double *out)
{
    for (bb_index i = 0; i < probes->taken; ++i) {
        out[i] = probes->rows[i * probes->width + column];
    }
}

static bb_status publish_probe(const bb_wafer_probes *probes, bb_index index, const double *values,
                               bb_results *results)
{
    char path[TEXT_BYTES];
    char name[TEXT_BYTES];
    const bb_probe_config *probe = probes->problem->probes[index].config;
    (void)snprintf(path, sizeof path, "probes/%s_k", probe->name);
    (void)snprintf(name, sizeof name, "rise of the %s above the water at (%.9g, %.9g) mm",
                   bb_probe_layers[probe->layer], probe->x_mm, probe->y_mm);
    return bb_results_values(results, path, "K", name, "time_s", values);
}

bb_status bb_wafer_probes_publish(const bb_wafer_probes *probes, bb_results *results)
{
    bb_status status = BB_OK;
    double *column = NULL;
    if (probes->width == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(probes->taken, &column));
    take_column(probes, 0, column);
    BB_TRY(bb_results_axis(results, "probes/time_s", "s",
                           "end of the step, since the first wafer was gripped", probes->taken,
                           column));
    take_column(probes, 1, column);
    BB_TRY(bb_results_values(results, "probes/wafer", "1",
                             "index of the wafer, between two that of the one that left", "time_s",
                             column));
    for (bb_index i = 0; i < probes->problem->probe_count; ++i) {
        take_column(probes, BEFORE_RISES + i, column);
        BB_TRY(publish_probe(probes, i, column, results));
    }
done:
    BB_RELEASE(&column);
    return status;
}
