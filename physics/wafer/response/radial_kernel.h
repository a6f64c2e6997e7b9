// SPDX-License-Identifier: Apache-2.0
//
// Sums of modified Bessel functions, f(r) = Re sum_i c_i K0(k_i r), integrated over edges and cells
// of a grid, never sampled at points.
//
// K0(z) = integral over t > 0 of exp(-z cosh t), by the trapezoid rule, which converges
// exponentially (error under exp(-2 pi a / h) for |arg z| < pi/2 - a). Near the point the singular
// part is taken out,
//     f(r) = -1/2 ln r^2 (b_0 + b_1 r^2 + b_2 r^4) + smooth(r),  b_m = Re sum c_i k_i^2m / (4^m
//     m!^2)
// and integrated in closed form; the smooth rest, and f itself further away, are
// tabulated and integrated by Gauss-Legendre rules of 4, 3 and 2 points a side.
// Cells over 0.4 of the shortest length 1/|k_i| are split there where that mode is alive.
//
// Accuracy: 1e-10 of the largest edge or cell integral, tested against adaptive quadrature.
#ifndef BB_PHYSICS_WAFER_RESPONSE_RADIAL_KERNEL_H
#define BB_PHYSICS_WAFER_RESPONSE_RADIAL_KERNEL_H

#include "core/need.h"
#include "core/status.h"

#include <complex.h>

// Table of a smooth function of a radius as polynomials of degree 5 on equal intervals, through the
// Chebyshev points of each (none of them an end, so a function may be undefined at 0). The error is
// about |f^(6)| (interval / 2)^6 / (6! 2^5); the largest one found at points between the nodes of
// every interval is kept beside the table.

enum { BB_RADIAL_TERMS = 6 };

typedef double (*bb_radial_function)(const void *context, double r);

/// Zero-initialise; bb_radial_table_release frees it.
typedef struct bb_radial_table {
    double begin;
    double end;
    double per_length; ///< intervals per unit of r
    bb_index intervals;
    double *terms; ///< [intervals][BB_RADIAL_TERMS] in t of [-1, 1], constant term first
    double error;  ///< largest |table - function| found
} bb_radial_table;

/// Tabulates over [begin, end]. Errors: BB_INVALID (an empty range, no interval), BB_MEMORY.
BB_CHECKED bb_status bb_radial_table_create(bb_radial_function function, const void *context,
                                            double begin, double end, bb_index intervals,
                                            bb_radial_table *out);

/// Value at r; outside [begin, end] the outermost polynomial is continued, so stay inside.
static inline double bb_radial_table_at(const bb_radial_table *table, double r)
{
    double position = (r - table->begin) * table->per_length;
    bb_index i = (bb_index)position;
    i = i < table->intervals ? i : table->intervals - 1;
    double t = 2.0 * (position - (double)i) - 1.0;
    const double *a = table->terms + BB_RADIAL_TERMS * i;
    return ((((a[5] * t + a[4]) * t + a[3]) * t + a[2]) * t + a[1]) * t + a[0];
}

void bb_radial_table_release(bb_radial_table *table);

enum { BB_RADIAL_MODES = 3, BB_LOG_MOMENTS = 3 };

/// c K0(k r) with Re k > 0; the modes of a kernel are real or come in conjugate pairs.
typedef struct bb_radial_mode {
    double complex coefficient;
    double complex rate; ///< k, 1/m
} bb_radial_mode;

/// Read-only to users; bb_radial_kernel_release frees the tables.
typedef struct bb_radial_kernel {
    bb_radial_mode modes[BB_RADIAL_MODES];
    int mode_count;
    double logs[BB_LOG_MOMENTS]; ///< b_0 .. b_2
    double side;                 ///< longest side of a cell, m
    double split_side;           ///< longest side allowed where the shortest mode is alive, m
    double split_reach;          ///< radius of that place, m
    bb_radial_table smooth;      ///< f + 1/2 ln r^2 (b_0 + ..), near 0
    bb_radial_table far;         ///< f, from there to the reach
} bb_radial_kernel;

/// Tabulates a kernel for grid cells of cell_width x cell_height (m) and distances up to `reach`.
/// Errors: BB_INVALID (mode count, a rate without positive real part), BB_MEMORY.
BB_CHECKED bb_status bb_radial_kernel_create(const bb_radial_mode *modes, int mode_count,
                                             double cell_width, double cell_height, double reach,
                                             bb_radial_kernel *out);

/// What it takes: its tables.
bb_need bb_radial_kernel_need(const bb_radial_mode *modes, int mode_count, double cell_width,
                              double cell_height, double reach);

/// f(r) without a table, r > 0.
double bb_radial_kernel_value(const bb_radial_kernel *kernel, double r);

/// Integral of f over y in [y0, y1] on the line at distance x, all relative to the point; at most a
/// cell's side long.
double bb_radial_kernel_edge(const bb_radial_kernel *kernel, double x, double y0, double y1);

/// Integral of f over [x0, x1] x [y0, y1] relative to the point; at most a cell.
double bb_radial_kernel_cell(const bb_radial_kernel *kernel, double x0, double x1, double y0,
                             double y1);

/// K0 of complex argument, Re z > 0: relative error under 1e-14 for |arg z| <= pi/4.
double complex bb_radial_kernel_bessel_k0(double complex z);

void bb_radial_kernel_release(bb_radial_kernel *kernel);

#endif
