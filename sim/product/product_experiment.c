// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"
#include "core/memory.h"
#include "core/outcome.h"
#include "core/random.h"
#include "precision/coded_matrix.h"
#include "precision/error_norms.h"
#include "sim/input/declared_size.h"
#include "sim/kernels/kernel_variants.h"
#include "sim/output/results.h"
#include "sim/pipelines/energy.h"
#include "sim/pipelines/evaluation.h"
#include "sim/pipelines/pipeline_restart.h"
#include "sim/pipelines/product_coding.h"
#include "sim/product/product_study.h"
#include "sim/run/device_choice.h"
#include "sim/run/dump.h"
#include "sim/run/experiment.h"
#include "sim/run/part.h"
#include "sim/run/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct product_dump product_dump;

enum { UNIT_BYTES = 160 };

struct product_dump {
    bb_results *results; // borrowed; the results own this object
    bool wants_y, wants_matrix;
    double *y[BB_STUDY_PIPELINES]; // [vectors][rows]
    bb_view views[BB_STUDY_PIPELINES];
    bb_coded_matrix *matrices[BB_STUDY_PIPELINES];
    bb_matrix_source y_sources[BB_STUDY_PIPELINES], matrix_sources[BB_STUDY_PIPELINES];
    // Closes the files that units were read from, before the output file is written.
    char units[BB_STUDY_PIPELINES][UNIT_BYTES], y_units[BB_STUDY_PIPELINES][UNIT_BYTES];
};

static void release_dump(void *object)
{
    product_dump *dump = object;
    for (bb_index p = 0; p < BB_STUDY_PIPELINES; ++p) {
        BB_RELEASE(&dump->y[p]);
        bb_coded_matrix_destroy(&dump->matrices[p]);
    }
    BB_RELEASE(&dump);
}

static bb_status create_dump(bb_results *results, const char *names, product_dump **out)
{
    bb_status status = BB_OK;
    product_dump *dump = NULL;
    *out = NULL;
    if (!bb_dump_wanted(names, "Y") && !bb_dump_wanted(names, "C")) {
        goto done;
    }
    BB_TRY(BB_ZEROED(1, &dump));
    dump->results = results;
    dump->wants_y = bb_dump_wanted(names, "Y");
    dump->wants_matrix = bb_dump_wanted(names, "C");
    BB_TRY(bb_results_own(results, dump, release_dump));
    *out = dump;
done:
    return status;
}

static bb_status add_operator(product_dump *dump, const char *letter, const char *what,
                              bb_index index, const char *pipeline, const bb_matrix_source *source)
{
    char name[64];
    char long_name[192];
    (void)snprintf(name, sizeof name, "%s_%td", letter, index);
    (void)snprintf(long_name, sizeof long_name, "%s of pipeline %.120s", what, pipeline);
    return bb_results_operator(dump->results, name, long_name, source);
}

static bb_status dump_y(product_dump *dump, bb_index index, const char *pipeline, const char *unit,
                        bb_index vectors, bb_index rows, const double *y)
{
    bb_status status = BB_OK;
    if (dump == NULL || !dump->wants_y) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(vectors * rows, &dump->y[index]));
    memcpy(dump->y[index], y, (size_t)(vectors * rows) * sizeof *y);
    dump->views[index] = bb_view_matrix(dump->y[index], vectors, rows);
    (void)snprintf(dump->y_units[index], sizeof dump->y_units[index], "%s", unit);
    dump->y_sources[index] = bb_matrix_source_dense(&dump->views[index], "Y", dump->y_units[index]);
    BB_TRY(add_operator(dump, "Y", "products, one vector per row,", index, pipeline,
                        &dump->y_sources[index]));
done:
    return status;
}

static bb_status fill_decoded(const bb_matrix_source *source, bb_index row, bb_index column,
                              bb_view out)
{
    const bb_coded_matrix *matrix = source->context;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = (double *)out.data + i * out.strides[0];
        const double scale = bb_coded_matrix_row_scale(matrix, row + i);
        bb_coded_matrix_decode(matrix, row + i, column, out.shape[1], values);
        for (bb_index j = 0; j < out.shape[1]; ++j) {
            values[j] /= scale;
        }
    }
    return BB_OK;
}

static bb_status dump_matrix(product_dump *dump, bb_index index, const char *pipeline,
                             const char *unit, int axis, bb_coded_matrix *matrix, bool *taken)
{
    bb_status status = BB_OK;
    bb_matrix_metadata metadata = {0};
    *taken = false;
    if (dump == NULL || !dump->wants_matrix) {
        goto done;
    }
    dump->matrices[index] = matrix;
    *taken = true;
    (void)snprintf(dump->units[index], sizeof dump->units[index], "%s", unit);
    dump->matrix_sources[index] = (bb_matrix_source){.rows = bb_coded_matrix_rows(matrix),
                                                     .columns = bb_coded_matrix_columns(matrix),
                                                     .name = "C",
                                                     .unit = dump->units[index],
                                                     .fill = fill_decoded,
                                                     .context = matrix};
    BB_TRY(
        add_operator(dump, "C", "matrix, decoded,", index, pipeline, &dump->matrix_sources[index]));
    if (axis >= 0) {
        metadata.axis[0] = "xyz"[axis];
    }
    bb_results_operator_metadata(dump->results, &metadata);
done:
    return status;
}

static double dump_bytes(const char *names, double pipelines, double rows, double columns,
                         double vectors)
{
    return 8.0 * pipelines * rows *
           ((bb_dump_wanted(names, "Y") ? vectors : 0.0) +
            (bb_dump_wanted(names, "C") ? columns : 0.0));
}

static const bb_device_offer offer = {.work = "the matrix-vector product",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA) |
                                               BB_DEVICE_OFFER(BB_DEVICE_OPENCL)};

// Results of one pipeline.
typedef struct product_evaluation {
    bb_evaluation common;
    bb_coding_report coding;
    double worst_vector; // largest relative error of one vector
} product_evaluation;

typedef struct product_run {
    const bb_product_study *study;
    const bb_product_pipeline *pipelines;
    bb_index pipeline_count, reference;
    bb_matrix_file *file;
    const bb_matrix_source *matrix;
    bb_matrix_layout layout;
    bb_index vectors;
    double *x;                       // [vectors][columns]
    double *y;                       // [vectors][rows] of the current pipeline
    double *truth;                   // [vectors][rows] of the reference
    char y_unit[128];                // unit of the products: matrix times inputs
    bb_coded_matrix *exact;          // evaluation of the reference
    bool exact_is_kept;              // owned by the results
    product_dump *dump;              // NULL without a dump; owned by the results
    product_evaluation *evaluations; // [pipeline_count]
    bb_product_devices devices;
    bb_restart restart;
} product_run;

static void finish(product_run *run)
{
    if (!run->exact_is_kept) {
        bb_coded_matrix_destroy(&run->exact);
    }
    bb_matrix_file_close(&run->file);
    BB_RELEASE(&run->x);
    BB_RELEASE(&run->y);
    BB_RELEASE(&run->truth);
    BB_RELEASE(&run->evaluations);
    bb_product_devices_close(&run->devices);
    bb_restart_release(&run->restart);
}

// Opens the matrix with the layout of the study. A pipeline that cannot encode it is an error
// before any computation.
static bb_status lay_out(const bb_product_study *study, const bb_matrix_file *file,
                         bb_matrix_layout *out)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *pipelines = study->pipelines.items;
    *out = (bb_matrix_layout){.rows = bb_matrix_file_source(file)->rows,
                              .columns = bb_matrix_file_source(file)->columns,
                              .mesh_columns = study->layout.mesh_columns,
                              .row_columns = study->layout.row_columns,
                              .range = bb_matrix_file_range(file)};
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        BB_TRY(bb_status_prefix(bb_matrix_layout_check(out, &pipelines[p].storage), "pipeline %s",
                                pipelines[p].name));
    }
done:
    return status;
}

static bb_status open_matrix(const bb_product_study *study, bb_matrix_file **out)
{
    return bb_status_prefix(bb_matrix_file_open(&study->matrix, false, "C", out), "matrix");
}

// Opens the inputs X, if the study has them.
static bb_status open_inputs(const bb_product_study *study, bb_index columns, bb_matrix_file **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_status_prefix(bb_matrix_file_open(&study->inputs, false, "X", out), "inputs"));
    const bb_matrix_source *source = bb_matrix_file_source(*out);
    BB_REQUIRE(source->columns == columns, BB_INVALID,
               "inputs: %td values per vector, expected the matrix's %td columns", source->columns,
               columns);
done:
    return status;
}

// Unit of a product; a dimensionless factor leaves the unit of the other.
static void record_unit(product_run *run, const char *input)
{
    const char *matrix = run->matrix->unit;
    const bool plain = strcmp(input, "1") == 0;
    const bool pure = strcmp(matrix, "1") == 0;
    (void)snprintf(run->y_unit, sizeof run->y_unit, "%s%s%s", pure && !plain ? "" : matrix,
                   plain || pure ? "" : " ", plain ? "" : input);
}

static bb_status read_inputs(product_run *run)
{
    bb_status status = BB_OK;
    bb_matrix_file *file = NULL;
    BB_TRY(open_inputs(run->study, run->matrix->columns, &file));
    const bb_matrix_source *source = bb_matrix_file_source(file);
    run->vectors = source->rows;
    BB_TRY(bb_declared_size_fits(source->rows, source->columns));
    BB_TRY(BB_ALLOCATE(source->rows * source->columns, &run->x));
    BB_TRY(bb_matrix_source_load(source, run->x));
    record_unit(run, source->unit);
done:
    bb_matrix_file_close(&file);
    return status;
}

static bb_status draw_inputs(product_run *run)
{
    bb_status status = BB_OK;
    bb_index count = run->study->vectors * run->matrix->columns;
    run->vectors = run->study->vectors;
    record_unit(run, "1");
    BB_TRY(BB_ALLOCATE(count, &run->x));
    for (bb_index i = 0; i < count; ++i) {
        run->x[i] =
            bb_random_normal((uint64_t)run->study->common.seed, BB_STREAM_INPUT, (uint64_t)i);
    }
done:
    return status;
}

static int device_of(const bb_product_study *study, const bb_matrix_layout *layout)
{
    return bb_device_choice_by_size(study->common.device,
                                    (double)layout->rows * (double)layout->columns,
                                    BB_DEVICE_CHOICE_VALUES);
}

static bb_status start(const bb_product_study *study, product_run *run)
{
    bb_status status = BB_OK;
    run->study = study;
    run->pipelines = study->pipelines.items;
    run->pipeline_count = study->pipelines.count;
    run->reference = bb_product_pipelines_reference(&study->pipelines);
    BB_TRY(open_matrix(study, &run->file));
    run->matrix = bb_matrix_file_source(run->file);
    BB_TRY(lay_out(study, run->file, &run->layout));
    const int device = device_of(study, &run->layout);
    bb_device_choice_announce(&offer, study->common.device, device);
    BB_TRY(BB_ZEROED(run->pipeline_count, &run->evaluations));
    for (bb_index p = 0; p < run->pipeline_count; ++p) {
        run->evaluations[p].common = bb_evaluation_start(run->pipelines[p].name);
        BB_TRY(bb_product_devices_open(&run->devices, &run->pipelines[p], device,
                                       &run->evaluations[p].common.device));
    }
    BB_TRY(study->inputs.file != NULL ? read_inputs(run) : draw_inputs(run));
    BB_TRY(BB_ALLOCATE(run->vectors * run->matrix->rows, &run->y));
    BB_TRY(BB_ALLOCATE(run->vectors * run->matrix->rows, &run->truth));
    bb_log_info("matrix %td x %td, %td vectors", run->matrix->rows, run->matrix->columns,
                run->vectors);
done:
    return status;
}

// Repeats all products of a pipeline for an energy measurement.
typedef struct repetition {
    const product_run *run;
    bb_coded_operator *operation;
    double seconds;
} repetition;

static bb_status multiply_again(void *context)
{
    bb_status status = BB_OK;
    repetition *work = context;
    const bb_matrix_source *matrix = work->run->matrix;
    for (bb_index v = 0; v < work->run->vectors; ++v) {
        BB_TRY(bb_coded_operator_apply(work->operation, 0, matrix->rows,
                                       work->run->x + v * matrix->columns,
                                       work->run->y + v * matrix->rows, &work->seconds));
    }
done:
    return status;
}

static bb_status multiply(product_run *run, bb_index pipeline, const bb_coded_matrix *matrix,
                          const bb_coding_factors *factors, bb_evaluation *common)
{
    bb_status status = BB_OK;
    bb_coded_operator *operation = NULL;
    bb_coded_matrix *unpacked = NULL;
    bb_index rows = run->matrix->rows;
    bb_index columns = run->matrix->columns;
    common->solve_seconds = 0.0;
    if (bb_codec_unpacks(&run->pipelines[pipeline].storage, common->device)) {
        BB_TRY(bb_matrix_coding_unpack(matrix, &common->solve_seconds, &unpacked));
        matrix = unpacked;
    }
    BB_TRY(bb_product_devices_operator(&run->devices, common->device, &run->pipelines[pipeline],
                                       matrix, &operation));
    repetition again = {.run = run, .operation = operation};
    BB_TRY(bb_energy_measure(common->device, multiply_again, &again, common));
    for (bb_index v = 0; v < run->vectors; ++v) {
        double *y = run->y + v * rows;
        BB_TRY(bb_coded_operator_apply(operation, 0, rows, run->x + v * columns, y,
                                       &common->solve_seconds));
        bb_coding_factors_undo(factors, 0, rows, y);
        bb_index bad = bb_outcome_first_non_finite(y, rows);
        if (bad >= 0) {
            bb_outcome_set(&common->outcome, BB_OUTCOME_NON_FINITE, "product %td, row %td", v, bad);
        }
    }
    bb_evaluation_note_compiler(common, bb_coded_operator_compiler(operation));
    common->flops = common->flops_dense =
        (double)run->vectors * bb_coded_operator_flops(rows, columns);
done:
    bb_coded_operator_destroy(&operation);
    bb_coded_matrix_destroy(&unpacked);
    return status;
}

// Computes the errors over all vectors and of the worst vector; non-finite errors fail the outcome.
static void compare(const product_run *run, product_evaluation *evaluation)
{
    bb_index rows = run->matrix->rows;
    double *all_values = &evaluation->common.qoi_relative_error;
    *all_values = bb_error_norms_relative(run->y, run->truth, run->vectors * rows);
    for (bb_index v = 0; v < run->vectors; ++v) {
        const double relative =
            bb_error_norms_relative(run->y + v * rows, run->truth + v * rows, rows);
        // Treats NaN as the worst error; fmax would drop it.
        bool worse = isnan(relative) || relative > evaluation->worst_vector;
        evaluation->worst_vector = worse ? relative : evaluation->worst_vector;
    }
    if (evaluation->common.outcome.kind == BB_OUTCOME_OK && !isfinite(*all_values)) {
        bb_outcome_set(&evaluation->common.outcome, BB_OUTCOME_NON_FINITE,
                       "relative error of a product whose reference is %s",
                       isnan(*all_values) ? "NaN" : "all zero");
    }
}

// Dumps matrix and products of draw 0 of a pipeline.
static bb_status dump_plain(product_run *run, bb_index pipeline, bb_coded_matrix *matrix,
                            bool *kept)
{
    bb_status status = BB_OK;
    const char *name = run->pipelines[pipeline].name;
    BB_TRY(dump_y(run->dump, pipeline, name, run->y_unit, run->vectors, run->matrix->rows, run->y));
    BB_TRY(dump_matrix(run->dump, pipeline, name, run->matrix->unit, bb_matrix_file_axis(run->file),
                       matrix, kept));
done:
    return status;
}

// Runs one draw; draw 0 of the reference is the truth.
static bb_status run_draw(product_run *run, bb_index pipeline, bb_index number,
                          product_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_exact_rows rows = {run->matrix, 1, run->exact};
    const bb_coding_draw draw = {.seed = (uint64_t)run->study->common.seed, .number = number};
    bb_coding_factors factors = {0};
    bb_coded_matrix *matrix = NULL;
    bool kept = false;
    if (!bb_codec_supports_tolerance(&run->pipelines[pipeline].storage, run->layout.range,
                                     &evaluation->common.outcome)) {
        evaluation->coding = bb_coding_report_unset();
        evaluation->worst_vector = NAN;
        goto done;
    }
    BB_TRY(bb_product_coding_encode_draw(&run->pipelines[pipeline], &rows, &run->layout, &draw,
                                         &factors, &evaluation->coding, &matrix));
    evaluation->common.operator_bytes = evaluation->coding.bytes;
    evaluation->common.fp32_bytes = 4.0 * evaluation->coding.values;
    evaluation->common.encode_seconds = evaluation->coding.seconds;
    BB_TRY(multiply(run, pipeline, matrix, &factors, &evaluation->common));
    if (number == 0) {
        BB_TRY(dump_plain(run, pipeline, matrix, &kept));
    }
    if (pipeline == run->reference && number == 0) {
        memcpy(run->truth, run->y,
               (size_t)(run->vectors * run->matrix->rows) * sizeof run->truth[0]);
        run->exact = matrix;
        run->exact_is_kept = kept;
        kept = true;
    }
    compare(run, evaluation);
done:
    bb_coding_factors_release(&factors);
    if (!kept) {
        bb_coded_matrix_destroy(&matrix);
    }
    return status;
}

static bb_status run_pipeline(product_run *run, bb_index pipeline)
{
    bb_status status = BB_OK;
    product_evaluation *plain = &run->evaluations[pipeline];
    bb_draws *draws = &plain->common.draws;
    BB_TRY(run_draw(run, pipeline, 0, plain));
    if (plain->common.outcome.kind == BB_OUTCOME_NOT_HELD) {
        bb_log_warning("pipeline %s: not_held, %s", plain->common.pipeline,
                       plain->common.outcome.detail);
    }
    bb_draws_add(draws, &plain->common.outcome, plain->common.qoi_relative_error);
    for (bb_index d = 1; d < run->pipelines[pipeline].draws; ++d) {
        product_evaluation drawn = {.common = bb_evaluation_start(plain->common.pipeline)};
        drawn.common.device = plain->common.device;
        BB_TRY(run_draw(run, pipeline, d, &drawn));
        bb_draws_add(draws, &drawn.common.outcome, drawn.common.qoi_relative_error);
    }
done:
    return status;
}

static const bb_output operators[] = {
    {"operator", "operator", NULL, .long_name = "dataset of the matrix"},
};

static const bb_output_table operator_outputs = {
    .title = "/results, product", .group = "results", BB_OUTPUT_ROWS(operators)};

static const bb_output outputs[] = {
    {"worst_relative_error", "pipeline", "1",
     "largest relative error of one vector: norm of y - y_ref over norm of y_ref",
     .member = offsetof(product_evaluation, worst_vector)},
};

static const bb_output_table product_outputs = {
    .title = "/results, product", .group = "results", .axes = "pipeline", BB_OUTPUT_ROWS(outputs)};

static bb_status publish(void *work, bb_results *results)
{
    bb_status status = BB_OK;
    const product_run *run = work;
    const product_evaluation *first = run->evaluations;
    const bb_index count = run->pipeline_count;
    const bb_evaluations all_evaluations = {&first->common, sizeof *first, count,
                                            &run->study->machine.price};
    bb_coding_report *reports = NULL; // [count]
    BB_TRY(BB_ALLOCATE(count, &reports));
    for (bb_index p = 0; p < count; ++p) {
        reports[p] = run->evaluations[p].coding;
    }
    BB_TRY(bb_evaluations_publish(&all_evaluations, "1", results));
    BB_TRY(bb_output_table_publish_records(&product_outputs, first, sizeof *first, count, NULL,
                                           results));
    BB_TRY(bb_output_table_add_axis(&operator_outputs, "operator", 1, &run->study->matrix.dataset,
                                    NULL, results));
    BB_TRY(bb_coding_report_publish(&run->study->pipelines, "operator", 1, run->matrix->unit,
                                    reports, results));
done:
    BB_RELEASE(&reports);
    return status;
}

static const bb_part scores = {
    .name = "scores",
    .run = publish,
    .outputs = BB_OUTPUTS(&bb_evaluation_outputs, &product_outputs, &operator_outputs,
                          &bb_coding_report_outputs, &bb_coding_report_measures),
};

static bb_status publish_kernels(void *work, bb_results *results)
{
    return bb_kernel_variants_publish(((product_run *)work)->devices.variants, results);
}

static const bb_part kernels = {
    .name = "kernels",
    .run = publish_kernels,
    .outputs = BB_OUTPUTS(&bb_kernel_ledger_axes, &bb_kernel_ledger_outputs),
};

static const bb_part *const parts[] = {&scores, &kernels, NULL};

// Arrays of a pipeline in a checkpoint, in addition to its evaluation.
static bb_index list_kept(const void *context, bb_index pipeline, bb_store_piece *pieces)
{
    const product_evaluation *kept = &((const product_run *)context)->evaluations[pipeline];
    pieces[0] = (bb_store_piece){&kept->coding, sizeof kept->coding};
    pieces[1] = (bb_store_piece){&kept->worst_vector, sizeof kept->worst_vector};
    return 2;
}

// Recomputes draw 0 of a pipeline restored from a checkpoint, for its matrix and products only: as
// the reference of other pipelines, for a dump, and to record assembled kernels.
static bb_status run_again(product_run *run, bb_index pipeline, bool is_last)
{
    bb_status status = BB_OK;
    const bb_evaluation *kept = &run->evaluations[pipeline].common;
    product_evaluation again = {.common = bb_evaluation_start(kept->pipeline)};
    again.common.device = kept->device;
    if ((pipeline == run->reference && !is_last) || run->dump != NULL ||
        run->devices.contexts[kept->device] != NULL) {
        BB_TRY(run_draw(run, pipeline, 0, &again));
    }
done:
    return status;
}

// Runs every pipeline, the reference first.
static bb_status run_all(product_run *run, const bb_run_options *options)
{
    bb_status status = BB_OK;
    const bb_index count = run->pipeline_count;
    bb_index order[BB_STUDY_PIPELINES];
    bb_pipeline_state state = {.order = order,
                               .first = &run->evaluations->common,
                               .stride = sizeof *run->evaluations,
                               .count = count,
                               .context = run,
                               .list = list_kept};
    for (bb_index i = 0; i < count; ++i) {
        order[i] = i == 0 ? run->reference : i - (i <= run->reference);
    }
    BB_TRY(bb_pipeline_restart_load(&run->restart, options->resume, &state));
    const bb_index restored = state.finished;
    for (bb_index i = 0; i < count; ++i) {
        bb_log_progress_step("computing", run->pipelines[order[i]].name, i, count);
        if (i < restored) {
            BB_TRY(run_again(run, order[i], restored == count));
        } else {
            BB_TRY(run_pipeline(run, order[i]));
            state.finished = i + 1;
            BB_TRY(bb_pipeline_restart_save(&run->restart, &state));
        }
    }
    bb_log_progress("computing", count, count);
done:
    return status;
}

static bb_status run_product(const void *study, const bb_run_options *options, bb_results *results)
{
    bb_status status = BB_OK;
    product_run run = {0};
    BB_TRY(create_dump(results, options->dump, &run.dump));
    BB_TRY(bb_product_devices_vary(&run.devices, &((const bb_product_study *)study)->kernels,
                                   options->kernels));
    BB_TRY(bb_pipeline_restart_open(&bb_product_study_schema, study, options, &run.restart));
    BB_TRY(start(study, &run));
    BB_TRY(run_all(&run, options));
    BB_TRY(bb_parts_run(parts, study, &run, results));
done:
    finish(&run);
    return status;
}

// Memory of the reference in fp64 and of one candidate at a time, each applied to all vectors, and
// of x, y and the reference's y.
static bb_need sum(const bb_product_study *study, const bb_matrix_layout *layout, double vectors,
                   double threads)
{
    const bb_product_pipeline *pipelines = study->pipelines.items;
    const bb_index reference = bb_product_pipelines_reference(&study->pipelines);
    const double rows = (double)layout->rows;
    const double columns = (double)layout->columns;
    const bb_need exact = bb_coded_matrix_resident(&pipelines[reference].storage, layout);
    bb_need need = {.seconds = 0.5};
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const double draws = (double)pipelines[p].draws;
        const bool has_candidate = p != reference || pipelines[p].draws > 1;
        bb_need work =
            bb_product_coding_need(&pipelines[p], device_of(study, layout), layout, 1.0, threads);
        const bb_need products =
            bb_coded_operator_apply_need(&pipelines[p].storage, rows, columns, threads);
        work = bb_need_together(work, bb_need_repeated(products, vectors));
        work = bb_need_repeated(work, draws);
        need = bb_need_in_turn(need, has_candidate ? bb_need_together(exact, work) : work);
    }
    const bb_need values = {.host_bytes = sizeof(double) * vectors * (columns + 2.0 * rows)};
    return bb_need_together(values, need);
}

static bb_status plan_product(const void *study, const bb_run_options *options, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_product_study *product = study;
    const bb_product_pipeline *pipelines = product->pipelines.items;
    bb_matrix_file *file = NULL;
    bb_matrix_file *inputs = NULL;
    bb_matrix_layout layout;
    bb_index vectors = product->vectors;
    char codec[64];
    BB_TRY(open_matrix(product, &file));
    BB_TRY(lay_out(product, file, &layout));
    if (product->inputs.file != NULL) {
        BB_TRY(open_inputs(product, layout.columns, &inputs));
        vectors = bb_matrix_file_source(inputs)->rows;
    }
    BB_TRY(bb_plan_add(plan, "matrix", "%td x %td, %td vectors", layout.rows, layout.columns,
                       vectors));
    for (bb_index p = 0; p < product->pipelines.count; ++p) {
        bb_outcome outcome = {0};
        bool held = bb_codec_supports_tolerance(&pipelines[p].storage, layout.range, &outcome);
        bb_codec_describe(&pipelines[p].storage, codec, sizeof codec);
        BB_TRY(bb_plan_add(plan, pipelines[p].name, "%s%s%s%s", codec, held ? "" : ": ",
                           held ? "" : bb_outcome_name(outcome.kind), held ? "" : ", no product"));
        if (!held) {
            bb_log_warning("pipeline %s: %s, %s", pipelines[p].name, bb_outcome_name(outcome.kind),
                           outcome.detail);
        }
    }
    bb_plan_set(plan, sum(product, &layout, (double)vectors, (double)options->threads));
    plan->gpus = bb_product_coding_gpus(&product->pipelines, device_of(product, &layout));
    const double dumped = dump_bytes(options->dump, (double)product->pipelines.count,
                                     (double)layout.rows, (double)layout.columns, (double)vectors);
    plan->output_bytes = 1000.0 * (double)product->pipelines.count + dumped;
    plan->host_bytes += dumped; // encoded matrices are kept; each is at most as large
done:
    bb_matrix_file_close(&inputs);
    bb_matrix_file_close(&file);
    return status;
}

static const bb_column columns[] = {
    {"qoi_relative_error", "relative error", 1.0},
    {"worst_relative_error", "worst vector", 1.0},
    {"operator_bytes", "operator [MB]", 1e-6},
    {"compression_ratio", "ratio to fp32", 1.0},
    {"solve_time_s", "solve [ms]", 1e3},
    {"encode_time_s", "encode [ms]", 1e3},
    {"energy_j", "energy [J]", 1.0},
    {"cost_usd", "cost [USD]", 1.0},
};
static const char *const losses[] = {"qoi_relative_error"};

const bb_experiment bb_product_experiment = {
    .name = "product",
    .schema = &bb_product_study_schema,
    .starter = bb_product_study_starter,
    .check = bb_product_study_check,
    .plan = plan_product,
    .run = run_product,
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .parts = parts,
    .losses = losses,
    .loss_count = sizeof losses / sizeof losses[0],
    .loss_name = "relative error",
    .tolerance = 1e-3,
    .checkpoint_help = "pipelines, a tenth of the time at most",
    .operators = "Y,C",
};
