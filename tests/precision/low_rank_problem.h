// SPDX-License-Identifier: Apache-2.0
//
// Responses that a low_rank codec is made for: displacement at points of a slit from cells of a
// mesh, 1 / distance^2 in the far field, with a texture of burls (reference: 5 %, 2.5 mm) that
// translation-invariant data lack.
#ifndef BB_TESTS_PRECISION_LOW_RANK_PROBLEM_H
#define BB_TESTS_PRECISION_LOW_RANK_PROBLEM_H

#include "core/memory.h"
#include "precision/low_rank.h"
#include "tests/check.h"

typedef struct response {
    bb_matrix_layout layout;
    double *values; ///< [rows][columns]
} response;

static inline double response_texture(double x, double y)
{
    return 1.0 + 0.05 * cos(2.5 * x) * cos(2.5 * y);
}

/// Cells of a square of 300, points 0.6 and 0.33 apart off its middle, values up to `size`; cells
/// beyond a disc are zero.
static inline response response_make(bb_index row_columns, bb_index row_lines,
                                     bb_index mesh_columns, bb_index mesh_lines, double size)
{
    response out = {
        .layout = {.rows = row_columns * row_lines,
                   .columns = mesh_columns * mesh_lines,
                   .mesh_columns = mesh_columns,
                   .row_columns = row_columns}
    };
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
    config.codec = BB_CODEC_LOW_RANK;
    config.tolerance = tolerance;
    return config;
}

static inline bb_coded_matrix *low_rank_encode(const response *of, const bb_codec_config *config)
{
    bb_coded_matrix *matrix = NULL;
    check_ok(bb_coded_matrix_create(config, BB_ROW_SCALE_NONE, &of->layout, &matrix));
    check_ok(bb_coded_matrix_encode(
        matrix, 0, bb_view_matrix(of->values, of->layout.rows, of->layout.columns)));
    return matrix;
}

#endif
