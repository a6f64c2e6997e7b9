// SPDX-License-Identifier: Apache-2.0
#include "sim/reconstructor/reconstructor_inputs.h"

#include "core/memory.h"
#include "sim/input/declared_size.h"
#include "sim/run/study.h"

#include <math.h>
#include <string.h>

// Fills a block of A + U diag(w) U^T.
static bb_status fill_sum(const bb_matrix_source *source, bb_index row, bb_index column,
                          bb_view out)
{
    bb_status status = BB_OK;
    const bb_reconstructor_inputs *data = source->context;
    BB_TRY(bb_matrix_source_fill(bb_matrix_file_source(data->cmm), row, column, out));
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = bb_view_row(out, i);
        const double *row_vector = data->vectors + (row + i) * data->columns;
        for (bb_index j = 0; j < out.shape[1]; ++j) {
            const double *column_vector = data->vectors + (column + j) * data->columns;
            for (bb_index c = 0; c < data->columns; ++c) {
                values[j] += row_vector[c] * data->weights[c] * column_vector[c];
            }
        }
    }
done:
    return status;
}

// Opens a dataset and compares its unit with `unit`, NULL for the first: either all datasets give a
// unit or none.
static bb_status open_dataset(const bb_matrix_place *place, bool symmetric, bb_quantity quantity,
                              const char *name, const char *unit, bb_matrix_file **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_matrix_file_open(place, symmetric, name, out));
    BB_TRY(bb_matrix_file_expect(*out, quantity));
    const char *file_unit = bb_matrix_file_source(*out)->unit;
    BB_REQUIRE(unit == NULL || strcmp(file_unit, unit) == 0, BB_INVALID,
               "'%s', dataset '%s': values in %s, other datasets in %s (1: no unit)", place->file,
               place->dataset, file_unit, unit);
done:
    return status;
}

// Opens a dataset as open_dataset does, with the key in error messages.
static bb_status open_place(const bb_matrix_place *place, bool symmetric, bb_quantity quantity,
                            const char *name, const char *key, const char *unit,
                            bb_matrix_file **out)
{
    return bb_status_prefix(open_dataset(place, symmetric, quantity, name, unit, out), "%s", key);
}

// Reads all values of a dataset.
static bb_status load_place(const bb_matrix_place *place, bb_quantity quantity, const char *name,
                            const char *unit, bb_index *rows, bb_index *columns, double **out)
{
    bb_status status = BB_OK;
    bb_matrix_file *file = NULL;
    BB_TRY(open_place(place, false, quantity, name, name, unit, &file));
    const bb_matrix_source *source = bb_matrix_file_source(file);
    *rows = source->rows;
    *columns = source->columns;
    BB_TRY(bb_declared_size_fits(source->rows, source->columns));
    BB_TRY(BB_ALLOCATE(source->rows * source->columns, out));
    BB_TRY(bb_matrix_source_load(source, *out));
done:
    bb_matrix_file_close(&file);
    return status;
}

static bb_status open_low_rank(const bb_reconstructor_low_rank *keys, bb_reconstructor_inputs *data)
{
    bb_status status = BB_OK;
    const char *unit = bb_matrix_file_source(data->cmm)->unit;
    const bb_index n = bb_matrix_file_source(data->cmm)->rows;
    const bb_matrix_place vectors = {keys->file, keys->dataset};
    const bb_matrix_place weights = {keys->file, keys->weights};
    bb_index rows = 0;
    bb_index columns = 0;
    BB_TRY(load_place(&vectors, BB_QUANTITY_FRACTION, "low_rank", NULL, &rows, &data->columns,
                      &data->vectors));
    BB_REQUIRE(rows == n && data->columns <= n, BB_INVALID,
               "low_rank: %td x %td, expected the covariance's %td rows and at most as many "
               "columns",
               rows, data->columns, n);
    data->bounded = keys->weights != NULL;
    if (!data->bounded) {
        BB_TRY(BB_ALLOCATE(data->columns, &data->weights));
        for (bb_index c = 0; c < data->columns; ++c) {
            data->weights[c] = INFINITY;
        }
        goto done;
    }
    BB_TRY(load_place(&weights, BB_QUANTITY_COVARIANCE, "low_rank.weights", unit, &rows, &columns,
                      &data->weights));
    BB_REQUIRE((rows == 1 || columns == 1) && rows * columns == data->columns, BB_INVALID,
               "low_rank.weights: %td x %td, expected %td values", rows, columns, data->columns);
    for (bb_index c = 0; c < data->columns; ++c) {
        BB_REQUIRE(data->weights[c] > 0.0, BB_INVALID,
                   "low_rank.weights: value %td is %g, expected a positive number", c,
                   data->weights[c]);
    }
done:
    return status;
}

static bb_status open_truth(const bb_matrix_place *place, bb_index m, bb_reconstructor_inputs *data)
{
    bb_status status = BB_OK;
    if (place->file != NULL) {
        BB_TRY(open_place(place, true, BB_QUANTITY_COVARIANCE, "Ctt", "truth_covariance",
                          bb_matrix_file_source(data->ctm)->unit, &data->ctt));
        data->truth = bb_matrix_file_source(data->ctt);
    } else {
        BB_TRY(BB_ZEROED(m * m, &data->zeros));
        data->zeros_view = bb_view_matrix(data->zeros, m, m);
        data->zeros_source = bb_matrix_source_dense(&data->zeros_view, "Ctt", "1");
        data->truth = &data->zeros_source;
    }
    BB_REQUIRE(data->truth->rows == m, BB_INVALID,
               "truth_covariance: %td x %td, expected the cross_covariance's %td rows",
               data->truth->rows, data->truth->columns, m);
done:
    return status;
}

bb_status bb_reconstructor_inputs_open(const bb_reconstructor_study *study,
                                       bb_reconstructor_inputs *data)
{
    bb_status status = BB_OK;
    BB_TRY(open_place(&study->covariance, true, BB_QUANTITY_COVARIANCE, "Cmm", "covariance", NULL,
                      &data->cmm));
    const bb_matrix_source *cmm = bb_matrix_file_source(data->cmm);
    BB_TRY(open_place(&study->cross_covariance, false, BB_QUANTITY_COVARIANCE, "Ctm",
                      "cross_covariance", cmm->unit, &data->ctm));
    const bb_matrix_source *ctm = bb_matrix_file_source(data->ctm);
    BB_REQUIRE(ctm->columns == cmm->rows, BB_INVALID,
               "cross_covariance: %td columns, expected the covariance's %td", ctm->columns,
               cmm->rows);
    BB_TRY(open_truth(&study->truth_covariance, ctm->rows, data));
    data->sum = *cmm;
    if (study->low_rank.file != NULL) {
        BB_TRY(open_low_rank(&study->low_rank, data));
    }
    if (data->bounded) { // unbounded modes enter neither the estimate nor its residual
        data->sum = (bb_matrix_source){.rows = cmm->rows,
                                       .columns = cmm->columns,
                                       .symmetric = true,
                                       .name = "Cmm",
                                       .unit = cmm->unit,
                                       .fill = fill_sum,
                                       .context = data};
    }
done:
    return status;
}

void bb_reconstructor_inputs_close(bb_reconstructor_inputs *data)
{
    bb_matrix_file_close(&data->cmm);
    bb_matrix_file_close(&data->ctm);
    bb_matrix_file_close(&data->ctt);
    BB_RELEASE(&data->zeros);
    BB_RELEASE(&data->vectors);
    BB_RELEASE(&data->weights);
}
