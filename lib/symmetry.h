// SPDX-License-Identifier: Apache-2.0
//
// Check of a symmetric matrix of the user.
#ifndef BB_LIB_SYMMETRY_H
#define BB_LIB_SYMMETRY_H

#include "lib/library.h"

/// Checks that `a` [n][n] is finite, otherwise the outcome is non_finite with the first place, and
/// that elements mirrored at the diagonal differ by at most 1e-10 of the largest diagonal element.
/// `norm` receives ||A||_F; may be NULL. `name` is the matrix's in messages. Errors: BB_INVALID
/// with the largest difference and its place.
BB_CHECKED bb_status bb_symmetry_check(const double *a, bb_index n, const char *name, double *norm,
                                       bb_outcome *outcome);

#endif
