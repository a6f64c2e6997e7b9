// SPDX-License-Identifier: Apache-2.0
#include "core/matrix_source.h"

#include "core/device/device_source.h"
#include "core/thread.h"

#include <string.h>

bb_status bb_matrix_source_block_check(const char *name, bb_index rows, bb_index columns,
                                       bb_index row, bb_index column, const bb_view *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(row >= 0 && column >= 0 && out->shape[0] <= rows - row &&
                   out->shape[1] <= columns - column,
               BB_INVALID, "matrix %s: block %td x %td at (%td, %td) exceeds %td x %td", name,
               out->shape[0], out->shape[1], row, column, rows, columns);
done:
    return status;
}

bb_status bb_matrix_source_fill(const bb_matrix_source *source, bb_index row, bb_index column,
                                bb_view out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(out.type == BB_F64 && out.rank == 2 && out.strides[1] == 1, BB_INVALID,
               "matrix %s: a panel must be fp64, of rank 2, with unit column stride", source->name);
    BB_TRY(bb_matrix_source_block_check(source->name, source->rows, source->columns, row, column,
                                        &out));
    BB_TRY(source->fill(source, row, column, out));
done:
    return status;
}

typedef struct loading {
    const bb_matrix_source *source;
    double *out;
} loading;

static bb_status load_rows(void *context, bb_index begin, bb_index end)
{
    const loading *work = context;
    bb_index columns = work->source->columns;
    bb_view rows = bb_view_matrix(work->out + begin * columns, end - begin, columns);
    return work->source->fill(work->source, begin, 0, rows);
}

bb_status bb_matrix_source_load(const bb_matrix_source *source, double *out)
{
    loading work = {source, out};
    return bb_thread_ranges(source->rows, 16, load_rows, &work);
}

static bb_status load_diagonal(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const loading *work = context;
    for (bb_index i = begin; i < end; ++i) {
        BB_TRY(work->source->fill(work->source, i, i, bb_view_matrix(work->out + i, 1, 1)));
    }
done:
    return status;
}

bb_status bb_matrix_source_diagonal(const bb_matrix_source *source, double *out)
{
    bb_status status = BB_OK;
    loading work = {source, out};
    BB_REQUIRE(source->rows == source->columns, BB_INVALID, "matrix %s is %td x %td, not square",
               source->name, source->rows, source->columns);
    BB_TRY(bb_thread_ranges(source->rows, 256, load_diagonal, &work));
done:
    return status;
}

static bb_status fill_dense(const bb_matrix_source *source, bb_index row, bb_index column,
                            bb_view out)
{
    const bb_view *matrix = source->context;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        memcpy(bb_view_row(out, i), bb_view_row(*matrix, row + i) + column,
               (size_t)out.shape[1] * sizeof(double));
    }
    return BB_OK;
}

bb_matrix_source bb_matrix_source_dense(const bb_view *matrix, const char *name, const char *unit)
{
    return (bb_matrix_source){.rows = matrix->shape[0],
                              .columns = matrix->shape[1],
                              .name = name,
                              .unit = unit,
                              .fill = fill_dense,
                              .twin = BB_CUDA_TWIN(bb_device_source_dense),
                              .context = matrix};
}

static bb_status fill_identity(const bb_matrix_source *source, bb_index row, bb_index column,
                               bb_view out)
{
    (void)source;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = bb_view_row(out, i);
        const bb_index one = row + i - column;
        memset(values, 0, (size_t)out.shape[1] * sizeof *values);
        if (one >= 0 && one < out.shape[1]) {
            values[one] = 1.0;
        }
    }
    return BB_OK;
}

bb_matrix_source bb_matrix_source_identity(bb_index rows, bb_index columns)
{
    return (bb_matrix_source){.rows = rows,
                              .columns = columns,
                              .symmetric = rows == columns,
                              .name = "I",
                              .unit = "1",
                              .fill = fill_identity,
                              .twin = BB_CUDA_TWIN(bb_device_source_identity)};
}
