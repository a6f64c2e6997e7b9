// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/loop_matrix.h"

#include "core/log.h"
#include "sim/wafer/wafer_rows.h"

#include <math.h>

static bb_status encode(const bb_wafer_problem *problem, const bb_product_pipeline *pipeline,
                        const bb_wafer_row_source *rows, bb_coding_report *report,
                        bb_coded_matrix **out)
{
    const bb_product_pipeline plain = {.name = "fp64",
                                       .storage = bb_codec_plain(BB_FORMAT_FP64),
                                       .multiply = BB_FORMAT_FP64,
                                       .accumulate = BB_FORMAT_FP64};
    bb_status status = BB_OK;
    bb_coded_matrix *copy = NULL;
    bb_coding_report first = {0};
    bb_exact_rows exact = {rows->source, rows->batch, NULL};
    bb_matrix_layout layout = {.rows = rows->source->rows,
                               .columns = rows->source->columns,
                               .mesh_columns = problem->grid->columns,
                               .row_columns = problem->slit.columns};
    if (bb_codec_needs_copy(&pipeline->storage)) { // which goes when its codec is done
        BB_TRY(bb_coding_encode(&plain, &exact, &layout, &first, NULL, &copy));
        layout.range = bb_error_norms_range(&first.norms);
        exact.matrix = copy;
    }
    BB_TRY(bb_coding_encode(pipeline, &exact, &layout, report, NULL, out));
    report->seconds += first.seconds;
done:
    bb_coded_matrix_destroy(&copy);
    return status;
}

bb_status bb_loop_matrix_encode(const bb_wafer_study *study, const bb_wafer_problem *problem,
                                const bb_product_pipeline *pipeline, bb_index field, int axis,
                                bb_coding_report *report, bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    bb_wafer_row_source rows = {0};
    *out = NULL;
    BB_TRY(bb_wafer_row_source_open(study, problem, field, axis, &rows));
    BB_TRY(encode(problem, pipeline, &rows, report, out));
    bb_log_detail("pipeline %s: %c of field %td coded in %.2f s, %.3f bits a value", pipeline->name,
                  "xyz"[axis], problem -> scored[field], report -> seconds,
                  8.0 * report -> bytes / report -> values);
done:
    bb_wafer_row_source_release(&rows);
    return status;
}

double bb_loop_matrix_bytes(const bb_product_pipeline *pipeline, double values)
{
    return values * bb_coding_device_bytes(pipeline);
}

double bb_loop_matrix_making_bytes(const bb_product_pipeline *pipeline, double values)
{
    return bb_loop_matrix_bytes(pipeline, values) +
           (bb_codec_needs_copy(&pipeline->storage) ? 8.0 * values : 0.0);
}
