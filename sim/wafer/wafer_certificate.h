// SPDX-License-Identifier: Apache-2.0
//
// The certificate of a wafer study: what each displacement of a pipeline may be wrong by at most,
// known at run time from the rows' norms and the temperatures, held against what it is wrong by.
//
// Of a slit point and light step: bound = coding (precision/row_certificate.h) + rounding of the
// pipeline's product + rounding of the reference's, error = |u - u_ref|.
#ifndef BB_SIM_WAFER_WAFER_CERTIFICATE_H
#define BB_SIM_WAFER_WAFER_CERTIFICATE_H

#include "precision/row_certificate.h"
#include "sim/pipelines/product_pipeline.h"

enum {
    BB_CERTIFICATE_PER_OCTAVE = 64,
    BB_CERTIFICATE_OCTAVES = 64,
    BB_CERTIFICATE_BINS = BB_CERTIFICATE_PER_OCTAVE * BB_CERTIFICATE_OCTAVES,
};

/// Over the slit points and light steps of one pipeline and axis; zero-initialise.
typedef struct bb_certificate_tally {
    double bound, coding, error;        ///< largest, m; of the bounds that are finite
    double unbounded;                   ///< displacements without one: values that are not finite
    double violations;                  ///< errors above their bound: never
    double counts[BB_CERTIFICATE_BINS]; ///< of bound / error by 64ths of an octave, from 1 on
} bb_certificate_tally;

/// Adds what another tally counted.
void bb_certificate_tally_merge(bb_certificate_tally *tally, const bb_certificate_tally *more);

/// Row norms of the matrices at work and what the rows meet; borrowed.
typedef struct bb_wafer_certificate {
    const bb_product_pipeline *pipeline, *reference;
    const bb_row_certificate *rows, *reference_rows; ///< [field points]
    const bb_vector_norms *inputs;                   ///< [light steps] of the field
    bb_index columns;
} bb_wafer_certificate;

/// Holds one light step's window against the reference's: both [points], from `row` of the field.
void bb_wafer_certificate_check(const bb_wafer_certificate *certificate, bb_index step,
                                bb_index row, bb_index points, const double *window,
                                const double *expected, bb_certificate_tally *tally);

#endif
