// SPDX-License-Identifier: Apache-2.0
//
// Edge and cell integrals of a tabulated radial kernel (radial_kernel.h), the same on the host and
// on a GPU: closed form near the point, Gauss-Legendre rules of 4, 3 and 2 points a side further
// away.
#ifndef BB_PHYSICS_WAFER_RESPONSE_RADIAL_KERNEL_CORE_H
#define BB_PHYSICS_WAFER_RESPONSE_RADIAL_KERNEL_CORE_H

#include "core/portable.h"
#include "core/status.h"

#include <math.h>
#include <stdbool.h>

enum { BB_RADIAL_TERMS = 6, BB_LOG_MOMENTS = 3 };

/// Zero-initialise; bb_radial_table_release frees it.
typedef struct bb_radial_table {
    double begin;
    double end;
    double per_length; ///< intervals per unit of r
    bb_index intervals;
    double *terms; ///< [intervals][BB_RADIAL_TERMS] in t of [-1, 1], constant term first
    double error;  ///< largest |table - function| found
} bb_radial_table;

/// Value at r; outside [begin, end] the outermost polynomial is extrapolated, so stay inside.
BB_DEVICE_FUNCTION
double bb_radial_table_at(const bb_radial_table *table, double r)
{
    double position = (r - table->begin) * table->per_length;
    bb_index i = (bb_index)position;
    i = i < table->intervals ? i : table->intervals - 1;
    double t = 2.0 * (position - (double)i) - 1.0;
    const double *a = table->terms + BB_RADIAL_TERMS * i;
    return ((((a[5] * t + a[4]) * t + a[3]) * t + a[2]) * t + a[1]) * t + a[0];
}

/// Inputs for integrals of a kernel f; on a GPU the terms of the tables are in its memory.
typedef struct bb_radial_integrand {
    double logs[BB_LOG_MOMENTS]; ///< b_0 .. b_2
    double side;                 ///< longest side of a cell, m
    double split_side;      ///< longest side allowed where the shortest mode is not negligible, m
    double split_reach;     ///< radius of that region, m
    bb_radial_table smooth; ///< f + 1/2 ln r^2 (b_0 + ..), near 0
    bb_radial_table far;    ///< f, from there to the reach
} bb_radial_integrand;

/// In sides of a (split) cell: closed form inside BB_RADIAL_NEAR, then rules of 4, 3 and 2 points.
#define BB_RADIAL_NEAR         4.5
#define BB_RADIAL_FOUR_POINTS  12.0
#define BB_RADIAL_THREE_POINTS 80.0

/// Returns the number of rule points for a piece whose centre is `distance` sides away, outside
/// BB_RADIAL_NEAR.
BB_DEVICE_FUNCTION
int bb_radial_kernel_points(double distance)
{
    return distance < BB_RADIAL_FOUR_POINTS ? 4 : distance < BB_RADIAL_THREE_POINTS ? 3 : 2;
}

/// Point `k` of the rule of `count`, on [-1, 1], and its weight.
BB_DEVICE_FUNCTION
double bb_radial_kernel_node(int count, int k)
{
    const double outer = count == 4   ? 0.86113631159405257522
                         : count == 3 ? 0.77459666924148337704
                                      : 0.57735026918962576451;
    const double inner = count == 4 ? 0.33998104358485626480 : 0.0;
    const double magnitude = k == 0 || k == count - 1 ? outer : inner;
    return 2 * k < count - 1 ? -magnitude : magnitude;
}
BB_DEVICE_FUNCTION
double bb_radial_kernel_weight(int count, int k)
{
    const bool outer = k == 0 || k == count - 1;
    return count == 4   ? (outer ? 0.34785484513745385737 : 0.65214515486254614263)
           : count == 3 ? (outer ? 5.0 / 9.0 : 8.0 / 9.0)
                        : 1.0;
}

// Integrals of r^(2k) ln r^2, r^2 = x^2 + y^2, k = 0, 1, 2, along edges and over rectangles: the
// singular part of Bessel kernels in closed form.
//
// Edge, J_k = integral over t in [0, y] of (x^2 + t^2)^k ln(x^2 + t^2), by parts:
//     J_0 = y L - 2 y + 2 x atan(y / x),  L = ln(x^2 + y^2)
//     (2k + 1) J_k = y r^2k L + 2k x^2 J_{k-1} - 2 P_k,  P_k = integral of t^2 (x^2 + t^2)^(k-1)
// Rectangle [0, x] x [0, y], from the divergence of (x, y) r^2k ln r^2:
//     (2k + 2) C_k = x J_k(x, y) + y J_k(y, x) - 2 M_k,  M_k = integral of r^2k

// J_0 .. J_2 from 0 to y at distance x; odd in y, even in x, 0 at y = 0.
BB_DEVICE_FUNCTION
void bb_radial_kernel_log_edge(double x, double y, double moments[BB_LOG_MOMENTS])
{
    double xx = x * x;
    double yy = y * y;
    double rr = xx + yy;
    if (y == 0.0) {
        moments[0] = moments[1] = moments[2] = 0.0;
        return;
    }
    double log_rr = log(rr);
    moments[0] = y * (log_rr - 2.0) + (x == 0.0 ? 0.0 : 2.0 * x * atan(y / x));
    moments[1] = (y * rr * log_rr + 2.0 * xx * moments[0] - 2.0 * y * yy / 3.0) / 3.0;
    moments[2] =
        (y * rr * rr * log_rr + 4.0 * xx * moments[1] - 2.0 * y * yy * (xx / 3.0 + yy / 5.0)) / 5.0;
}

// C_0 .. C_2 over [0, x] x [0, y]; odd in both.
BB_DEVICE_FUNCTION
void bb_radial_kernel_log_corner(double x, double y, double moments[BB_LOG_MOMENTS])
{
    double xx = x * x;
    double yy = y * y;
    double area = x * y;
    double plain[BB_LOG_MOMENTS] = {area, area * (xx + yy) / 3.0,
                                    area * (xx * xx / 5.0 + 2.0 * xx * yy / 9.0 + yy * yy / 5.0)};
    double along_y[BB_LOG_MOMENTS];
    double along_x[BB_LOG_MOMENTS];
    bb_radial_kernel_log_edge(x, y, along_y);
    bb_radial_kernel_log_edge(y, x, along_x);
    for (int k = 0; k < BB_LOG_MOMENTS; ++k) {
        moments[k] = (x * along_y[k] + y * along_x[k] - 2.0 * plain[k]) / (2.0 * k + 2.0);
    }
}

// Returns true for distant cells, and for cells left whole because the short modes are negligible
// there: they may be too long for the closed form.
BB_DEVICE_FUNCTION
bool bb_radial_integrand_is_far(const bb_radial_integrand *kernel, double side, double distance)
{
    return distance >= BB_RADIAL_NEAR || side > kernel->split_side;
}

BB_DEVICE_FUNCTION
double bb_radial_table_edge(const bb_radial_table *table, int points, double x, double y0,
                            double y1)
{
    double middle = 0.5 * (y0 + y1);
    double half = 0.5 * (y1 - y0);
    double sum = 0.0;
    for (int k = 0; k < points; ++k) {
        double y = middle + half * bb_radial_kernel_node(points, k);
        sum += bb_radial_kernel_weight(points, k) * bb_radial_table_at(table, sqrt(x * x + y * y));
    }
    return half * sum;
}

BB_DEVICE_FUNCTION
double bb_radial_integrand_edge_piece(const bb_radial_integrand *kernel, double side, double x,
                                      double y0, double y1)
{
    double middle = 0.5 * (y0 + y1);
    double distance = sqrt(x * x + middle * middle) / side;
    if (bb_radial_integrand_is_far(kernel, side, distance)) {
        return bb_radial_table_edge(&kernel->far, bb_radial_kernel_points(distance), x, y0, y1);
    }
    double low[BB_LOG_MOMENTS];
    double high[BB_LOG_MOMENTS];
    bb_radial_kernel_log_edge(x, y0, low);
    bb_radial_kernel_log_edge(x, y1, high);
    double singular = 0.0;
    for (int k = 0; k < BB_LOG_MOMENTS; ++k) {
        singular += kernel->logs[k] * (high[k] - low[k]);
    }
    return bb_radial_table_edge(&kernel->smooth, 4, x, y0, y1) - 0.5 * singular;
}

BB_DEVICE_FUNCTION
double bb_radial_table_cell(const bb_radial_table *table, int points, double x0, double x1,
                            double y0, double y1)
{
    double middle = 0.5 * (x0 + x1);
    double half = 0.5 * (x1 - x0);
    double sum = 0.0;
    for (int k = 0; k < points; ++k) {
        sum += bb_radial_kernel_weight(points, k) *
               bb_radial_table_edge(table, points, middle + half * bb_radial_kernel_node(points, k),
                                    y0, y1);
    }
    return half * sum;
}

BB_DEVICE_FUNCTION
double bb_radial_integrand_cell_piece(const bb_radial_integrand *kernel, double side, double x0,
                                      double x1, double y0, double y1)
{
    double distance = hypot(0.5 * (x0 + x1), 0.5 * (y0 + y1)) / side;
    if (bb_radial_integrand_is_far(kernel, side, distance)) {
        return bb_radial_table_cell(&kernel->far, bb_radial_kernel_points(distance), x0, x1, y0,
                                    y1);
    }
    double singular = 0.0;
    const double x[2] = {x0, x1};
    const double y[2] = {y0, y1};
    for (int corner = 0; corner < 4; ++corner) {
        double moments[BB_LOG_MOMENTS];
        int i = corner & 1;
        int j = corner >> 1;
        bb_radial_kernel_log_corner(x[i], y[j], moments);
        for (int k = 0; k < BB_LOG_MOMENTS; ++k) {
            singular += (i == j ? 1.0 : -1.0) * kernel->logs[k] * moments[k];
        }
    }
    return bb_radial_table_cell(&kernel->smooth, 4, x0, x1, y0, y1) - 0.5 * singular;
}

// Returns the number of pieces per side of a cell at this distance.
BB_DEVICE_FUNCTION
int bb_radial_integrand_pieces_at(const bb_radial_integrand *kernel, double x, double y)
{
    if (kernel->side <= kernel->split_side) {
        return 1;
    }
    double reach = kernel->split_reach + kernel->side;
    return x * x + y * y > reach * reach ? 1 : (int)ceil(kernel->side / kernel->split_side);
}

/// Computes the integral of f over y in [y0, y1] on the line at distance x, all relative to the
/// point; at most a cell's side long.
BB_DEVICE_FUNCTION
double bb_radial_integrand_edge(const bb_radial_integrand *kernel, double x, double y0, double y1)
{
    int pieces = bb_radial_integrand_pieces_at(kernel, x, 0.5 * (y0 + y1));
    double step = (y1 - y0) / pieces;
    double sum = 0.0;
    for (int k = 0; k < pieces; ++k) {
        double high = k == pieces - 1 ? y1 : y0 + (k + 1) * step;
        sum +=
            bb_radial_integrand_edge_piece(kernel, kernel->side / pieces, x, y0 + k * step, high);
    }
    return sum;
}

/// Computes the integral of f over [x0, x1] x [y0, y1] relative to the point; at most a cell.
BB_DEVICE_FUNCTION
double bb_radial_integrand_cell(const bb_radial_integrand *kernel, double x0, double x1, double y0,
                                double y1)
{
    int pieces = bb_radial_integrand_pieces_at(kernel, 0.5 * (x0 + x1), 0.5 * (y0 + y1));
    double side = kernel->side / pieces;
    double step_x = (x1 - x0) / pieces;
    double step_y = (y1 - y0) / pieces;
    double sum = 0.0;
    for (int j = 0; j < pieces; ++j) {
        for (int i = 0; i < pieces; ++i) {
            sum +=
                bb_radial_integrand_cell_piece(kernel, side, x0 + i * step_x, x0 + (i + 1) * step_x,
                                               y0 + j * step_y, y0 + (j + 1) * step_y);
        }
    }
    return sum;
}

#endif
