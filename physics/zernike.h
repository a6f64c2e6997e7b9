// SPDX-License-Identifier: Apache-2.0
//
// Zernike polynomials in the order and with the norm of Noll (J. Opt. Soc. Am. 66, 207, 1976): over
// the unit disc their rms is 1 (for piston the mean is 1), and they are orthogonal.
//
//     Z_j = sqrt(n + 1) R_n^0(rho)                        m = 0
//     Z_j = sqrt(2 (n + 1)) R_n^m(rho) cos(m theta)       j even
//     Z_j = sqrt(2 (n + 1)) R_n^m(rho) sin(m theta)       j odd
//
// R_n^m(rho) = rho^m P_k^(0,m)(2 rho^2 - 1) with k = (n - m) / 2, Jacobi polynomials by their
// recurrence over k (Abramowitz and Stegun 22.7.1), which is accurate where the sum of powers
// suffers cancellation. Outside the disc the polynomials are extrapolated, and grow fast.
#ifndef BB_PHYSICS_ZERNIKE_H
#define BB_PHYSICS_ZERNIKE_H

#include "core/status.h"

#include <stdbool.h>

/// Radial degree, azimuthal frequency (>= 0), and whether it varies as the sine.
typedef struct bb_zernike_order {
    bb_index n;
    bb_index m;
    bool sine;
} bb_zernike_order;

/// Returns the order of Noll's index j >= 1.
bb_zernike_order bb_zernike_order_of(bb_index j);

/// Computes R_n^m(rho), n - m even and >= 0.
double bb_zernike_radial(bb_index n, bb_index m, double rho);

/// Computes Z_j at a point of the plane, in radii of the disc.
double bb_zernike_value(bb_index j, double x, double y);

/// Adds sum_j weights[j - 1] Z_j(x[i], y) to out[i], for j = 1..terms.
void bb_zernike_add(bb_index terms, const double *weights, bb_index count, const double *x,
                    double y, double *out);

/// Computes Z_j(x[i], y[i]) into out [terms][stride], of which the first `count` of a row are
/// written.
void bb_zernike_fill(bb_index terms, bb_index count, const double *x, const double *y,
                     bb_index stride, double *out);

#endif
