// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"
#include "core/memory.h"
#include "sim/wafer/wafer_field.h"
#include "solvers/operator/device_coding.h"
#include "solvers/operator/device_matrix.h"

#include <math.h>

bool bb_wafer_field_is_truth(const bb_wafer_pass *pass, const bb_field_job *work)
{
    return work->pipeline == pass->reference && work->draw == 0;
}

void bb_wafer_field_release_coded(bb_field_coded *coded)
{
    bb_coded_operator_destroy(&coded->operation);
    bb_coded_matrix_destroy(&coded->matrix);
    bb_coded_matrix_destroy(&coded->unpacked);
}

static bb_matrix_layout layout_of(const bb_wafer_pass *pass, double range)
{
    return (bb_matrix_layout){.rows = pass->problem->slit.field_points,
                              .columns = pass->problem->input_count,
                              .mesh_columns = pass->problem->grid->columns,
                              .row_columns = pass->problem->slit.columns,
                              .range = range};
}

bb_status bb_wafer_field_open_rows(const bb_wafer_pass *pass, const bb_field_job *work,
                                   bb_field_rows *out)
{
    bb_status status = BB_OK;
    out->there = pass->gpu.device != NULL;
    if (out->there) {
        BB_TRY(bb_device_rows_fill(pass->gpu.rows, work->field, work->axis, pass->gpu.values));
    } else {
        BB_TRY(bb_wafer_row_source_open(pass->study, pass->problem, work->field, work->axis,
                                        &out->made));
    }
done:
    return status;
}

void bb_wafer_field_release_rows(bb_field_rows *rows)
{
    double *copy = rows->copy.data;
    BB_RELEASE(&copy);
    bb_wafer_row_source_release(&rows->made);
    bb_coded_operator_destroy(&rows->reference.operation);
    bb_coded_matrix_destroy(&rows->reference.unpacked);
    bb_coded_matrix_destroy(&rows->matrix);
}

// Exact rows on the host; rows of the GPU are copied once.
static bb_status load_exact(const bb_wafer_pass *pass, const bb_field_job *work,
                            bb_field_rows *rows, bb_exact_rows *out)
{
    bb_status status = BB_OK;
    static const char *const names[] = {"C_x", "C_y", "C_z"};
    const bb_index points = pass->problem->slit.field_points;
    const bb_index columns = pass->problem->input_count;
    double *values = NULL;
    *out = (bb_exact_rows){rows->made.source, rows->made.batch, rows->matrix};
    if (rows->there && rows->matrix == NULL) {
        if (rows->copy.data == NULL) {
            BB_TRY(BB_ALLOCATE(points * columns, &values));
            BB_TRY(bb_device_download(pass->gpu.device, values, pass->gpu.values,
                                      (size_t)(points * columns) * sizeof *values));
            rows->copy = bb_view_matrix(values, points, columns);
            rows->copied = bb_matrix_source_dense(&rows->copy, names[work->axis], "m/K");
            values = NULL;
        }
        *out = (bb_exact_rows){&rows->copied, 1, NULL};
    }
done:
    BB_RELEASE(&values);
    return status;
}

bb_status bb_wafer_field_download_matrix(const bb_wafer_pass *pass, const bb_field_job *work,
                                         bb_field_rows *rows)
{
    bb_status status = BB_OK;
    bb_exact_rows exact;
    bb_coding_report report;
    const bb_matrix_layout layout = layout_of(pass, rows->range);
    if (rows->matrix == NULL) {
        BB_TRY(load_exact(pass, work, rows, &exact));
        BB_TRY(bb_product_coding_encode(pass->reference, &exact, &layout, &report, NULL,
                                        &rows->matrix));
        double *copy = rows->copy.data;
        BB_RELEASE(&copy); // all pipelines encode from the matrix now
        rows->copy = (bb_view){0};
    }
done:
    return status;
}

// True if a draw is encoded on the GPU.
static bool is_coded_there(const bb_wafer_pass *pass, const bb_field_job *work,
                           const bb_field_rows *rows)
{
    return rows->there && (bb_wafer_field_is_truth(pass, work) ||
                           (work->evaluation->common.device == BB_DEVICE_CUDA &&
                            bb_device_coding_available(&work->pipeline->storage)));
}

static bb_status encode_there(bb_wafer_pass *pass, const bb_field_job *work,
                              const bb_matrix_layout *layout, const bb_coding_draw *draw,
                              bb_coding_factors *factors, bb_coding_report *report,
                              bb_field_coded *out)
{
    bb_status status = BB_OK;
    bb_device_matrix *matrix = NULL;
    bb_row_certificate *certificates =
        bb_wafer_field_is_truth(pass, work) ? pass->reference_rows : pass->rows;
    BB_TRY(bb_product_coding_encode_there(work->pipeline, pass->gpu.device, pass->gpu.values,
                                          layout, work->draw > 0 ? draw : NULL, factors, report,
                                          work->draw > 0 ? NULL : certificates, &matrix));
    BB_REQUIRE(!bb_wafer_field_is_truth(pass, work) || !isnan(report->norms.sum_squares),
               BB_INVALID, "rows of axis %c, field %td, computed on the GPU: a value is not finite",
               bb_axis_letter(work->axis), pass->problem->scored[work->field]);
    BB_TRY(bb_product_pipeline_operator_there(work->pipeline, pass->gpu.device, &matrix,
                                              &out->operation));
done:
    bb_device_matrix_destroy(&matrix);
    return status;
}

static bb_status encode_here(bb_wafer_pass *pass, const bb_field_job *work, bb_field_rows *rows,
                             const bb_matrix_layout *layout, const bb_coding_draw *draw,
                             bb_coding_factors *factors, bb_coding_report *report,
                             bb_field_coded *out)
{
    bb_status status = BB_OK;
    bb_exact_rows exact;
    BB_TRY(load_exact(pass, work, rows, &exact));
    if (work->draw > 0) {
        BB_TRY(bb_product_coding_encode_draw(work->pipeline, &exact, layout, draw, factors, report,
                                             &out->matrix));
    } else {
        BB_TRY(bb_product_coding_encode(
            work->pipeline, &exact, layout, report,
            bb_wafer_field_is_truth(pass, work) ? pass->reference_rows : pass->rows, &out->matrix));
    }
done:
    return status;
}

bb_status bb_wafer_field_make_operator(const bb_wafer_pass *pass, const bb_field_job *work,
                                       bb_field_coded *coded)
{
    bb_status status = BB_OK;
    bb_evaluation *common = &work->evaluation->common;
    if (bb_codec_unpacks(&work->pipeline->storage, common->device)) {
        BB_TRY(bb_matrix_coding_unpack(coded->matrix, &common->solve_seconds, &coded->unpacked));
    }
    BB_TRY(bb_product_devices_operator(pass->devices, common->device, work->pipeline,
                                       coded->unpacked != NULL ? coded->unpacked : coded->matrix,
                                       &coded->operation));
done:
    return status;
}

bb_status bb_wafer_field_encode(bb_wafer_pass *pass, const bb_field_job *work, bb_field_rows *rows,
                                double *range, bb_coding_factors *factors, bb_field_coded *out)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *pipeline = work->pipeline;
    const bb_matrix_layout layout = layout_of(pass, rows->range);
    bb_coding_report report;
    const bb_coding_draw draw = {.seed = (uint64_t)pass->study->common.seed,
                                 .number = work->draw,
                                 .first = (work->axis * pass->problem->scored_count + work->field) *
                                          layout.rows};
    BB_TRY(is_coded_there(pass, work, rows)
               ? encode_there(pass, work, &layout, &draw, factors, &report, out)
               : encode_here(pass, work, rows, &layout, &draw, factors, &report, out));
    *range = bb_error_norms_range(&report.norms);
    if (work->evaluation != NULL) {
        bb_coding_report_add(&work->evaluation->coding[work->axis], &report);
        work->evaluation->live_values +=
            (double)layout.rows *
            (double)(pass->problem->input_blocks * pass->problem->grid->live_count);
    }
    bb_log_detail("pipeline %s: %c encoded in %.3f s, %.3f bits per value", pipeline->name,
                  bb_axis_letter(work->axis), report.seconds, 8.0 * report.bytes / report.values);
done:
    return status;
}

bb_status bb_wafer_field_narrow_rows(bb_wafer_pass *pass, const bb_field_job *work,
                                     bb_field_rows *exact, bb_field_rows *out)
{
    bb_status status = BB_OK;
    const bb_stage_formats *formats = &work->pipeline->stages[BB_CHAIN_ROWS];
    bb_narrow_rows rows;
    bb_coding_report report;
    if (out->matrix != NULL && out->formats.storage == formats->storage &&
        bb_stage_formats_arithmetic(BB_CHAIN_ROWS, &out->formats) ==
            bb_stage_formats_arithmetic(BB_CHAIN_ROWS, formats)) {
        return BB_OK;
    }
    bb_coded_matrix_destroy(&out->matrix);
    out->formats = *formats;
    if (!bb_narrow_rows_are_computed(pass->problem, formats)) {
        BB_TRY(bb_wafer_field_download_matrix(pass, work, exact));
    }
    BB_TRY(bb_narrow_rows_open(pass->problem, formats, work->field, work->axis, exact->matrix,
                               &pass->narrow, &rows));
    const bb_exact_rows source = {&rows.source, rows.batch, NULL};
    const bb_matrix_layout layout = layout_of(pass, exact->range);
    BB_TRY(
        bb_product_coding_encode(pass->reference, &source, &layout, &report, NULL, &out->matrix));
    out->range = bb_error_norms_range(&report.norms);
done:
    return status;
}
