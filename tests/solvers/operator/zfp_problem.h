// SPDX-License-Identifier: Apache-2.0
//
// zfp matrices for the tests of products: smooth rows with noise, on a mesh and a row grid.
#ifndef BB_TESTS_SOLVERS_OPERATOR_ZFP_PROBLEM_H
#define BB_TESTS_SOLVERS_OPERATOR_ZFP_PROBLEM_H

#include "precision/coded_matrix.h"
#include "tests/solvers/dense.h"

/// Lines of `across` rows by lines of `mesh` columns.
typedef struct zfp_shape {
    bb_index lines, across, mesh_lines, mesh;
} zfp_shape;

/// A mode with its parameter.
typedef struct zfp_kind {
    bb_zfp_mode mode;
    double parameter;
} zfp_kind;

static const zfp_kind zfp_kinds[] = {
    {BB_ZFP_RATE, 8.0},      {BB_ZFP_RATE, 20.0},      {BB_ZFP_PRECISION, 17.0},
    {BB_ZFP_ACCURACY, 1e-3}, {BB_ZFP_REVERSIBLE, 0.0},
};
enum { ZFP_KINDS = sizeof zfp_kinds / sizeof *zfp_kinds };

static inline bb_index zfp_rows(const zfp_shape *shape)
{
    return shape->lines * shape->across;
}

static inline bb_index zfp_columns(const zfp_shape *shape)
{
    return shape->mesh_lines * shape->mesh;
}

static inline double *zfp_values(const zfp_shape *shape, uint64_t seed)
{
    bb_index rows = zfp_rows(shape);
    bb_index columns = zfp_columns(shape);
    double *out = dense_new(rows * columns);
    dense_random(rows * columns, seed, out);
    for (bb_index i = 0; i < rows; ++i) {
        for (bb_index j = 0; j < columns; ++j) {
            double x = (double)(j % shape->mesh) - 0.4 * (double)shape->mesh -
                       2.0 * (double)(i % shape->across);
            double y = (double)j / (double)shape->mesh - 0.4 * (double)shape->mesh_lines -
                       2.0 * (double)i / (double)shape->across;
            out[i * columns + j] = 0.01 * out[i * columns + j] + x / (4.0 + x * x + y * y);
        }
    }
    return out;
}

static inline bb_coded_matrix *zfp_encode(const zfp_shape *shape, int dimensions,
                                          const zfp_kind *kind, const double *values)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP32);
    const bb_matrix_layout layout = {.rows = zfp_rows(shape),
                                     .columns = zfp_columns(shape),
                                     .mesh_columns = shape->mesh,
                                     .row_columns = shape->across};
    config.codec = bb_codec_find("zfp");
    config.dimensions = dimensions;
    config.mode = (int)kind->mode;
    if (kind->mode == BB_ZFP_ACCURACY) {
        config.tolerance = kind->parameter;
    } else if (kind->mode != BB_ZFP_REVERSIBLE) {
        config.bits = kind->parameter;
    }
    bb_coded_matrix *out = new_object(bb_coded_matrix, &config, BB_ROW_SCALE_NONE, &layout);
    check_ok(bb_coded_matrix_encode(
        out, 0, bb_view_matrix((double *)(uintptr_t)values, layout.rows, layout.columns)));
    return out;
}

#endif
