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

static const char title[] = "/probes, wafer with `probes`";

// Members are columns of a row.
static const bb_output rows[] = {
    {"time_s", "time_s", "s", "end of the step, since the first wafer was gripped",
     .note = "each step of the scan and, between two wafers, of the bare clamp", .member = 0},
    {"wafer", "time_s", "1", "index of the wafer, between two that of the one that left",
     .member = sizeof(double), .coordinate = true},
};
const bb_output_table bb_wafer_probes_outputs = {title, NULL, "probes", "time_s",
                                                 BB_OUTPUT_ROWS(rows)};

static const bb_output rise_rows[] = {
    {"<name>_k", "time_s", "K", "rise of the probe above the water",
     .note = "`long_name` says layer and place; NaN of a wafer's probe while there is no wafer"},
};
const bb_output_table bb_wafer_probes_rises = {title, NULL, "probes", "time_s",
                                               BB_OUTPUT_ROWS(rise_rows)};

bb_status bb_wafer_probes_publish(const bb_wafer_probes *probes, bb_results *results)
{
    bb_status status = BB_OK;
    const size_t stride = (size_t)probes->width * sizeof *probes->rows;
    char text[TEXT_BYTES];
    if (probes->width == 0) {
        goto done;
    }
    BB_TRY(bb_output_table_publish_records(&bb_wafer_probes_outputs, probes->rows, stride,
                                           probes->taken, NULL, results));
    for (bb_index i = 0; i < probes->problem->probe_count; ++i) {
        const bb_probe_config *probe = probes->problem->probes[i].config;
        const bb_output_fill fill = {.name = probe->name, .long_name = text};
        (void)snprintf(text, sizeof text, "rise of the %s above the water at (%.9g, %.9g) mm",
                       bb_probe_layers[probe->layer], probe->x_mm, probe->y_mm);
        BB_TRY(bb_output_table_publish_records(&bb_wafer_probes_rises,
                                               probes->rows + BEFORE_RISES + i, stride,
                                               probes->taken, &fill, results));
    }
done:
    return status;
}
