// SPDX-License-Identifier: Apache-2.0
#include "precision/matrix_coding.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/stage.h"
#include "core/thread.h"

#include <string.h>

// Encoding or comparison of bands of rows over the threads. Each band's errors are stored
// separately and added in order.
typedef struct coding {
    bb_matrix_coding task;
    const bb_coded_matrix *matrix;
    bb_coded_matrix *encoded; // `matrix`, to be encoded; NULL: it is finished
    bb_index band;            // rows
    bb_index band_groups;     // groups of a band
    bb_error_norms *norms;    // [bands]
} coding;

// Undoes a row's power-of-two scale in place, which is exact.
static void unscale(double scale, bb_index count, double *values)
{
    double inverse = 1.0 / scale;
    for (bb_index i = 0; scale != 1.0 && i < count; ++i) {
        values[i] *= inverse;
    }
}

// Multiplies a panel by the factors of its rows.
static void apply_factors(const double *factors, bb_view panel, double *out)
{
    for (bb_index i = 0; i < panel.shape[0]; ++i) {
        const double *values = bb_view_row(panel, i);
        for (bb_index j = 0; j < panel.shape[1]; ++j) {
            out[i * panel.shape[1] + j] = factors[i] * values[j];
        }
    }
}

static bb_status fill_rows(const coding *work, bb_index row, bb_view panel)
{
    bb_status status = BB_OK;
    const bb_exact_rows *rows = work->task.rows;
    bb_index columns = panel.shape[1];
    if (rows->matrix == NULL) {
        BB_TRY(bb_matrix_source_fill(rows->source, row, 0, panel));
    }
    for (bb_index i = 0; i < panel.shape[0]; ++i) {
        double *values = bb_view_row(panel, i);
        if (rows->matrix != NULL) {
            bb_coded_matrix_decode(rows->matrix, row + i, 0, columns, values);
            unscale(bb_coded_matrix_row_scale(rows->matrix, row + i), columns, values);
            continue;
        }
        if (work->task.allows_non_finite) {
            continue;
        }
        bb_index bad = bb_stage_find_nonfinite("rows", values, columns);
        BB_REQUIRE(bad < 0, BB_INVALID, "%s, row %td, column %td: %g, expected a finite value",
                   rows->source->name, row + i, bad, values[bad]);
    }
done:
    return status;
}

// Adds the rounding paths of a band's rows to their existing certificates.
static bb_status certify_paths(const coding *work, bb_index band)
{
    bb_status status = BB_OK;
    bb_row_rounding *paths = NULL;
    bb_index rest = bb_coded_matrix_rows(work->matrix) - band * work->band;
    bb_index rows = rest < work->band ? rest : work->band;
    BB_TRY(BB_ALLOCATE(rows, &paths));
    BB_TRY(bb_row_roundings_of(work->matrix, band, paths));
    for (bb_index i = 0; i < rows; ++i) {
        work->task.certificates[band * work->band + i].path = paths[i];
    }
done:
    BB_RELEASE(&paths);
    return status;
}

// Compares one band with its exact rows; `decoded` is a buffer for a piece of a group.
static void assess_band(const coding *work, bb_index band, const double *exact, double *decoded)
{
    const bb_coded_matrix *matrix = work->matrix;
    bb_index columns = bb_coded_matrix_columns(matrix);
    bb_index width = bb_coded_matrix_piece_columns(matrix);
    bb_index rows[BB_GROUP_ROWS];
    for (bb_index g = band * work->band_groups; g < (band + 1) * work->band_groups; ++g) {
        bb_index row_count = bb_coded_matrix_group_rows(matrix, g, rows);
        for (bb_index k = 0; work->task.certificates != NULL && k < row_count; ++k) {
            work->task.certificates[rows[k]] =
                bb_row_certificate_start(bb_coded_matrix_row_scale(matrix, rows[k]));
        }
        for (bb_index piece = 0; piece * width < columns; ++piece) {
            bb_index rest = columns - piece * width;
            bb_index count = rest < width ? rest : width;
            bb_coded_matrix_decode_f64(matrix, g, piece, decoded);
            for (bb_index k = 0; k < row_count; ++k) {
                double *values = decoded + k * width;
                const double *truth = exact + (rows[k] - band * work->band) * columns;
                bb_error_norms norms = bb_error_norms_start();
                unscale(bb_coded_matrix_row_scale(matrix, rows[k]), count, values);
                for (bb_index i = 0; work->task.factors != NULL && i < count; ++i) {
                    values[i] /= work->task.factors[rows[k]];
                }
                bb_error_norms_add(&norms, truth + piece * width, values, count);
                bb_error_norms_merge(&work->norms[band], &norms);
                if (work->task.certificates != NULL) {
                    bb_row_certificate_add(&work->task.certificates[rows[k]], &norms,
                                           truth + piece * width, values, count);
                }
            }
        }
    }
}

static bb_status encode_bands(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const coding *work = context;
    bb_index columns = bb_coded_matrix_columns(work->matrix);
    bb_index rows = bb_coded_matrix_rows(work->matrix);
    bb_index first = begin * work->band;
    bb_index past = end * work->band < rows ? end * work->band : rows;
    double *exact = NULL;   // [past - first][columns]
    double *drawn = NULL;   // [past - first][columns] `exact` times a draw's factors
    double *decoded = NULL; // [BB_GROUP_ROWS][piece columns]
    BB_TRY(BB_ALLOCATE((past - first) * columns, &exact));
    BB_TRY(BB_ALLOCATE(BB_GROUP_ROWS * bb_coded_matrix_piece_columns(work->matrix), &decoded));
    bb_view panel = bb_view_matrix(exact, past - first, columns);
    BB_TRY(fill_rows(work, first, panel));
    if (work->task.factors != NULL) {
        BB_TRY(BB_ALLOCATE((past - first) * columns, &drawn));
        apply_factors(work->task.factors + first, panel, drawn);
        panel = bb_view_matrix(drawn, past - first, columns);
    }
    if (work->encoded != NULL) {
        BB_TRY(bb_coded_matrix_encode(work->encoded, first, panel));
    }
    for (bb_index band = begin; band < end; ++band) {
        assess_band(work, band, exact + (band - begin) * work->band * columns, decoded);
        if (work->task.certificates != NULL) {
            BB_TRY(certify_paths(work, band));
        }
    }
done:
    BB_RELEASE(&exact);
    BB_RELEASE(&drawn);
    BB_RELEASE(&decoded);
    return status;
}

static bb_status run_bands(coding *work, bb_error_norms *total)
{
    bb_status status = BB_OK;
    bb_index rows = bb_coded_matrix_rows(work->matrix);
    work->band = bb_coded_matrix_band(work->matrix);
    bb_index bands = (rows + work->band - 1) / work->band;
    // Only the reference uses batches; it is plain, so its bands are single rows.
    bb_index grain = work->task.rows->matrix == NULL ? work->task.rows->batch : 1;
    work->band_groups = bb_coded_matrix_group_count(work->matrix) / bands;
    BB_TRY(BB_ALLOCATE(bands, &work->norms));
    for (bb_index band = 0; band < bands; ++band) {
        work->norms[band] = bb_error_norms_start();
    }
    BB_TRY(bb_thread_ranges(bands, grain, encode_bands, work));
    for (bb_index band = 0; band < bands; ++band) {
        bb_error_norms_merge(total, &work->norms[band]);
    }
done:
    BB_RELEASE(&work->norms);
    return status;
}

static bb_status run(coding *work, bb_coding_loss *loss)
{
    bb_status status = BB_OK;
    loss->norms = bb_error_norms_start();
    BB_TRY(run_bands(work, &loss->norms));
    loss->bytes = (double)bb_coded_matrix_bytes(work->matrix);
    loss->saturated = (double)bb_coded_matrix_saturated(work->matrix);
    loss->underflowed = (double)bb_coded_matrix_underflowed(work->matrix);
    loss->non_finite = (double)bb_coded_matrix_non_finite(work->matrix);
done:
    return status;
}

bb_status bb_matrix_coding_encode(const bb_matrix_coding *task, bb_coded_matrix *matrix,
                                  bb_coding_loss *loss)
{
    coding work = {.task = *task, .matrix = matrix, .encoded = matrix};
    return run(&work, loss);
}

bb_status bb_matrix_coding_compare(const bb_matrix_coding *task, const bb_coded_matrix *matrix,
                                   bb_coding_loss *loss)
{
    coding work = {.task = *task, .matrix = matrix};
    return run(&work, loss);
}

typedef struct unpacking {
    const bb_coded_matrix *coded;
    bb_coded_matrix *plain; // fp32; or NULL and
    double *values;         // [rows][columns]
} unpacking;

// Decodes row rows[k] of a group to targets[k], piece by piece; `decoded` is a buffer for a piece
// of all rows.
static void decode_group(const bb_coded_matrix *coded, bb_index group, bb_index count,
                         const bb_index *rows, double *decoded, double *const *targets)
{
    const bb_index columns = bb_coded_matrix_columns(coded);
    const bb_index width = bb_coded_matrix_piece_columns(coded);
    for (bb_index piece = 0; piece * width < columns; ++piece) {
        const bb_index rest = columns - piece * width;
        const bb_index held = rest < width ? rest : width;
        bb_coded_matrix_decode_f64(coded, group, piece, decoded);
        for (bb_index k = 0; k < count; ++k) {
            double *target = targets[k] + piece * width;
            memcpy(target, decoded + k * width, (size_t)held * sizeof *target);
            unscale(bb_coded_matrix_row_scale(coded, rows[k]), held, target);
        }
    }
}

// Decodes groups into the whole matrix, or into a thread's own rows, which are then encoded in
// fp32.
static bb_status unpack_groups(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const unpacking *work = context;
    const bb_index columns = bb_coded_matrix_columns(work->coded);
    bb_index rows[BB_GROUP_ROWS];
    double *targets[BB_GROUP_ROWS];
    double *decoded = NULL;  // [BB_GROUP_ROWS][piece columns]
    double *unpacked = NULL; // [BB_GROUP_ROWS][columns]
    BB_TRY(BB_ALLOCATE(BB_GROUP_ROWS * bb_coded_matrix_piece_columns(work->coded), &decoded));
    if (work->plain != NULL) {
        BB_TRY(BB_ALLOCATE(BB_GROUP_ROWS * columns, &unpacked));
    }
    for (bb_index group = begin; group < end; ++group) {
        const bb_index count = bb_coded_matrix_group_rows(work->coded, group, rows);
        for (bb_index k = 0; k < count; ++k) {
            targets[k] =
                work->plain != NULL ? unpacked + k * columns : work->values + rows[k] * columns;
        }
        decode_group(work->coded, group, count, rows, decoded, targets);
        for (bb_index k = 0; work->plain != NULL && k < count; ++k) {
            BB_TRY(bb_coded_matrix_encode(work->plain, rows[k],
                                          bb_view_matrix(targets[k], 1, columns)));
        }
    }
done:
    BB_RELEASE(&decoded);
    BB_RELEASE(&unpacked);
    return status;
}

bb_status bb_matrix_coding_decode(const bb_coded_matrix *coded, double *out)
{
    unpacking work = {.coded = coded, .values = out};
    return bb_thread_ranges(bb_coded_matrix_group_count(coded), 1, unpack_groups, &work);
}

bb_status bb_matrix_coding_unpack(const bb_coded_matrix *coded, double *seconds,
                                  bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    const bb_codec_config fp32 = bb_codec_plain(BB_FORMAT_FP32);
    const bb_matrix_layout layout = {.rows = bb_coded_matrix_rows(coded),
                                     .columns = bb_coded_matrix_columns(coded)};
    bb_coded_matrix *plain = NULL;
    double begin = bb_clock_seconds();
    BB_TRY(bb_coded_matrix_create(&fp32, BB_ROW_SCALE_NONE, &layout, &plain));
    unpacking work = {.coded = coded, .plain = plain};
    BB_TRY(bb_thread_ranges(bb_coded_matrix_group_count(coded), 1, unpack_groups, &work));
    *seconds += bb_clock_seconds() - begin;
    *out = plain;
    plain = NULL;
done:
    bb_coded_matrix_destroy(&plain);
    return status;
}
