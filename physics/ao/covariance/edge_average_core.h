// SPDX-License-Identifier: Apache-2.0
//
// The structure function averaged over two edges: the scalar code that host and device share.
//
// A slope of the averaged-gradient model is the phase averaged over one edge of a subaperture less
// the phase averaged over the opposite one. What stands for D between two ends is
//   1/4 Int_-1^1 Int_-1^1 D(|p + t a - t' b|) dt dt',
// p the separation of the edges' middles, a and b half the edges. It is even in p and the same when
// a and b change places.
//
// Far from each other the edges are covered by a Gauss rule of degree 5: 3 nodes for parallel edges
// (Gauss for the trapezoidal density of t a - t' b, from its moments), 3 x 3 otherwise. Near ones
// (middles closer than 4 of the longer edge) see the cusp r^(5/3) of D at r = 0: the inner integral
// is cut at the point of b that is nearest, nodes cubed towards it, the outer one where that point
// leaves b and where the edges cross. Both stay within 2e-7 of the slope variance of converged
// integrals.
#ifndef BB_PHYSICS_AO_COVARIANCE_EDGE_AVERAGE_CORE_H
#define BB_PHYSICS_AO_COVARIANCE_EDGE_AVERAGE_CORE_H

#include "physics/ao/covariance/structure_function_core.h"

enum { BB_EDGE_FAR_NODES = 9, BB_EDGE_NEAR_NODES = 10, BB_EDGE_BREAKS = 5 };

/// Half edges a and b on a layer and the rule for separations far from them. Plain value.
typedef struct bb_edge_pair {
    double ax, ay, bx, by;
    double near2; ///< m^2, squared separation from which on the rule holds
    int nodes;
    double x[BB_EDGE_FAR_NODES], y[BB_EDGE_FAR_NODES], weight[BB_EDGE_FAR_NODES];
} bb_edge_pair;

BB_DEVICE_FUNCTION
void bb_edge_pair_set(bb_edge_pair *pair, int k, double t, double t_b, double weight)
{
    pair->x[k] = t * pair->ax - t_b * pair->bx;
    pair->y[k] = t * pair->ay - t_b * pair->by;
    pair->weight[k] = weight;
}

BB_DEVICE_FUNCTION
bb_edge_pair bb_edge_pair_make(double ax, double ay, double bx, double factor)
{
    bb_edge_pair pair;
    const double a2 = ax * ax + ay * ay;
    const double b2 = bx * bx + factor * factor;
    const double cross = ax * factor - ay * bx;
    pair.ax = ax;
    pair.ay = ay;
    pair.bx = bx;
    pair.by = factor;
    pair.near2 = 64.0 * (a2 > b2 ? a2 : b2);
    if (cross * cross <= 1e-24 * a2 * b2) {
        // Moments of t |a| - t' |b|: nodes 0 and +-sqrt(m4 / m2), along a.
        const double m2 = (a2 + b2) / 3.0;
        const double m4 = a2 * a2 / 5.0 + 2.0 * a2 * b2 / 3.0 + b2 * b2 / 5.0;
        const double node = sqrt(m4 / (m2 * a2));
        const double side = 0.5 * m2 * m2 / m4;
        pair.nodes = 3;
        bb_edge_pair_set(&pair, 0, -node, 0.0, side);
        bb_edge_pair_set(&pair, 1, 0.0, 0.0, 1.0 - 2.0 * side);
        bb_edge_pair_set(&pair, 2, node, 0.0, side);
        return pair;
    }
    pair.nodes = 9;
    for (int k = 0; k < 9; ++k) {
        const int i = k / 3 - 1;
        const int j = k % 3 - 1;
        const double node = 0.77459666924148337704;
        const double weight = (i == 0 ? 4.0 : 2.5) / 9.0 * (j == 0 ? 4.0 : 2.5) / 9.0;
        bb_edge_pair_set(&pair, k, node * i, node * j, weight);
    }
    return pair;
}

/// Of a separation and its negative, the one that stands for both, so that the average is even to
/// the last bit.
BB_DEVICE_FUNCTION
void bb_edge_pair_orient(double *u, double *v)
{
    const double sign = *u < 0.0 || (*u == 0.0 && *v < 0.0) ? -1.0 : 1.0;
    *u = sign * *u;
    *v = sign * *v;
}

/// Gauss-Legendre node of [0, 1], 0 <= k < BB_EDGE_NEAR_NODES, and its weight.
BB_DEVICE_FUNCTION
double bb_edge_average_node(int k, double *weight)
{
    const double node[5] = {0.148874338981631211, 0.433395394129247191, 0.679409568299024406,
                            0.865063366688984511, 0.97390652851717172};
    const double half[5] = {0.147762112357376435, 0.134633359654998178, 0.109543181257991022,
                            0.0747256745752902966, 0.0333356721543440688};
    const int i = k < 5 ? 4 - k : k - 5;
    *weight = half[i];
    return k < 5 ? 0.5 - 0.5 * node[i] : 0.5 + 0.5 * node[i];
}

BB_DEVICE_FUNCTION
double bb_edge_average_clamp(double t)
{
    return t < -1.0 ? -1.0 : t > 1.0 ? 1.0 : t;
}

/// 1/2 Int D over edge b as a point at (qx, qy) from its middle sees it.
BB_DEVICE_FUNCTION
double bb_edge_average_inner(const bb_structure_table table, const bb_edge_pair *pair, double qx,
                             double qy)
{
    const double b2 = pair->bx * pair->bx + pair->by * pair->by;
    const double nearest = bb_edge_average_clamp((qx * pair->bx + qy * pair->by) / b2);
    double sum = 0.0;
    for (int side = -1; side <= 1; side += 2) {
        const double reach = (double)side - nearest;
        for (int k = 0; reach != 0.0 && k < BB_EDGE_NEAR_NODES; ++k) {
            double weight;
            const double x = bb_edge_average_node(k, &weight);
            const double t = nearest + reach * x * x * x;
            const double u = qx - t * pair->bx;
            const double v = qy - t * pair->by;
            sum +=
                weight * 3.0 * x * x * fabs(reach) * bb_structure_table_value(table, u * u + v * v);
        }
    }
    return 0.5 * sum;
}

/// Where the outer integral is cut: [BB_EDGE_BREAKS], increasing, from -1 to 1.
BB_DEVICE_FUNCTION
void bb_edge_average_breaks(const bb_edge_pair *pair, double u, double v, double *cursor)
{
    const double b2 = pair->bx * pair->bx + pair->by * pair->by;
    const double dot = pair->ax * pair->bx + pair->ay * pair->by;
    const double cross = pair->ax * pair->by - pair->ay * pair->bx;
    const double along = u * pair->bx + v * pair->by;
    cursor[0] = -1.0;
    cursor[1] = dot != 0.0 ? bb_edge_average_clamp((b2 - along) / dot) : 1.0;
    cursor[2] = dot != 0.0 ? bb_edge_average_clamp((-b2 - along) / dot) : 1.0;
    cursor[3] = cross != 0.0 ? bb_edge_average_clamp(-(u * pair->by - v * pair->bx) / cross) : 1.0;
    cursor[4] = 1.0;
    for (int i = 1; i < 3; ++i) {
        for (int j = 1; j < 3; ++j) {
            if (cursor[j] > cursor[j + 1]) {
                const double other = cursor[j];
                cursor[j] = cursor[j + 1];
                cursor[j + 1] = other;
            }
        }
    }
}

/// The average at a separation of any size.
BB_DEVICE_FUNCTION
double bb_edge_average_near(const bb_structure_table table, const bb_edge_pair *pair, double u,
                            double v)
{
    double point[BB_EDGE_BREAKS];
    double sum = 0.0;
    bb_edge_pair_orient(&u, &v);
    bb_edge_average_breaks(pair, u, v, point);
    for (int piece = 0; piece + 1 < BB_EDGE_BREAKS; ++piece) {
        const double length = point[piece + 1] - point[piece];
        for (int k = 0; length > 0.0 && k < BB_EDGE_NEAR_NODES; ++k) {
            double weight;
            const double x = bb_edge_average_node(k, &weight);
            const double t = point[piece] + length * x * x * (3.0 - 2.0 * x);
            sum += weight * length * 6.0 * x * (1.0 - x) *
                   bb_edge_average_inner(table, pair, u + t * pair->ax, v + t * pair->ay);
        }
    }
    return 0.5 * sum;
}

#endif
