// SPDX-License-Identifier: Apache-2.0
#include "precision/codec.h"

#include "core/memory.h"
#include "precision/scaling.h"

#include <math.h>
#include <stdatomic.h>

struct bb_coded_matrix {
    bb_format format;
    bb_row_scale scaling;
    bb_index rows, columns;
    unsigned char *words; // [rows][columns] of the format's words
    double *scale;        // [rows]
    atomic_ptrdiff_t saturated;
    atomic_ptrdiff_t underflowed;
};

const char *const bb_row_scale_names[] = {"none", "row", NULL};

// One row a codec: its name and the plain format that holds its values.
static const struct {
    const char *name;
    bb_format format;
} codecs[] = {
    {"fp64", BB_FORMAT_FP64},
    {"fp32", BB_FORMAT_FP32},
    {"tf32", BB_FORMAT_TF32},
    {"bf16", BB_FORMAT_BF16},
    {"fp16", BB_FORMAT_FP16},
    {"e4m3", BB_FORMAT_E4M3},
    {"e5m2", BB_FORMAT_E5M2},
};

const char *const bb_codec_names[] = {"fp64", "fp32", "tf32", "bf16", "fp16", "e4m3", "e5m2", NULL};

static const bb_key keys[] = {
    {.name = "codec",
     .kind = BB_KEY_CHOICE,
     .offset = offsetof(bb_codec_config, codec),
     .choices = bb_codec_names,
     .meaning = "How the operator's values are stored."},
};
const bb_schema bb_codec_schema = BB_SCHEMA("storage", bb_codec_config, keys);

static size_t row_bytes(const bb_coded_matrix *matrix)
{
    return (size_t)matrix->columns * (size_t)bb_format_describe(matrix->format)->bytes;
}

bb_status bb_coded_matrix_create(const bb_codec_config *config, bb_row_scale scale, bb_index rows,
                                 bb_index columns, bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    bb_coded_matrix *matrix = NULL;
    *out = NULL;
    BB_REQUIRE(rows > 0 && columns > 0, BB_INVALID,
               "coded matrix of %td x %td, expected at least 1 x 1", rows, columns);
    BB_TRY(BB_ZEROED(1, &matrix));
    matrix->format = codecs[config->codec].format;
    matrix->scaling = scale;
    matrix->rows = rows;
    matrix->columns = columns;
    BB_TRY(bb_memory_zeroed(rows, row_bytes(matrix), (void **)&matrix->words));
    BB_TRY(BB_ALLOCATE(rows, &matrix->scale));
    for (bb_index row = 0; row < rows; ++row) {
        matrix->scale[row] = 1.0;
    }
    *out = matrix;
    matrix = NULL;
done:
    bb_coded_matrix_destroy(&matrix);
    return status;
}

void bb_coded_matrix_destroy(bb_coded_matrix **matrix)
{
    if (*matrix != NULL) {
        BB_RELEASE(&(*matrix)->words);
        BB_RELEASE(&(*matrix)->scale);
        BB_RELEASE(matrix);
    }
}

static void encode_row(bb_coded_matrix *matrix, bb_index row, const double *values)
{
    enum { CHUNK = 512 };
    double scaled[CHUNK];
    size_t word = (size_t)bb_format_describe(matrix->format)->bytes;
    unsigned char *out = matrix->words + (size_t)row * row_bytes(matrix);
    // Half the spacing ties to even, to zero.
    double lost = 0.5 * bb_format_smallest_subnormal(matrix->format);
    double scale = 1.0;
    bb_index saturated = 0;
    bb_index underflowed = 0;
    if (matrix->scaling == BB_ROW_SCALE_ROW) {
        scale = bb_scaling_row(matrix->format, values, matrix->columns);
    }
    for (bb_index begin = 0; begin < matrix->columns; begin += CHUNK) {
        bb_index left = matrix->columns - begin;
        bb_index count = left < CHUNK ? left : CHUNK;
        for (bb_index i = 0; i < count; ++i) {
            scaled[i] = scale * values[begin + i];
            underflowed += fabs(scaled[i]) <= lost && values[begin + i] != 0.0;
        }
        saturated += bb_format_encode(matrix->format, scaled, count, out + (size_t)begin * word);
    }
    matrix->scale[row] = scale;
    (void)atomic_fetch_add(&matrix->saturated, saturated);
    (void)atomic_fetch_add(&matrix->underflowed, underflowed);
}

bb_status bb_coded_matrix_encode(bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    bb_status status = BB_OK;
    BB_REQUIRE(panel.rank == 2 && panel.type == BB_F64 && panel.shape[1] == matrix->columns &&
                   row >= 0 && panel.shape[0] <= matrix->rows - row,
               BB_INVALID, "panel %td x %td at row %td does not fit a coded matrix %td x %td",
               panel.shape[0], panel.shape[1], row, matrix->rows, matrix->columns);
    for (bb_index i = 0; i < panel.shape[0]; ++i) {
        encode_row(matrix, row + i, bb_view_row(panel, i));
    }
done:
    return status;
}

static const unsigned char *words_at(const bb_coded_matrix *matrix, bb_index row, bb_index column)
{
    return matrix->words + (size_t)row * row_bytes(matrix) +
           (size_t)column * (size_t)bb_format_describe(matrix->format)->bytes;
}

void bb_coded_matrix_decode(const bb_coded_matrix *matrix, bb_index row, bb_index column,
                            bb_index count, double *out)
{
    bb_format_decode(matrix->format, words_at(matrix, row, column), count, out);
}

bb_index bb_coded_matrix_rows(const bb_coded_matrix *matrix)
{
    return matrix->rows;
}

bb_index bb_coded_matrix_columns(const bb_coded_matrix *matrix)
{
    return matrix->columns;
}

double bb_coded_matrix_row_scale(const bb_coded_matrix *matrix, bb_index row)
{
    return matrix->scale[row];
}

size_t bb_coded_matrix_bytes(const bb_coded_matrix *matrix)
{
    size_t scales = matrix->scaling == BB_ROW_SCALE_ROW ? sizeof *matrix->scale : 0;
    return (size_t)matrix->rows * (row_bytes(matrix) + scales);
}

bb_index bb_coded_matrix_saturated(const bb_coded_matrix *matrix)
{
    return atomic_load(&matrix->saturated);
}

bb_index bb_coded_matrix_underflowed(const bb_coded_matrix *matrix)
{
    return atomic_load(&matrix->underflowed);
}

const void *bb_coded_matrix_words(const bb_coded_matrix *matrix, bb_index row)
{
    return words_at(matrix, row, 0);
}

bb_format bb_coded_matrix_format(const bb_coded_matrix *matrix)
{
    return matrix->format;
}
