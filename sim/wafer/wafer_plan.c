// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_plan.h"

#include "core/device/device.h"
#include "core/memory.h"
#include "physics/wafer/heat/bare_clamp.h"
#include "physics/wafer/heat/heat_sizes.h"
#include "physics/wafer/response/plate_response.h"
#include "physics/wafer/slit_grid.h"
#include "sim/dump.h"
#include "sim/pipelines/product_coding.h"
#include "sim/wafer/overlay/lot_overlay.h"
#include "sim/wafer/realtime/realtime_plan.h"
#include "sim/wafer/wafer_cautions.h"
#include "sim/wafer/wafer_dump.h"
#include "sim/wafer/wafer_promise.h"
#include "sim/wafer/wafer_rows.h"
#include "sim/wafer/wafer_study.h"

#include <math.h>

// Sizes of a study, counted as doubles.
typedef struct extent {
    double cells, points, window; // inputs of a row, points of a field and of a slit window
    double blocks;                // of the grid S in an input
    double nodes, steps;          // of the mesh with the ring; time steps in all
    double unknowns, clamp;       // of the heat in all; nodes of the clamp
    double modes;                 // of temperature through the thickness
    double fields, exposed, scored;
    double wafers, samples; // rows of the probes
    double scored_wafers;
    double matrices; // of all scored fields and axes
    double passes;   // through the rows: several of a promise
} extent;

// Whether rows take a second block of inputs, for the thermal moment.
static bool has_moment(const bb_wafer_study *study)
{
    return study->response.generator == (int)BB_GENERATOR_PLATE ||
           study->response.generator == (int)BB_GENERATOR_FILE;
}

static bb_status measure(const bb_wafer_study *study, extent *out)
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
    };
done:
    bb_scan_destroy(&scan);
    return status;
}

static bool has_plate(const bb_wafer_study *study)
{
    return study->response.generator == (int)BB_GENERATOR_PLATE;
}

// Values in a factor of nested dissection; the plate's with its indices, as measured at 1 and 0.5
// mm.
static double factor_values(double per_unknown, double unknowns)
{
    return per_unknown * unknowns * log2(unknowns);
}

static double plate_values(const extent *span)
{
    return factor_values(17.5, BB_PLATE_UNKNOWNS * span->nodes);
}

// Factor of the plate, and beside it either the matrix and its permuted copy while it is made, or
// the right-hand sides of each thread; what stands in both times is counted elsewhere.
static double plate_bytes(const extent *span, double threads)
{
    double making = 2.0 * 16.0 * 165.0 * span->nodes - 8.0 * span->cells * span->points;
    double batches = fmin(threads, ceil(span->points / BB_PLATE_BATCH));
    return 8.0 * plate_values(span) +
           fmax(making, batches * bb_plate_response_bytes(span->nodes, span->blocks));
}

static double membrane_values(const extent *span)
{
    return factor_values(7.0, 2.0 * span->nodes);
}

// What makes the rows.
static double rows_bytes(const bb_wafer_study *study, const extent *span, double threads)
{
    if (study->response.generator == (int)BB_GENERATOR_FEM) {
        const double batches = fmin(threads, ceil(span->points / BB_MEMBRANE_BATCH));
        return 8.0 * (membrane_values(span) + batches * BB_MEMBRANE_BATCH * 3.0 * span->nodes);
    }
    return has_plate(study) ? plate_bytes(span, threads) : 0.0;
}

static double host_bytes(const bb_wafer_study *study, const extent *span, double threads)
{
    const bb_product_pipeline *pipelines = study->pipelines.items;
    bb_index reference = bb_product_pipelines_reference(&study->pipelines);
    double inputs = 8.0 * span->cells * span->scored_wafers *
                    (span->scored * (double)study->scan.light_steps + 1.0);
    double largest = 0.0;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bool beside = p != reference || pipelines[p].draws > 1;
        largest =
            fmax(largest,
                 beside ? bb_product_coding_held_bytes(&pipelines[p], study->common.device) : 0.0);
    }
    largest *= span->cells * span->points;
    // The reference in fp64 and one candidate; mesh, step matrix, restriction and states by node.
    double bytes = BB_PLAN_PROGRAM_BYTES + 8.0 * span->cells * span->points + largest + inputs +
                   800.0 * span->modes * span->nodes;
    bytes += span->passes > 1.0
                 ? bb_wafer_pass_kept_bytes(span->matrices, span->scored_wafers,
                                            (double)study->scan.light_steps, span->window)
                 : 0.0;
    return bytes + rows_bytes(study, span, threads);
}

// One matrix at a time is on a GPU, beside x and y; 0 where no pipeline computes there.
static double device_bytes(const bb_wafer_study *study, const extent *span)
{
    const bb_product_pipeline *pipelines = study->pipelines.items;
    double largest = 0.0;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        if (bb_product_pipeline_wants_gpu(&pipelines[p], study->common.device)) {
            largest = fmax(largest, bb_product_coding_device_bytes(&pipelines[p]) * span->cells *
                                            span->points +
                                        8.0 * (span->cells + span->points));
        }
    }
    return largest;
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

// Rough: the plate is factored on one core at 8e7 unknowns^1.5 a second.
static double factor_seconds(const extent *span)
{
    return pow(BB_PLATE_UNKNOWNS * span->nodes, 1.5) / 8e7;
}

// Core seconds of the rows of a point: 2.5e7 kernel entries a second, 4e9 values of the membrane's
// factor, 8.5e9 of the plate's.
static double point_seconds(const bb_wafer_study *study, const extent *span)
{
    const double axes = (double)study->response.axes.count;
    if (has_plate(study)) {
        return axes * plate_values(span) / 8.5e9;
    }
    const double closed = span->cells / 2.5e7;
    if (study->response.generator != (int)BB_GENERATOR_FEM) {
        return axes * closed;
    }
    const double heights = bb_wafer_study_has_kernel_height(study) ? 1.0 : 0.0;
    return (axes - heights) * membrane_values(span) / 4e9 + heights * closed;
}

// A step by Crank-Nicolson costs some twelve products with the matrix.
static double step_updates(const bb_wafer_study *study)
{
    return study->mesh.stepping == (int)BB_STEPPING_CRANK_NICOLSON ? 20.0 : 1.0;
}

// Rough rates of one core: 1e8 node updates and 1.5e9 products a second.
static double seconds(const bb_wafer_study *study, const extent *span, double cores)
{
    double rows = span->matrices * span->points;
    double draws = 0.0;
    double coding = 0.0;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_product_pipeline *pipeline =
            (const bb_product_pipeline *)study->pipelines.items + p;
        draws += (double)pipeline->draws;
        coding += (double)pipeline->draws * rows * span->cells *
                  bb_codec_seconds_per_value(&pipeline->storage);
    }
    double products = span->scored_wafers * span->matrices * draws *
                      (double)study->scan.light_steps * span->window * span->cells;
    return 0.5 + (has_plate(study) ? factor_seconds(span) : 0.0) +
           (coding + span->passes * span->scored * span->points * point_seconds(study, span) +
            step_updates(study) * span->steps * span->modes * span->nodes / 1e8 +
            products / 1.5e9) /
               cores;
}

static bb_status list_operator(const bb_wafer_study *study, const bb_product_pipeline *pipeline,
                               double values, bb_plan *plan)
{
    char codec[64];
    if (bb_product_pipeline_promises(pipeline)) {
        return bb_wafer_promises_plan(study, pipeline, values, plan);
    }
    double bits = bb_codec_bits_per_value(&pipeline->storage);
    bb_codec_describe(&pipeline->storage, codec, sizeof codec);
    if (isnan(bits)) {
        return bb_plan_add(plan, pipeline->name, "%s, operator at most %.1f MB", codec,
                           1e-6 * 4.0 * values);
    }
    return bb_plan_add(plan, pipeline->name, "%s, operator %.1f MB", codec,
                       1e-6 * bits / 8.0 * values);
}

static bb_status plan_realtime(const bb_wafer_study *study, const extent *span, double threads,
                               bb_plan *plan)
{
    const bb_realtime_extent realtime = {.cells = span->cells,
                                         .points = span->points,
                                         .nodes = span->nodes,
                                         .scored = span->scored,
                                         .rows_bytes = rows_bytes(study, span, threads),
                                         .threads = threads};
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

bb_status bb_wafer_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_wafer_study *wafer = study;
    const bb_wafer_config physics = bb_wafer_study_physics(wafer);
    const bb_product_pipeline *pipelines = wafer->pipelines.items;
    bb_wafer_promises_extent promises = {0};
    extent span;
    BB_TRY(bb_wafer_dump_check(&wafer->dump, options->dump));
    BB_TRY(bb_wafer_rows_check(wafer));
    BB_TRY(bb_wafer_problem_check_step(&physics));
    BB_TRY(bb_wafer_problem_check_burls(&physics));
    BB_TRY(measure(wafer, &span));
    BB_TRY(bb_wafer_promises_measure(wafer, &promises));
    span.passes = promises.passes;
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
    BB_TRY(plan_realtime(wafer, &span, (double)options->threads, plan));
    BB_TRY(list_requirements(wafer, &span, plan));
    if (has_plate(wafer)) {
        double unknowns = BB_PLATE_UNKNOWNS * span.nodes;
        BB_TRY(bb_plan_add(plan, "plate", "about %.0f unknowns, factor of %.1f MB in about %.0f s",
                           unknowns, 8e-6 * plate_values(&span), factor_seconds(&span)));
        if (wafer->response.cache_folder != NULL) {
            BB_TRY(bb_plan_add(plan, "kept factor", "in '%s', taken from there where it fits",
                               wafer->response.cache_folder));
        }
    }
    plan->host_bytes = host_bytes(&promises.study, &span, (double)options->threads);
    plan->device_bytes = device_bytes(&promises.study, &span);
    plan->output_bytes = output_bytes(wafer, &span);
    if (bb_dump_wanted(options->dump, "rows")) {
        plan->output_bytes += 8.0 * span.matrices * span.points * span.cells;
    }
    if (bb_dump_wanted(options->dump, "inputs")) {
        plan->output_bytes += 8.0 * span.scored * (double)wafer->scan.light_steps * span.cells;
    }
    plan->estimated_seconds = seconds(&promises.study, &span, (double)options->threads);
done:
    BB_RELEASE(&promises.pipelines);
    return status;
}
