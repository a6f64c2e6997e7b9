// SPDX-License-Identifier: Apache-2.0
//
// Memory and time of a wafer study, from its configuration alone.
#include "core/memory.h"
#include "physics/wafer/heat/bare_clamp.h"
#include "physics/wafer/heat/heat_sizes.h"
#include "physics/wafer/slit_grid.h"
#include "sim/device_choice.h"
#include "sim/wafer/wafer_experiment.h"
#include "sim/wafer/wafer_rows.h"
#include "sim/wafer/wafer_work.h"

#include <math.h>

// Whether rows take a second block of inputs, for the thermal moment.
static bool has_moment(const bb_wafer_study *study)
{
    return study->response.generator == (int)BB_GENERATOR_PLATE ||
           study->response.generator == (int)BB_GENERATOR_FILE;
}

// Rows of one field along every axis.
static bb_need rows_need(const bb_wafer_study *study, const bb_wafer_extent *span)
{
    const bb_wafer_config physics = bb_wafer_study_physics(study);
    const int *axes = study->response.axes.items;
    bb_need need = {0};
    for (bb_index a = 0; a < study->response.axes.count; ++a) {
        need = bb_need_in_turn(need, bb_wafer_problem_rows_need(&physics, axes[a], span->points,
                                                                span->cells, span->threads));
    }
    return need;
}

static bb_status measure(const bb_wafer_study *study, double threads, bb_wafer_extent *out)
{
    bb_status status = BB_OK;
    bb_scan *scan = NULL;
    bb_slit_grid slit;
    BB_TRY(bb_scan_create(&study->scan, 1e-3 * study->mesh.step_ms, &scan));
    BB_TRY(bb_slit_grid_make(&study->response, scan, &slit));
    BB_TRY(bb_slit_grid_hold(&study->response, &study->metrology, &slit));
    const bb_list *fields = &study->scan.fields;
    bool all = fields->count == BB_LIST_ALL;
    bb_index scored = all ? scan->field_count : fields->count;
    bb_index last = all ? scored - 1 : ((const bb_index *)fields->items)[scored - 1]; // ascending
    const double before = (double)(study->wafers.count - 1);
    const bool drop = study->mesh.through_thickness == (int)BB_THROUGH_TWO_MODE;
    const double blocks = drop && has_moment(study) ? 2.0 : 1.0;
    const double exposed = before * (double)scan->field_count + (double)(last + 1);
    const double rest = (double)study->wafers.count *
                        rint(study->metrology.alignment_s / (1e-3 * study->mesh.step_ms));
    const bb_heat_sizes sizes =
        bb_heat_sizes_of(&study->wafer, &study->mesh, &study->clamp, &study->ring);
    *out = (bb_wafer_extent){
        .cells = blocks * (double)study->response.grid.columns * (double)study->response.grid.rows,
        .points = (double)slit.field_points,
        .window = (double)slit.window_points,
        .nodes = sizes.nodes + sizes.ring,
        .clamp = sizes.clamp,
        .unknowns = (drop ? 2.0 : 1.0) * sizes.nodes + sizes.ring + sizes.clamp,
        .modes = drop ? 2.0 : 1.0,
        .steps = (exposed * (double)(scan->light_steps + scan->dark_steps) + rest) *
                 (double)study->mesh.substeps,
        .fields = (double)scan->field_count,
        .exposed = exposed,
        .wafers = (double)study->wafers.count,
        .scored_wafers =
            study->wafers.scored == (int)BB_LOT_ALL ? (double)study->wafers.count : 1.0,
        .samples = exposed * (double)(scan->light_steps + scan->dark_steps) + rest +
                   before * ceil(study->wafers.exchange_s / BB_BARE_CLAMP_STEP),
        .scored = (double)scored,
        .metrology =
            (double)scored * (double)study->metrology.columns * (double)study->metrology.rows,
        .matrices = (double)study->response.axes.count * (double)scored,
        .layout = {.rows = slit.field_points,
                   .columns =
                       (bb_index)blocks * study->response.grid.columns * study->response.grid.rows,
                   .mesh_columns = study->response.grid.columns,
                   .row_columns = slit.columns},
        .threads = threads,
    };
    const bb_wafer_config physics = bb_wafer_study_physics(study);
    bb_wafer_problem_need(&physics, (double)scored, &out->making, &out->held);
    out->rows = rows_need(study, out);
done:
    bb_scan_destroy(&scan);
    return status;
}

static int device_of(const bb_wafer_study *study, const bb_wafer_extent *span)
{
    return bb_device_choice_by_size(
        study->common.device, span->matrices * span->cells * span->points, BB_DEVICE_CHOICE_VALUES);
}

bb_status bb_wafer_extent_resolve(const bb_wafer_study *study, bb_wafer_study *out)
{
    bb_status status = BB_OK;
    bb_wafer_extent span;
    BB_TRY(measure(study, 1.0, &span));
    *out = *study;
    out->common.device = device_of(study, &span);
done:
    return status;
}

// Problem, inputs of the light steps, and of every draw displacements and residuals with their
// deviations.
static bb_need kept_need(const bb_wafer_study *study, const bb_wafer_extent *span)
{
    const double inputs = span->cells * (span->scored * (double)study->scan.light_steps + 1.0);
    const double placed =
        4.0 * span->metrology * (double)study->response.axes.count * span->held_draws;
    bb_need kept = span->held;
    kept.host_bytes += sizeof(double) * span->scored_wafers * (inputs + placed);
    if (span->searches) {
        kept.host_bytes += sizeof(double) * span->matrices * span->scored_wafers *
                           (double)study->scan.light_steps * span->window; // of the reference
    }
    return kept;
}

bb_status bb_wafer_experiment_plan(const void *asked, const bb_run_options *options, bb_plan *plan)
{
    bb_status status = BB_OK;
    bb_wafer_study study = *(const bb_wafer_study *)asked;
    const bb_wafer_config physics = bb_wafer_study_physics(&study);
    const bb_need start = {.seconds = 0.5};
    bb_wafer_extent span = {0};
    bb_need work;
    BB_TRY(bb_wafer_rows_check(&study));
    BB_TRY(bb_wafer_problem_check_step(&physics));
    BB_TRY(bb_wafer_problem_check_burls(&physics));
    BB_TRY(bb_wafer_problem_check_fields(&physics));
    BB_TRY(measure(&study, (double)options->threads, &span));
    span.dump = options->dump;
    study.common.device = device_of(&study, &span);
    BB_TRY(bb_wafer_extent_list(&study, &span));
    BB_TRY(bb_parts_need(bb_wafer_parts, &span.tried, &span, kept_need(&study, &span), &work));
    bb_plan_set(plan, bb_need_together(start, bb_need_in_turn(span.making, work)));
    BB_TRY(bb_parts_plan_lines(bb_wafer_parts, &study, &span, plan));
done:
    BB_RELEASE(&span.pipelines);
    return status;
}

static bb_status plan_sizes(const void *study, const void *extent, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_wafer_extent *span = extent;
    (void)study;
    BB_TRY(bb_plan_add(plan, "fields", "%.0f laid out, %.0f heated, %.0f scored", span->fields,
                       span->exposed, span->scored));
    BB_TRY(bb_plan_add(plan, "thermal", "%.0f nodes%s, %.0f steps", span->nodes,
                       span->modes > 1.0 ? " of mean and drop" : "", span->steps));
    BB_TRY(bb_plan_add(plan, "response", "%.0f points x %.0f cells, %.0f matrices", span->points,
                       span->cells, span->matrices));
done:
    return status;
}

const bb_part bb_wafer_sizes_part = {.name = "sizes", .plan_lines = plan_sizes};
