// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_plan.h"

#include "core/device/device.h"
#include "core/memory.h"
#include "physics/wafer/heat/bare_clamp.h"
#include "physics/wafer/heat/heat_sizes.h"
#include "physics/wafer/slit_grid.h"
#include "physics/wafer/wafer_problem.h"
#include "sim/dump.h"
#include "sim/pipelines/product_coding.h"
#include "sim/wafer/overlay/lot_overlay.h"
#include "sim/wafer/realtime/realtime_plan.h"
#include "sim/wafer/wafer_cautions.h"
#include "sim/wafer/wafer_dump.h"
#include "sim/wafer/wafer_promise.h"
#include "sim/wafer/wafer_rows.h"
#include "sim/wafer/wafer_study.h"
#include "solvers/step/stepper.h"

#include <math.h>

// Sizes of a study, counted as doubles, and what its problem takes.
typedef struct extent {
    double cells, points, window; // inputs of a row, points of a field and of a slit window
    double blocks;                // of the grid S in an input
    double nodes, steps;          // of the mesh with the ring; time steps in all
    double unknowns, clamp;       // of the heat in all; nodes of the clamp
    double modes;                 // of temperature through the thickness
    double fields, exposed, scored;
    double wafers, samples; // rows of the probes
    double scored_wafers;
    double passes;     // through the rows: several of a promise
    double held_draws; // evaluations at a time
    bool searches;
    double matrices;         // of all scored fields and axes
    bb_matrix_layout layout; // of each
    bb_need making, held;    // the problem
    double threads;
} extent;

// Whether rows take a second block of inputs, for the thermal moment.
static bool has_moment(const bb_wafer_study *study)
{
    return study->response.generator == (int)BB_GENERATOR_PLATE ||
           study->response.generator == (int)BB_GENERATOR_FILE;
}

static bb_status measure(const bb_wafer_study *study, double threads, extent *out)
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
    *out = (extent){
        .cells = blocks * (double)study->response.grid.columns * (double)study->response.grid.rows,
        .points = (double)slit.field_points,
        .window = (double)slit.window_points,
        .nodes = sizes.nodes + sizes.ring,
        .clamp = sizes.clamp,
        .unknowns = (drop ? 2.0 : 1.0) * sizes.nodes + sizes.ring + sizes.clamp,
        .modes = drop ? 2.0 : 1.0,
        .blocks = blocks,
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
        .passes = 1.0,
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
done:
    bb_scan_destroy(&scan);
    return status;
}

static bool has_plate(const bb_wafer_study *study)
{
    return study->response.generator == (int)BB_GENERATOR_PLATE;
}

// All steps of heat, from which come the inputs: a mean of two states in each light step.
static bb_need heating_need(const bb_wafer_study *study, const extent *span)
{
    const bool implicit = study->mesh.stepping == (int)BB_STEPPING_CRANK_NICOLSON;
    const bb_need steps = bb_need_repeated(
        bb_stepper_step_need(span->unknowns, implicit, span->threads), span->steps);
    return bb_need_together(bb_stepper_need(span->unknowns, implicit), steps);
}

static bb_need inputs_need(const bb_wafer_study *study, const extent *span)
{
    return (bb_need){.host_bytes = sizeof(double) * span->cells * span->scored_wafers *
                                   (span->scored * (double)study->scan.light_steps + 1.0)};
}

// The rows of one field along every axis.
static bb_need rows_need(const bb_wafer_study *study, const extent *span)
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

// A matrix in the reference's fp64, made of rows that come in batches, and one candidate beside it
// at a time; each is applied to the inputs of its field on every scored wafer. What makes rows
// keeps its workspaces for the next.
static bb_need matrices_need(const bb_wafer_study *study, const extent *span)
{
    const bb_product_pipeline *pipelines = study->pipelines.items;
    const bb_index reference = bb_product_pipelines_reference(&study->pipelines);
    const double batch =
        study->response.generator == (int)BB_GENERATOR_KERNEL ? 1.0 : (double)BB_GRID_BATCH;
    const double windows = span->scored_wafers * (double)study->scan.light_steps;
    const bb_need exact = bb_coded_matrix_held(&pipelines[reference].storage, &span->layout);
    const bb_need rows = bb_need_repeated(rows_need(study, span), span->scored * span->passes);
    bb_need need = {0};
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const double draws = (double)pipelines[p].draws;
        const bool beside = p != reference || pipelines[p].draws > 1;
        bb_need work = bb_product_coding_need(&pipelines[p], study->common.device, &span->layout,
                                              p == reference ? batch : 1.0, span->threads);
        const bb_need window = bb_coded_operator_apply_need(&pipelines[p].storage, span->window,
                                                            span->cells, span->threads);
        work = bb_need_together(work, bb_need_repeated(window, windows));
        const double times = p == reference ? draws - 1.0 + span->passes : draws;
        work = bb_need_repeated(work, span->matrices * times);
        need = bb_need_in_turn(need, beside ? bb_need_together(exact, work) : work);
    }
    return bb_need_together(rows, need);
}

// Displacements and residuals with their deviations, of every draw.
static bb_need evaluations_need(const bb_wafer_study *study, const extent *span)
{
    const double points = span->scored * (double)study->metrology.columns *
                          (double)study->metrology.rows * (double)study->response.axes.count;
    return (bb_need){.host_bytes =
                         sizeof(double) * 4.0 * points * span->scored_wafers * span->held_draws};
}

static bb_need sum(const bb_wafer_study *study, const extent *span)
{
    bb_need kept = bb_need_together(
        span->held, bb_need_together(inputs_need(study, span), evaluations_need(study, span)));
    if (span->searches) {
        kept.host_bytes += bb_wafer_pass_kept_bytes(span->matrices, span->scored_wafers,
                                                    (double)study->scan.light_steps, span->window);
    }
    const bb_need work = bb_need_in_turn(heating_need(study, span), matrices_need(study, span));
    const bb_need start = {.seconds = 0.5};
    return bb_need_together(start, bb_need_in_turn(span->making, bb_need_together(kept, work)));
}

// Displacements and residuals with their deviations, vectors for the eye, and the overlay report: 3
// errors with 86 numbers of the wafer and 26 of a field.
static double output_bytes(const bb_wafer_study *study, const extent *span)
{
    double points = span->scored * (double)study->metrology.columns * (double)study->metrology.rows;
    double axes = (double)study->response.axes.count;
    double pipelines = (double)study->pipelines.count;
    double report = 3.0 * pipelines * (86.0 + 26.0 * span->scored) + 7.0 * span->scored;
    double probes =
        study->probes.count > 0 ? span->samples * (2.0 + (double)study->probes.count) : 0.0;
    const double lot = bb_lot_overlay_values(span->scored_wafers, pipelines, axes, points);
    return 8.0 * (points * (11.0 + (4.0 * axes + 6.0) * pipelines) + report + lot +
                  14.0 * span->exposed + probes);
}

static bb_status list_operator(const bb_wafer_study *study, const bb_product_pipeline *pipeline,
                               double values, bb_plan *plan)
{
    char codec[64];
    if (bb_product_pipeline_promises(pipeline)) {
        return bb_wafer_promises_plan(study, pipeline, values, plan);
    }
    const bool varies = isnan(bb_codec_bits_per_value(&pipeline->storage));
    bb_codec_describe(&pipeline->storage, codec, sizeof codec);
    return bb_plan_add(plan, pipeline->name, "%s, operator %s%.1f MB", codec,
                       varies ? "at most " : "",
                       1e-6 * bb_codec_bytes_per_value(&pipeline->storage) * values);
}

static bb_status plan_realtime(const bb_wafer_study *study, const extent *span, bb_plan *plan)
{
    const bb_realtime_extent realtime = {.layout = span->layout,
                                         .nodes = span->nodes,
                                         .scored = span->scored,
                                         .problem =
                                             bb_need_together(span->held, rows_need(study, span)),
                                         .threads = span->threads};
    return bb_realtime_plan_add(study, &realtime, plan);
}

static bb_status list_requirements(const bb_wafer_study *study, const extent *span, bb_plan *plan)
{
    const bb_requirement_sizes sizes = {
        .unknowns = span->unknowns,
        .sources = span->cells,
        .window = span->window,
        .field_points = span->points,
        .entries = bb_requirements_entries(span->nodes, span->clamp,
                                           study->clamp.spacing_mm / study->mesh.spacing_mm),
        .inputs = 1.0,
        .light = (double)study->scan.light_steps,
        .dark = (double)study->scan.dark_steps,
        .axes = (double)study->response.axes.count,
    };
    return bb_wafer_requirements_plan(
        &study->machine, (sizes.light + sizes.dark) * study->mesh.step_ms, sizes, plan);
}

static bb_status list_plate(const bb_wafer_study *study, double nodes, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_need factor = bb_coupled_plate_held(nodes);
    BB_TRY(bb_plan_add(plan, "plate", "about %.0f unknowns, factor of %.1f MB in about %.0f s",
                       BB_PLATE_UNKNOWNS * nodes, 1e-6 * factor.host_bytes,
                       bb_coupled_plate_need(nodes).seconds));
    if (study->response.cache_folder != NULL) {
        BB_TRY(bb_plan_add(plan, "kept factor", "in '%s', taken from there where it fits",
                           study->response.cache_folder));
    }
done:
    return status;
}

static int device_of(const bb_wafer_study *study, const extent *span)
{
    return bb_device_choice_by_size(
        study->common.device, span->matrices * span->cells * span->points, BB_DEVICE_CHOICE_VALUES);
}

bb_status bb_wafer_plan_resolve(const bb_wafer_study *study, bb_wafer_study *out)
{
    bb_status status = BB_OK;
    extent span;
    BB_TRY(measure(study, 1.0, &span));
    *out = *study;
    out->common.device = device_of(study, &span);
done:
    return status;
}

bb_status bb_wafer_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    bb_status status = BB_OK;
    bb_wafer_study resolved = *(const bb_wafer_study *)study;
    const bb_wafer_study *wafer = &resolved;
    const bb_wafer_config physics = bb_wafer_study_physics(wafer);
    const bb_product_pipeline *pipelines = wafer->pipelines.items;
    bb_wafer_promises_extent promises = {0};
    extent span;
    BB_TRY(bb_wafer_dump_check(&wafer->dump, options->dump));
    BB_TRY(bb_wafer_rows_check(wafer));
    BB_TRY(bb_wafer_problem_check_step(&physics));
    BB_TRY(bb_wafer_problem_check_burls(&physics));
    BB_TRY(bb_wafer_problem_check_fields(&physics));
    BB_TRY(measure(wafer, (double)options->threads, &span));
    resolved.common.device = device_of(study, &span);
    BB_TRY(bb_wafer_promises_measure(wafer, &promises));
    span.passes = promises.passes;
    span.held_draws = promises.held_draws;
    span.searches = promises.searches;
    for (bb_index p = 0; p < wafer->pipelines.count; ++p) {
        BB_TRY(list_operator(wafer, &pipelines[p], span.matrices * span.cells * span.points, plan));
    }
    if (span.wafers > 1.0) {
        BB_TRY(bb_plan_add(plan, "wafers", "%.0f, %g s between two, %s scored", span.wafers,
                           wafer->wafers.exchange_s,
                           span.scored_wafers > 1.0 ? "all are" : "the last is"));
    }
    if (wafer->probes.count > 0) {
        BB_TRY(bb_plan_add(plan, "probes", "%td, %.0f rows", wafer->probes.count, span.samples));
    }
    BB_TRY(bb_plan_add(plan, "fields", "%.0f laid out, %.0f heated, %.0f scored", span.fields,
                       span.exposed, span.scored));
    BB_TRY(bb_plan_add(plan, "thermal", "%.0f nodes%s, %.0f steps", span.nodes,
                       span.modes > 1.0 ? " of mean and drop" : "", span.steps));
    BB_TRY(bb_plan_add(plan, "response", "%.0f points x %.0f cells, %.0f matrices", span.points,
                       span.cells, span.matrices));
    BB_TRY(bb_wafer_cautions_plan(wafer, plan));
    BB_TRY(plan_realtime(study, &span, plan)); // auto of loops has no size
    BB_TRY(list_requirements(wafer, &span, plan));
    BB_TRY(has_plate(wafer) ? list_plate(wafer, span.nodes, plan) : BB_OK);
    bb_plan_set(plan, sum(&promises.study, &span));
    plan->gpus = bb_product_coding_gpus(&promises.study.pipelines, wafer->common.device);
    plan->output_bytes = output_bytes(wafer, &span);
    if (bb_dump_wanted(options->dump, "rows")) {
        plan->output_bytes += 8.0 * span.matrices * span.points * span.cells;
    }
    if (bb_dump_wanted(options->dump, "inputs")) {
        plan->output_bytes += 8.0 * span.scored * (double)wafer->scan.light_steps * span.cells;
    }
done:
    BB_RELEASE(&promises.pipelines);
    return status;
}
