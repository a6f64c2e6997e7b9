// SPDX-License-Identifier: Apache-2.0
//
// Memory and time of a wafer study, computed from its configuration alone.
#include "core/memory.h"
#include "physics/wafer/heat/bare_clamp.h"
#include "physics/wafer/heat/heat_sizes.h"
#include "sim/run/device_choice.h"
#include "sim/wafer/wafer_experiment.h"
#include "sim/wafer/wafer_rows.h"
#include "sim/wafer/wafer_work.h"
#include "solvers/operator/device_coding.h"

#include <math.h>

// Cost of the rows of one field along every axis.
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

// Memory of the problem, the inputs of the light steps, and displacements and residuals with their
// deviations for every draw.
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
                           (double)study->scan.light_steps * span->window; // reference
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
    span.device = study.common.device; // real-time loops use cuda for any matrix size
    study.common.device = device_of(&study, &span);
    BB_TRY(bb_wafer_extent_list(&study, &span));
    BB_TRY(bb_wafer_extent_count_inputs(&study, &span.input_sets));
    BB_TRY(bb_parts_need(bb_wafer_parts, &span.tried, &span, kept_need(&study, &span), &work));
    const bb_need kept = kept_need(&study, &span);
    const bb_need inputs = {.host_bytes = kept.host_bytes - span.held.host_bytes};
    const bb_need setup = bb_need_together(span.making, inputs); // problem of the rows, and heat
    bb_plan_set(plan, bb_need_together(start, bb_need_in_turn(setup, work)));
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
                       span->modes > 1.0 ? " with mean and drop" : "", span->steps));
    BB_TRY(bb_plan_add(plan, "response", "%.0f points x %.0f cells, %.0f matrices", span->points,
                       span->cells, span->matrices));
done:
    return status;
}

const bb_part bb_wafer_sizes_part = {.name = "sizes", .plan_lines = plan_sizes};

bb_status bb_wafer_extent_list(const bb_wafer_study *study, bb_wafer_extent *out)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *asked = study->pipelines.items;
    bb_storage_ladder ladders[BB_STORAGE_SEARCH_LADDERS];
    bb_index count = 0;
    double stage_passes = 0.0;
    out->tried = *study;
    out->passes = 1.0;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        count += 1 + bb_storage_search_list(&asked[p], study->common.device, ladders);
    }
    BB_TRY(BB_ALLOCATE(count, &out->pipelines));
    count = 0;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_index searched = bb_storage_search_list(&asked[p], study->common.device, ladders);
        const bool stages = bb_product_pipeline_searches_stages(&asked[p]);
        if (searched == 0) {
            out->pipelines[count++] = asked[p];
        }
        stage_passes = stages ? BB_STAGE_SEARCH_TRIALS + 1.0 : stage_passes; // plus the result
        out->held_draws +=
            stages || bb_product_pipeline_narrows(&asked[p]) ? BB_CHAIN_STAGES + 1.0 : 0.0;
        out->searches = out->searches || searched > 0;
        out->held_draws += (double)(asked[p].draws * (1 + searched));
        for (bb_index i = 0; i < searched; ++i) {
            const int trials = bb_storage_ladder_trials(&ladders[i]);
            bb_product_pipeline *candidate = &out->pipelines[count++];
            *candidate = asked[p];
            candidate->storage = bb_storage_ladder_widest(&ladders[i]);
            candidate->draws *= trials;
            out->passes = fmax(out->passes, (double)trials);
        }
    }
    out->passes += stage_passes;
    out->tried.pipelines = (bb_list){out->pipelines, count};
done:
    return status;
}

static bb_status list_search(const bb_wafer_study *study, const bb_product_pipeline *pipeline,
                             double values, bb_plan *plan)
{
    bb_storage_ladder ladders[BB_STORAGE_SEARCH_LADDERS];
    const bb_index count = bb_storage_search_list(pipeline, study->common.device, ladders);
    const bb_index stages = pipeline->search.stages.count;
    int trials = BB_STAGE_SEARCH_TRIALS * (int)stages;
    int most = 0;
    double bytes = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        const bb_codec_config last = bb_storage_ladder_widest(&ladders[i]);
        const int those = bb_storage_ladder_trials(&ladders[i]);
        trials += those;
        most = those > most ? those : most;
        bytes = fmax(bytes, bb_codec_bytes_per_value(&last));
    }
    most += stages > 0 ? BB_STAGE_SEARCH_TRIALS + 1 : 0; // final pass with each stage alone
    return bb_plan_add(plan, pipeline->name,
                       "max_loss %g nm, up to %d trials along %td ladders in %d passes, operator "
                       "at most %.1f MB",
                       pipeline->max_loss, trials, count + stages, most, 1e-6 * bytes * values);
}

// True if a plan generates rows on a GPU (wafer_pass.c).
static bool has_rows_there(const bb_wafer_study *study)
{
    const bb_wafer_config physics = bb_wafer_study_physics(study);
    const bb_product_pipeline *pipelines = study->pipelines.items;
    const bb_product_pipeline *reference =
        &pipelines[bb_product_pipelines_reference(&study->pipelines)];
    return bb_device_rows_planned(&physics) && bb_device_coding_available(&reference->storage) &&
           bb_product_pipeline_device(reference, study->common.device) == BB_DEVICE_CUDA;
}

static bb_status plan_product(const void *all, const void *extent, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_wafer_study *study = all;
    const bb_wafer_extent *span = extent;
    const bb_product_pipeline *pipelines = study->pipelines.items;
    const double values = span->matrices * span->cells * span->points;
    char codec[64];
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_codec_config *storage = &pipelines[p].storage;
        if (bb_product_pipeline_searches(&pipelines[p])) {
            BB_TRY(list_search(study, &pipelines[p], values, plan));
            continue;
        }
        bb_codec_describe(storage, codec, sizeof codec);
        BB_TRY(bb_plan_add(plan, pipelines[p].name, "%s, operator %s%.1f MB", codec,
                           isnan(bb_codec_bits_per_value(storage)) ? "at most " : "",
                           1e-6 * bb_codec_bytes_per_value(storage) * values));
    }
    plan->gpus = bb_product_coding_gpus(&span->tried.pipelines, study->common.device);
    if (plan->gpus > 0 && has_rows_there(study)) {
        plan->gpus = study->response.gpus;
    }
done:
    return status;
}

static bool is_coded_there(const bb_wafer_study *study, const bb_product_pipeline *pipeline)
{
    return has_rows_there(study) && bb_device_coding_available(&pipeline->storage) &&
           bb_product_pipeline_device(pipeline, study->common.device) == BB_DEVICE_CUDA;
}

// Cost of a draw of a field and axis that is encoded, multiplied and scored from rows on a GPU.
static bb_need need_there(const bb_wafer_study *study, const bb_wafer_extent *span,
                          const bb_product_pipeline *pipeline)
{
    static const double coded_per_second = 5.0e10; // encoded values
    static const double bytes_per_second = 2.5e12; // bytes read by products
    static const double scored_per_second = 3.0e6; // displacements scored by one core
    const double windows = span->scored_wafers * (double)study->scan.light_steps;
    bb_need need = bb_need_together(
        bb_coded_operator_need(&pipeline->storage, span->points, span->cells, BB_DEVICE_CUDA),
        bb_device_coding_need(&pipeline->storage, span->points, span->cells));
    need.seconds =
        span->points * span->cells / coded_per_second +
        windows * span->window *
            (span->cells * bb_codec_bytes_per_value(&pipeline->storage) / bytes_per_second +
             1.0 / scored_per_second);
    return need;
}

// Cost of a draw encoded on the host; `exact` is its fp64 source matrix.
static bb_need need_here(const bb_wafer_study *study, const bb_wafer_extent *span,
                         const bb_product_pipeline *pipeline, const bb_need *exact, double batch)
{
    const double windows = span->scored_wafers * (double)study->scan.light_steps;
    const bb_need window =
        bb_coded_operator_apply_need(&pipeline->storage, span->window, span->cells, span->threads);
    bb_need work =
        bb_product_coding_need(pipeline, study->common.device, &span->layout, batch, span->threads);
    work = bb_need_together(work, bb_need_repeated(window, windows));
    return exact == NULL ? work : bb_need_together(*exact, work);
}

// Cost of the rows of a field and axis on a GPU.
static bb_need need_rows_there(const bb_wafer_study *study, const bb_wafer_extent *span)
{
    static const double entries_per_second = 2.0e9; // coupled plate; other generators are faster
    bb_need need = bb_wafer_gpu_need(study, span->nodes, span->points, span->cells, span->window);
    need.seconds = span->matrices * span->passes * span->points * span->cells / entries_per_second;
    if (bb_wafer_chain_part.wanted(study)) { // products of exact rows use the reference's operator
        const bb_product_pipeline *pipelines = study->pipelines.items;
        const bb_index reference = bb_product_pipelines_reference(&study->pipelines);
        need = bb_need_together(need,
                                bb_coded_operator_need(&pipelines[reference].storage, span->points,
                                                       span->cells, BB_DEVICE_CUDA));
    }
    return need;
}

// Cost of a matrix in the reference's fp64, generated in batches of rows, and of one candidate at a
// time; each is applied to the inputs of its field on every scored wafer. The generator's
// workspaces are kept for the next field.
static bb_status need_product(const void *all, const void *extent, bb_need *out)
{
    const bb_wafer_study *study = all;
    const bb_wafer_extent *span = extent;
    const bb_product_pipeline *pipelines = study->pipelines.items;
    const bb_index reference = bb_product_pipelines_reference(&study->pipelines);
    const double batch =
        study->response.generator == (int)BB_GENERATOR_KERNEL ? 1.0 : (double)BB_GRID_BATCH;
    const bb_need exact = bb_coded_matrix_resident(&pipelines[reference].storage, &span->layout);
    bb_need need = {0};
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const double draws = (double)pipelines[p].draws;
        const bool has_candidate = p != reference || pipelines[p].draws > 1;
        const bb_need work =
            is_coded_there(study, &pipelines[p])
                ? need_there(study, span, &pipelines[p])
                : need_here(study, span, &pipelines[p], has_candidate ? &exact : NULL,
                            p == reference ? batch : 1.0);
        const double times = p == reference ? draws - 1.0 + span->passes : draws;
        need = bb_need_in_turn(need, bb_need_repeated(work, span->matrices * times));
    }
    const bb_need rows = has_rows_there(study)
                             ? need_rows_there(study, span)
                             : bb_need_repeated(span->rows, span->scored * span->passes);
    *out = bb_need_together(rows, need);
    return BB_OK;
}

static bb_status check_product(const void *all, const bb_config *config, bb_problems *problems)
{
    const bb_wafer_study *study = all;
    return bb_product_pipelines_check(&study->pipelines, study->common.device, config, problems);
}

// Part for the pipelines: their storages and products.
const bb_part bb_wafer_product_part = {
    .name = "product",
    .check = check_product,
    .need = need_product,
    .plan_lines = plan_product,
};
