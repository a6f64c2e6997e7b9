// SPDX-License-Identifier: Apache-2.0
//
// Memory and time of a wafer study, from its configuration alone.
#include "core/memory.h"
#include "physics/wafer/heat/bare_clamp.h"
#include "physics/wafer/heat/heat_sizes.h"
#include "sim/run/device_choice.h"
#include "sim/wafer/wafer_experiment.h"
#include "sim/wafer/wafer_rows.h"
#include "sim/wafer/wafer_work.h"

#include <math.h>

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
    bb_wafer_problem *layout = NULL;
    const bb_wafer_config physics = bb_wafer_study_physics(study);
    BB_TRY(bb_wafer_problem_create_layout(&physics, &layout));
    const bb_scan *scan = layout->scan;
    const double fields = (double)scan->field_count;
    const double scored = (double)layout->scored_count;
    const double wafers = (double)study->wafers.count;
    const double last = (double)layout->scored[layout->scored_count - 1];
    const double modes = study->mesh.through_thickness == (int)BB_THROUGH_TWO_MODE ? 2.0 : 1.0;
    const double exposed = (wafers - 1.0) * fields + last + 1.0;
    const double rest = wafers * rint(study->metrology.alignment_s / (1e-3 * study->mesh.step_ms));
    const double steps = exposed * (double)(scan->light_steps + scan->dark_steps) + rest;
    const bb_heat_sizes sizes =
        bb_heat_sizes_of(&study->wafer, &study->mesh, &study->clamp, &study->ring);
    *out = (bb_wafer_extent){
        .cells = (double)layout->input_count,
        .points = (double)layout->slit.field_points,
        .window = (double)layout->slit.window_points,
        .nodes = sizes.nodes + sizes.ring,
        .clamp = sizes.clamp,
        .unknowns = modes * sizes.nodes + sizes.ring + sizes.clamp,
        .modes = modes,
        .steps = steps * (double)study->mesh.substeps,
        .fields = fields,
        .exposed = exposed,
        .wafers = wafers,
        .scored_wafers = study->wafers.scored == (int)BB_LOT_ALL ? wafers : 1.0,
        .samples = steps + (wafers - 1.0) * ceil(study->wafers.exchange_s / BB_BARE_CLAMP_STEP),
        .scored = scored,
        .metrology = scored * (double)study->metrology.columns * (double)study->metrology.rows,
        .matrices = (double)study->response.axes.count * scored,
        .layout = {.rows = layout->slit.field_points,
                   .columns = layout->input_count,
                   .mesh_columns = study->response.grid.columns,
                   .row_columns = layout->slit.columns},
        .threads = threads,
    };
    bb_wafer_problem_need(&physics, scored, &out->making, &out->held);
    out->rows = rows_need(study, out);
done:
    bb_wafer_problem_destroy(&layout);
    return status;
}

static int device_of(const bb_wafer_study *study, const bb_wafer_extent *span)
{
    const bool file = study->response.generator == (int)BB_GENERATOR_FILE;
    return bb_device_choice_by_size(study->common.device,
                                    span->matrices * span->cells * span->points,
                                    file ? BB_DEVICE_CHOICE_VALUES : BB_DEVICE_CHOICE_ROWS);
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
    const double steps = span->scored * (double)study->scan.light_steps;
    const double inputs = span->cells * ((1.0 + span->input_sets) * steps + 1.0);
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
    span.device = study.common.device; // loops are on cuda whatever their size
    study.common.device = device_of(&study, &span);
    BB_TRY(bb_wafer_extent_list(&study, &span));
    BB_TRY(bb_wafer_extent_count_inputs(&study, &span.input_sets));
    BB_TRY(bb_parts_need(bb_wafer_parts, &span.tried, &span, kept_need(&study, &span), &work));
    const bb_need kept = kept_need(&study, &span);
    const bb_need inputs = {.host_bytes = kept.host_bytes - span.held.host_bytes};
    const bb_need beside = bb_need_together(span.making, inputs); // what rows come from, and heat
    bb_plan_set(plan, bb_need_together(start, bb_need_in_turn(beside, work)));
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
