// SPDX-License-Identifier: Apache-2.0
//
// Sums of modified Bessel functions, f(r) = Re sum_i c_i K0(k_i r), integrated over edges and cells
// of a grid, never sampled at points.
//
// K0(z) = integral over t > 0 of exp(-z cosh t), by the trapezoid rule, which converges
// exponentially (error under exp(-2 pi a / h) for |arg z| < pi/2 - a). Near the point the singular
// part is subtracted,
//     f(r) = -1/2 ln r^2 (b_0 + b_1 r^2 + b_2 r^4) + smooth(r),  b_m = Re sum c_i k_i^2m / (4^m
//     m!^2)
// and integrated in closed form; the smooth remainder, and f itself further away, are tabulated and
// integrated by Gauss-Legendre rules of 4, 3 and 2 points a side. Cells larger than 0.4 of the
// shortest length 1/|k_i| are split where that mode is not negligible.
//
// Accuracy: 1e-10 of the largest edge or cell integral, tested against adaptive quadrature.
#ifndef BB_PHYSICS_WAFER_RESPONSE_RADIAL_KERNEL_H
#define BB_PHYSICS_WAFER_RESPONSE_RADIAL_KERNEL_H

#include "core/need.h"
#include "core/status.h"
#include "physics/wafer/response/radial_kernel_core.h"

#include <complex.h>

// Table of a smooth function of a radius as polynomials of degree 5 on equal intervals, through the
// Chebyshev points of each (none of them an end, so a function may be undefined at 0). The error is
// about |f^(6)| (interval / 2)^6 / (6! 2^5); the largest one found at points between the nodes of
// every interval is stored with the table.

typedef double (*bb_radial_function)(const void *context, double r);

/// Tabulates a function over [begin, end]. Errors: BB_INVALID (an empty range, no interval),
/// BB_MEMORY.
BB_CHECKED bb_status bb_radial_table_create(bb_radial_function function, const void *context,
                                            double begin, double end, bb_index intervals,
                                            bb_radial_table *out);

void bb_radial_table_release(bb_radial_table *table);

enum { BB_RADIAL_MODES = 3 };

/// c K0(k r) with Re k > 0; the modes of a kernel are real or come in conjugate pairs.
typedef struct bb_radial_mode {
    double complex coefficient;
    double complex rate; ///< k, 1/m
} bb_radial_mode;

/// Read-only to users; bb_radial_kernel_release frees the tables.
typedef struct bb_radial_kernel {
    bb_radial_mode modes[BB_RADIAL_MODES];
    int mode_count;
    bb_radial_integrand integrand;
} bb_radial_kernel;

/// Tabulates a kernel for grid cells of cell_width x cell_height (m) and distances up to `reach`.
/// Errors: BB_INVALID (mode count, a rate without positive real part), BB_MEMORY.
BB_CHECKED bb_status bb_radial_kernel_create(const bb_radial_mode *modes, int mode_count,
                                             double cell_width, double cell_height, double reach,
                                             bb_radial_kernel *out);

/// Memory and time: its tables.
bb_need bb_radial_kernel_need(const bb_radial_mode *modes, int mode_count, double cell_width,
                              double cell_height, double reach);

/// Computes f(r) without a table, r > 0.
double bb_radial_kernel_value(const bb_radial_kernel *kernel, double r);

/// Computes K0 of complex argument, Re z > 0: relative error under 1e-14 for |arg z| <= pi/4.
double complex bb_radial_kernel_bessel_k0(double complex z);

void bb_radial_kernel_release(bb_radial_kernel *kernel);

#endif
