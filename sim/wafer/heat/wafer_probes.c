// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "sim/wafer/wafer_work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

void bb_wafer_probes_record(bb_wafer_probes *probes, double time, bb_index wafer, bool bare,
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

// Members of these outputs are columns of a row.
static const bb_output rows[] = {
    {"time_s", "time_s", "s", "end of the step, since the first wafer was gripped",
     .note = "each step of the scan and, between two wafers, of the bare clamp", .member = 0},
    {"wafer", "time_s", "1", "index of the wafer; between two wafers, of the previous one",
     .member = sizeof(double), .coordinate = true},
};
static const bb_output_table outputs = {title, NULL, "probes", "time_s", BB_OUTPUT_ROWS(rows)};

static const bb_output rise_rows[] = {
    {"<name>_k", "time_s", "K", "temperature rise of the probe above the water",
     .note = "`long_name` gives layer and position; probes on the wafer are NaN without a wafer"},
};
static const bb_output_table rises = {title, NULL, "probes", "time_s", BB_OUTPUT_ROWS(rise_rows)};

static bb_status run(void *work, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_probes *probes = &((bb_wafer_work *)work)->heating.probes;
    const size_t stride = (size_t)probes->width * sizeof *probes->rows;
    char text[TEXT_BYTES];
    BB_TRY(bb_output_table_publish_records(&outputs, probes->rows, stride, probes->taken, NULL,
                                           results));
    for (bb_index i = 0; i < probes->problem->probe_count; ++i) {
        const bb_probe_config *probe = probes->problem->probes[i].config;
        const bb_output_fill fill = {.name = probe->name, .long_name = text};
        (void)snprintf(text, sizeof text,
                       "temperature rise of the %s above the water at (%.9g, "
                       "%.9g) mm",
                       bb_probe_layers[probe->layer], probe->x_mm, probe->y_mm);
        BB_TRY(bb_output_table_publish_records(&rises, probes->rows + BEFORE_RISES + i, stride,
                                               probes->taken, &fill, results));
    }
done:
    return status;
}

static bb_status check(const void *all, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_wafer_study *study = all;
    const bb_probe_config *probes = study->probes.items;
    const double radius = 0.5 * study->wafer.diameter_mm;
    char path[48];
    for (bb_index i = 0; i < study->probes.count; ++i) {
        const bb_probe_config *probe = &probes[i];
        bb_index j = 0;
        while (strcmp(probes[j].name, probe->name) != 0) {
            ++j;
        }
        BB_TRY(bb_study_refuse(
            !bb_probe_config_name_valid(probe->name), config, problems,
            "probes.%td.name = \"%s\": expected 1 to %d letters, digits and _, a letter first", i,
            probe->name, BB_PROBE_NAME));
        BB_TRY(bb_study_refuse(j < i, config, problems,
                               "probes.%td.name = %s: probe %td has the same name", i, probe->name,
                               j));
        if (hypot(probe->x_mm, probe->y_mm) > radius) {
            (void)snprintf(path, sizeof path, "probes.%td.x_mm", i);
            BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                                   "probes.%td at (%g, %g) mm: expected within half of "
                                   "wafer.diameter_mm, %g, of the centre",
                                   i, probe->x_mm, probe->y_mm, radius));
        }
    }
done:
    return status;
}

static bb_status plan_lines(const void *all, const void *extent, bb_plan *plan)
{
    const bb_index count = ((const bb_wafer_study *)all)->probes.count;
    const double samples = ((const bb_wafer_extent *)extent)->samples;
    plan->output_bytes += 8.0 * samples * (double)(BEFORE_RISES + count);
    return bb_plan_add(plan, "probes", "%td, %.0f rows", count, samples);
}

const bb_part bb_wafer_probes_part = {
    .name = "probes",
    .wanted = bb_wafer_study_has_probes,
    .check = check,
    .plan_lines = plan_lines,
    .run = run,
    .outputs = BB_OUTPUTS(&outputs, &rises),
};
