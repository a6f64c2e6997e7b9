// SPDX-License-Identifier: Apache-2.0
//
// Codecs from the text of their keys, and matrices of doubles in a codec.
#ifndef BB_TESTS_PRECISION_CODED_H
#define BB_TESTS_PRECISION_CODED_H

#include "precision/coded_matrix.h"
#include "tests/check.h"

/// A codec, "bfp bits=8".
static inline bb_codec_config codec_of(const char *text)
{
    bb_codec_config config;
    assert_true(bb_codec_read(text, &config));
    return config;
}

/// The values of a whole matrix in a codec. Owner: the caller.
static inline bb_coded_matrix *coded_matrix(const bb_codec_config *config, bb_row_scale scale,
                                            const bb_matrix_layout *layout, const double *values)
{
    const bb_view view = bb_view_matrix((double *)(uintptr_t)values, layout->rows, layout->columns);
    bb_coded_matrix *matrix = new_object(bb_coded_matrix, config, scale, layout);
    check_ok(bb_coded_matrix_encode(matrix, 0, view));
    return matrix;
}

#endif
