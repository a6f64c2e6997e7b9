// SPDX-License-Identifier: Apache-2.0
//
// Responses suited to the low_rank codec: displacement at points of a slit from cells of a mesh, 1
// / distance^2 in the far field, with a burl texture (reference: 5 %, 2.5 mm) absent from
// translation-invariant data. And helpers common to the tests of codecs for such responses.
#ifndef BB_TESTS_PRECISION_CODECS_LOW_RANK_PROBLEM_H
#define BB_TESTS_PRECISION_CODECS_LOW_RANK_PROBLEM_H

#include "core/memory.h"
#include "core/thread.h"
#include "precision/codecs/low_rank.h"
#include "tests/check.h"

typedef struct response {
    bb_matrix_layout layout;
    double *values; ///< [rows][columns]
} response;

static inline void response_release(response *out)
{
    BB_RELEASE(&out->values);
}

static inline double response_texture(double x, double y)
{
    return 1.0 + 0.05 * cos(2.5 * x) * cos(2.5 * y);
}

/// Cells of a square of 300, points 0.6 and 0.33 apart off its centre, values up to `size`; cells
/// beyond a disc are zero.
static inline response response_make(bb_index row_columns, bb_index row_lines,
                                     bb_index mesh_columns, bb_index mesh_lines, double size)
{
    response out = {.layout = {.rows = row_columns * row_lines,
                               .columns = mesh_columns * mesh_lines,
                               .mesh_columns = mesh_columns,
                               .row_columns = row_columns}};
    check_ok(BB_ALLOCATE(out.layout.rows * out.layout.columns, &out.values));
    for (bb_index i = 0; i < out.layout.rows; ++i) {
        double px = 20.0 + 0.6 * (double)(i % row_columns);
        double py = 10.0 + 0.33 * (double)(i / row_columns);
        for (bb_index j = 0; j < out.layout.columns; ++j) {
            double x = 300.0 * ((double)(j % mesh_columns) + 0.5) / (double)mesh_columns - 150.0;
            double y = 300.0 * ((double)(j / mesh_columns) + 0.5) / (double)mesh_lines - 150.0;
            double dx = px - x;
            double dy = py - y;
            double value = 1.6 * dx / (0.64 + dx * dx + dy * dy);
            value *= response_texture(x, y) * response_texture(px, py);
            out.values[i * out.layout.columns + j] =
                x * x + y * y < 147.0 * 147.0 ? size * value : 0.0;
        }
    }
    return out;
}

static inline bb_codec_config low_rank(double tolerance)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP64);
    config.codec = bb_codec_find("low_rank");
    config.tolerance = tolerance;
    return config;
}

static inline bb_codec_config response_transform(double tolerance)
{
    bb_codec_config config = low_rank(tolerance);
    config.codec = bb_codec_find("transform");
    return config;
}

static inline bb_coded_matrix *low_rank_encode(const response *rows, const bb_codec_config *config)
{
    bb_coded_matrix *matrix = new_object(bb_coded_matrix, config, BB_ROW_SCALE_NONE, &rows->layout);
    check_ok(bb_coded_matrix_encode(
        matrix, 0, bb_view_matrix(rows->values, rows->layout.rows, rows->layout.columns)));
    return matrix;
}

static inline double response_bits(const response *rows, const bb_coded_matrix *matrix)
{
    return 8.0 * (double)bb_coded_matrix_bytes(matrix) /
           (double)(rows->layout.rows * rows->layout.columns);
}

/// Groups and pieces, parts of rows, fp32: the same values. Rows of 61 x 47 cells in bands of 20,
/// pieces of `lines` lines of them.
static inline void response_decodes_one_way(const response *answer, const bb_coded_matrix *matrix,
                                            bb_index lines)
{
    const bb_index columns = answer->layout.columns;
    const bb_index width = bb_coded_matrix_piece_columns(matrix);
    double row[61 * 47], part[500];
    assert_int_equal(width, 61 * lines);
    assert_int_equal(bb_coded_matrix_band(matrix), 20);
    autofree double *wide = new_array(double, BB_GROUP_ROWS *width);
    autofree float *narrow = new_array(float, BB_GROUP_ROWS *width);
    for (bb_index g = 0; g < bb_coded_matrix_group_count(matrix); ++g) {
        bb_index rows[BB_GROUP_ROWS];
        bb_index count = bb_coded_matrix_group_rows(matrix, g, rows);
        for (bb_index p = 0; p * width < columns; ++p) {
            bb_index rest = columns - p * width;
            bb_coded_matrix_decode_f64(matrix, g, p, wide);
            bb_coded_matrix_decode_f32(matrix, g, p, narrow);
            for (bb_index k = 0; k < count; ++k) {
                assert_int_equal(bb_coded_matrix_group_of(matrix, rows[k]), g);
                bb_coded_matrix_decode(matrix, rows[k], 0, columns, row);
                bb_coded_matrix_decode(matrix, rows[k], 100 + 7 * g, 500, part);
                assert_memory_equal(part, row + 100 + 7 * g, sizeof part);
                for (bb_index j = 0; j < (rest < width ? rest : width); ++j) {
                    assert_true(wide[k * width + j] == row[p * width + j]);
                    assert_true(narrow[k * width + j] == (float)row[p * width + j]);
                }
            }
        }
    }
}

/// A far field of one sign, all below the tolerance of 1e-3, preserves its sum to `tolerance`.
static inline void response_keeps_far_fields(const bb_codec_config *config, bb_index row_columns,
                                             bb_index row_lines, double tolerance)
{
    autorelease(response) rows = response_make(row_columns, row_lines, 64, 40, 0.0);
    double row[2560];
    double kept = 0.0;
    double exact = 0.0;
    for (bb_index i = 0; i < rows.layout.rows * rows.layout.columns; ++i) {
        rows.values[i] = 1e-4 * (1.0 + 0.1 * sin((double)i));
    }
    autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, config);
    bb_coded_matrix_decode(matrix, 5, 0, 2560, row);
    for (int j = 0; j < 2560; ++j) {
        kept += row[j];
        exact += rows.values[5 * 2560 + j];
    }
    check_relative(kept, exact, tolerance);
}

/// Encodes a band of a matrix, as a thread does.
typedef struct response_coding {
    const response *rows;
    bb_coded_matrix *matrix;
} response_coding;

static inline bb_status response_encode_band(void *context, bb_index band)
{
    const response_coding *work = context;
    bb_index step = bb_coded_matrix_band(work->matrix);
    bb_index rest = work->rows->layout.rows - band * step;
    bb_index columns = work->rows->layout.columns;
    return bb_coded_matrix_encode(work->matrix, band * step,
                                  bb_view_matrix(work->rows->values + band * step * columns,
                                                 rest < step ? rest : step, columns));
}

/// Bands encoded by four threads at once.
static inline bb_coded_matrix *response_encode_by_four(const response *rows,
                                                       const bb_codec_config *config)
{
    check_ok(bb_threads_set(4));
    bb_coded_matrix *matrix = new_object(bb_coded_matrix, config, BB_ROW_SCALE_NONE, &rows->layout);
    const bb_index band = bb_coded_matrix_band(matrix);
    response_coding work = {rows, matrix};
    check_ok(bb_thread_for((rows->layout.rows + band - 1) / band, response_encode_band, &work));
    bb_threads_stop();
    return matrix;
}

#endif
