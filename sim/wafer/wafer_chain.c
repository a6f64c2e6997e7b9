// SPDX-License-Identifier: Apache-2.0
//
// Narrow stages before the product of a wafer study: rules, memory, and the overlay error of each
// stage alone. The error of a stage alone is computed with the reference's product; that of the
// product alone, with exact rows and inputs.
#include "core/memory.h"
#include "sim/wafer/overlay/wafer_overlay.h"
#include "sim/wafer/wafer_work.h"

#include <math.h>

static bool has_stages(const bb_product_pipeline *pipeline)
{
    return bb_product_pipeline_narrows(pipeline) || bb_product_pipeline_searches_stages(pipeline);
}

static bool is_wanted(const void *study)
{
    const bb_list *pipelines = &((const bb_wafer_study *)study)->pipelines;
    bool wanted = false;
    for (bb_index p = 0; p < pipelines->count; ++p) {
        wanted = wanted || has_stages((const bb_product_pipeline *)pipelines->items + p);
    }
    return wanted;
}

static bool searches_stage(const bb_product_pipeline *pipeline, bb_chain_stage stage)
{
    const bb_list *stages = &pipeline->search.stages;
    bool found = false;
    for (bb_index i = 0; i < stages->count; ++i) {
        found = found || ((const int *)stages->items)[i] == (int)stage;
    }
    return found;
}

// Reason why a generator cannot compute rows in an arithmetic; NULL if it can.
static const char *refuse_arithmetic(const bb_wafer_study *study, const bb_stage_formats *rows)
{
    const int generator = study->response.generator;
    const int arithmetic = (int)bb_stage_formats_arithmetic(BB_CHAIN_ROWS, rows);
    if (generator == (int)BB_GENERATOR_FILE) {
        return rows->arithmetic > 0 ? "generator file reads its rows; give only a storage" : NULL;
    }
    if (generator == (int)BB_GENERATOR_KERNEL) {
        return arithmetic > (int)BB_FORMAT_FP32
                   ? "the closed-form kernel is evaluated in fp64 or fp32, expected one of them"
                   : NULL;
    }
    if (bb_wafer_study_has_kernel_height(study) && arithmetic > (int)BB_FORMAT_FP32) {
        return "axis z of generator fem uses the closed-form kernel, which is evaluated in fp64 "
               "or fp32; expected one of them, or only axes x and y";
    }
    return arithmetic == (int)BB_FORMAT_FP16
               ? "the stiffness factor and its solutions exceed the range of fp16, expected fp64, "
                 "fp32, tf32 or bf16"
               : NULL;
}

static bb_status check_stages(const bb_wafer_study *study, bb_index p, bool reference,
                              const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *pipeline = (const bb_product_pipeline *)study->pipelines.items + p;
    const bb_stage_formats *rows = &pipeline->stages[BB_CHAIN_ROWS];
    const char *refused = refuse_arithmetic(study, rows);
    for (int s = 0; s < BB_CHAIN_STAGES; ++s) {
        BB_TRY(bb_study_refuse(
            reference && bb_stage_formats_narrow((bb_chain_stage)s, &pipeline->stages[s]), config,
            problems, "pipelines.%td.%s: the reference is the truth, expected fp64", p,
            bb_chain_stage_names[s]));
    }
    BB_TRY(bb_study_refuse(
        study->mesh.stepping == (int)BB_STEPPING_CRANK_NICOLSON &&
            (bb_stage_formats_narrow(BB_CHAIN_HEAT, &pipeline->stages[BB_CHAIN_HEAT]) ||
             searches_stage(pipeline, BB_CHAIN_HEAT)),
        config, problems,
        "pipelines.%td.heat: steps of mesh.stepping crank-nicolson are solved in fp64, expected "
        "mesh.stepping: explicit",
        p));
    BB_TRY(bb_study_refuse(refused != NULL, config, problems, "pipelines.%td.rows.arithmetic: %s",
                           p, refused));
done:
    return status;
}

static bb_status check(const void *all, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_wafer_study *study = all;
    const bb_index reference = bb_product_pipelines_reference(&study->pipelines);
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        BB_TRY(check_stages(study, p, p == reference, config, problems));
    }
done:
    return status;
}

double bb_wafer_work_stage_bytes(const bb_wafer_work *work, const bb_product_pipeline *pipeline,
                                 bb_chain_stage stage)
{
    const bb_wafer_problem *problem = work->problem;
    const double bytes =
        (double)bb_format_describe((bb_format)pipeline->stages[stage].storage)->bytes;
    const double cells = (double)problem->input_count;
    if (stage == BB_CHAIN_HEAT) {
        return bytes *
               (double)(bb_csr_nonzeros(&problem->thermal->step_matrix) + problem->thermal->size);
    }
    if (stage == BB_CHAIN_INTERPOLATION) {
        return bytes * ((double)bb_csr_nonzeros(&problem->grid->restriction) + cells);
    }
    return bytes * cells * (double)problem->slit.field_points *
           (double)(problem->scored_count * work->study.response.axes.count);
}

static bb_status add_task(bb_wafer_work *work, bb_index p, int stage, bb_chain_tasks *tasks)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *reference = &work->pipelines[work->reference - work->evaluations];
    bb_chain_task *task = &tasks->items[tasks->count];
    *task = (bb_chain_task){.pipeline = p,
                            .stage = stage,
                            .record =
                                bb_product_pipeline_isolate(&work->pipelines[p], reference, stage)};
    task->evaluation.common = bb_evaluation_start(task->record.name);
    BB_TRY(bb_product_devices_open(&work->devices, &task->record, work->study.common.device,
                                   &task->evaluation.common.device));
    ++tasks->count;
    BB_TRY(bb_wafer_evaluation_create(&work->study, work->problem, 0, &task->evaluation));
done:
    return status;
}

bb_status bb_chain_tasks_list(bb_wafer_work *work, bool found, bb_chain_tasks *out)
{
    bb_status status = BB_OK;
    const bb_index pipelines = work->study.pipelines.count;
    BB_TRY(BB_ZEROED(pipelines * (BB_CHAIN_STAGES + 1), &out->items));
    for (bb_index p = 0; p < pipelines; ++p) {
        const bb_product_pipeline *pipeline = &work->pipelines[p];
        if (!bb_product_pipeline_narrows(pipeline) || pipeline->storage.codec < 0 ||
            bb_product_pipeline_searches(pipeline) != found) {
            continue;
        }
        for (int s = 0; s < BB_CHAIN_STAGES; ++s) {
            if (bb_stage_formats_narrow((bb_chain_stage)s, &pipeline->stages[s])) {
                BB_TRY(add_task(work, p, s, out));
            }
        }
        BB_TRY(add_task(work, p, BB_CHAIN_STAGES, out));
    }
done:
    return status;
}

void bb_chain_tasks_append(const bb_chain_tasks *tasks, bb_wafer_task *list, bb_index *count)
{
    for (bb_index i = 0; i < tasks->count; ++i) {
        bb_chain_task *task = &tasks->items[i];
        list[(*count)++] = (bb_wafer_task){.pipeline = &task->record,
                                           .evaluation = &task->evaluation,
                                           .exact = task->stage != BB_CHAIN_STAGES};
    }
}

bb_status bb_chain_tasks_score(const bb_chain_tasks *tasks, bb_wafer_work *work)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < tasks->count; ++i) {
        const bb_chain_task *task = &tasks->items[i];
        BB_TRY(bb_wafer_overlay_headline(work, &task->evaluation,
                                         &work->chain[task->pipeline].alone[task->stage]));
        for (int axis = 0; axis < BB_WAFER_AXES && task->stage == BB_CHAIN_STAGES; ++axis) {
            work->evaluations[task->pipeline].certificate[axis] =
                task->evaluation.certificate[axis];
        }
    }
done:
    return status;
}

void bb_chain_tasks_release(bb_chain_tasks *tasks)
{
    for (bb_index i = 0; i < tasks->count; ++i) {
        bb_wafer_evaluation_release(&tasks->items[i].evaluation);
    }
    tasks->count = 0;
    BB_RELEASE(&tasks->items);
}

enum { FORMATS_BYTES = 24 };

// Results of a pipeline.
typedef struct row {
    double alone[BB_CHAIN_STAGES + 1];
    const char *formats[BB_CHAIN_STAGES];
    char text[BB_CHAIN_STAGES][FORMATS_BYTES];
} row;

static const bb_output rows[] = {
    {"heat_formats", "pipeline", NULL, "formats of the controller's heat",
     .note = "`bf16 in fp32`: stored in bf16, computed in fp32",
     BB_MEMBER(row, formats[BB_CHAIN_HEAT])},
    {"interpolation_formats", "pipeline", NULL, "formats of the controller's cell temperatures",
     BB_MEMBER(row, formats[BB_CHAIN_INTERPOLATION])},
    {"rows_formats", "pipeline", NULL, "formats of rows before they are coded",
     BB_MEMBER(row, formats[BB_CHAIN_ROWS])},
    {"heat_error_nm", "pipeline", "nm",
     "overlay error of narrow heat alone: larger abs(mean) + 3 sigma of x and y",
     .note = "0 for a stage in fp64", BB_MEMBER(row, alone[BB_CHAIN_HEAT])},
    {"interpolation_error_nm", "pipeline", "nm", "overlay error of narrow interpolation alone",
     BB_MEMBER(row, alone[BB_CHAIN_INTERPOLATION])},
    {"rows_error_nm", "pipeline", "nm", "overlay error of narrow rows alone",
     BB_MEMBER(row, alone[BB_CHAIN_ROWS])},
    {"product_error_nm", "pipeline", "nm",
     "overlay error of storage and product alone, with exact rows and inputs",
     BB_MEMBER(row, alone[BB_CHAIN_STAGES])},
};
static const bb_output_table outputs = {"/results, wafer with narrow `heat`, `interpolation` or "
                                        "`rows`",
                                        NULL, "results", "pipeline", BB_OUTPUT_ROWS(rows)};

static bb_status publish(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_work *work = all;
    const bb_index count = work->study.pipelines.count;
    row *records = NULL; // [pipelines]
    BB_TRY(BB_ZEROED(count, &records));
    for (bb_index p = 0; p < count; ++p) {
        const bb_product_pipeline *pipeline = &work->pipelines[p];
        row *record = &records[p];
        double whole = NAN;
        BB_TRY(bb_wafer_overlay_headline(work, &work->evaluations[p], &whole));
        for (int s = 0; s < BB_CHAIN_STAGES; ++s) {
            bb_product_pipeline_describe_stage(pipeline, (bb_chain_stage)s, record->text[s],
                                               FORMATS_BYTES);
            record->formats[s] = pipeline->storage.codec < 0 ? "" : record->text[s];
            record->alone[s] = pipeline->storage.codec < 0 ? NAN : work->chain[p].alone[s];
        }
        record->alone[BB_CHAIN_STAGES] = pipeline->storage.codec < 0 ? NAN
                                         : bb_product_pipeline_narrows(pipeline)
                                             ? work->chain[p].alone[BB_CHAIN_STAGES]
                                             : whole;
    }
    BB_TRY(
        bb_output_table_publish_records(&outputs, records, sizeof *records, count, NULL, results));
done:
    BB_RELEASE(&records);
    return status;
}

// Counts the input sets of a pass: for every pipeline, its own inputs, its heat alone and its
// interpolation alone.
static bb_status count_inputs(const bb_wafer_study *study, double *out)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *pipelines = study->pipelines.items;
    const bb_product_pipeline *reference =
        pipelines + bb_product_pipelines_reference(&study->pipelines);
    const bb_index count = study->pipelines.count;
    bb_product_pipeline *records = NULL; // [2 count] heat alone, interpolation alone
    const bb_product_pipeline **list = NULL;
    BB_TRY(BB_ALLOCATE(2 * count, &records));
    BB_TRY(BB_ALLOCATE(3 * count, &list));
    for (bb_index p = 0; p < count; ++p) {
        list[3 * p] = &pipelines[p];
        for (int s = 0; s < 2; ++s) {
            records[2 * p + s] = bb_product_pipeline_isolate(&pipelines[p], reference, s);
            list[3 * p + 1 + s] = &records[2 * p + s];
        }
    }
    *out = (double)bb_wafer_heating_narrow_pairs(list, 3 * count);
done:
    BB_RELEASE(&records);
    BB_RELEASE(&list);
    return status;
}

enum { SETS_OF_SEARCH = 3 }; // per search: heat alone, interpolation alone, both found

bb_status bb_wafer_extent_count_inputs(const bb_wafer_study *study, double *out)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *pipelines = study->pipelines.items;
    BB_TRY(count_inputs(study, out));
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        *out += bb_product_pipeline_searches_stages(&pipelines[p]) ? SETS_OF_SEARCH : 0.0;
    }
done:
    return status;
}

// Memory for a pipeline's rows in narrow formats and their encoded form, in addition to the exact
// rows.
static bb_need narrow_rows_need(const bb_wafer_study *study, const bb_wafer_extent *span,
                                const bb_product_pipeline *pipeline)
{
    const bb_wafer_config physics = bb_wafer_study_physics(study);
    const bb_product_pipeline *reference = (const bb_product_pipeline *)study->pipelines.items +
                                           bb_product_pipelines_reference(&study->pipelines);
    const bb_need exact = bb_coded_matrix_resident(&reference->storage, &span->layout);
    bb_need need =
        bb_product_coding_need(pipeline, study->common.device, &span->layout, 1.0, span->threads);
    need.seconds = 0.0; // counted by the product
    need = bb_need_together(need, bb_need_copies(exact, 2.0));
    need = bb_need_together(need, bb_wafer_problem_narrow_need(&physics));
    return bb_need_together(need, bb_need_repeated(span->rows, 2.0 * span->scored));
}

// Cost of one more heat run per input set, two more row computations per pipeline (all stages, rows
// alone), and one product of the reference per stage alone.
static bb_status need(const void *all, const void *extent, bb_need *out)
{
    static const double entries = 16.0; // entries in a row of A
    const bb_wafer_study *study = all;
    const bb_wafer_extent *span = extent;
    const bb_product_pipeline *pipelines = study->pipelines.items;
    const double windows = span->scored_wafers * (double)study->scan.light_steps * span->matrices;
    const bb_codec_config plain = bb_codec_plain(BB_FORMAT_FP64);
    const bb_need window =
        bb_coded_operator_apply_need(&plain, span->window, span->cells, span->threads);
    const bb_need step = bb_stepper_step_need(span->unknowns, false, span->threads);
    const bb_need steps = bb_need_repeated(step, span->input_sets * span->steps);
    *out = bb_need_together(bb_stepper_need(span->unknowns, false), steps);
    *out = bb_need_together(*out, bb_narrow_matrix_need(entries * span->unknowns, span->unknowns));
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_product_pipeline *pipeline = &pipelines[p];
        const bool repeated = p > 0 && pipeline->name == pipelines[p - 1].name; // same search
        if (!repeated && has_stages(pipeline)) {
            *out = bb_need_in_turn(*out, bb_need_repeated(window, windows * BB_CHAIN_STAGES));
        }
        if (!repeated &&
            (bb_stage_formats_narrow(BB_CHAIN_ROWS, &pipeline->stages[BB_CHAIN_ROWS]) ||
             searches_stage(pipeline, BB_CHAIN_ROWS))) {
            *out = bb_need_in_turn(*out, narrow_rows_need(study, span, pipeline));
        }
    }
    return BB_OK;
}

static bb_status plan_lines(const void *study, const void *extent, bb_plan *plan)
{
    const bb_wafer_extent *span = extent;
    const double steps = span->scored * (double)((const bb_wafer_study *)study)->scan.light_steps;
    return bb_plan_add(plan, "chain",
                       "at most %.0f sets of inputs besides the reference's, of %.1f MB",
                       span->input_sets, 8e-6 * span->cells * steps * span->scored_wafers);
}

const bb_part bb_wafer_chain_part = {
    .name = "chain",
    .wanted = is_wanted,
    .check = check,
    .need = need,
    .plan_lines = plan_lines,
    .run = publish,
    .outputs = BB_OUTPUTS(&outputs),
};
