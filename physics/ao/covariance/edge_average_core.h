// SPDX-License-Identifier: Apache-2.0
//
// The structure function averaged over two edges: the scalar code shared by host and device.
//
// A slope of the averaged-gradient model is the phase averaged over one edge of a subaperture minus
// the phase averaged over the opposite one. D between two end points becomes
//   1/4 Int_-1^1 Int_-1^1 D(|p + t a - t' b|) dt dt',
// p the separation of the edges' midpoints, a and b half the edges. It is even in p and invariant
// under swapping a and b. A point difference ends at points: a = 0.
//
// Rules by the distance of the midpoints, in lengths of the longer edge:
//   parallel, 2     5 Gauss nodes of the trapezoidal density of t a - t' b along the edges
//   parallel, 0     that density split at its corners and at the nearest point
//   others, 4       3 x 3 Gauss nodes
//   others, 1.25    5 x 5 Gauss nodes
//   others, 0       the inner integral split at the nearest point of b, the outer one where that
//                   point leaves b and where the edges cross
// D has the cusp r^(5/3) at r = 0: nodes next to a split are cubed towards it. All rules are within
// 2e-7 of the slope variance of converged integrals.
#ifndef BB_PHYSICS_AO_COVARIANCE_EDGE_AVERAGE_CORE_H
#define BB_PHYSICS_AO_COVARIANCE_EDGE_AVERAGE_CORE_H

#include "core/status.h"
#include "physics/ao/covariance/structure_function.h"

enum {
    BB_EDGE_FAR_NODES = 9,
    BB_EDGE_MIDDLE_NODES = 25,
    BB_EDGE_NEAR_NODES = 10,
    BB_EDGE_BREAKS = 5
};

/// Half edges a and b on a layer and the rule for distant separations. Plain value.
typedef struct bb_edge_pair {
    double ax, ay, bx, by; ///< not both 0
    int parallel;
    double middle2; ///< m^2, squared separation above which 5 x 5 nodes suffice
    double near2;   ///< m^2, above which the next rule suffices
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

/// Nodes and weights of the density of t |a| - t' |b|, from its moments: 0 and +-s1, +-s2 are the
/// roots of the fifth orthogonal polynomial s (s^4 - A s^2 + B).
BB_DEVICE_FUNCTION
void bb_edge_pair_set_parallel(bb_edge_pair *pair, double a2, double b2)
{
    const double m2 = (a2 + b2) / 3.0;
    const double m4 = a2 * a2 / 5.0 + 2.0 * a2 * b2 / 3.0 + b2 * b2 / 5.0;
    const double m6 = (a2 * a2 * a2 + b2 * b2 * b2) / 7.0 + a2 * b2 * (a2 + b2);
    const double m8 = (a2 * a2 * a2 * a2 + b2 * b2 * b2 * b2) / 9.0 +
                      4.0 / 3.0 * a2 * b2 * (a2 * a2 + b2 * b2) + 2.8 * a2 * a2 * b2 * b2;
    const double sum = (m8 * m2 - m6 * m4) / (m6 * m2 - m4 * m4);
    const double root = sqrt(sum * sum - 4.0 * (sum * m4 - m6) / m2);
    const double outer2 = 0.5 * (sum + root);
    const double inner2 = 0.5 * (sum - root);
    const double outer = 0.5 * (m4 - m2 * inner2) / (outer2 * (outer2 - inner2));
    const double inner = 0.5 * (m2 * outer2 - m4) / (inner2 * (outer2 - inner2));
    const double on_a = a2 > 0.0 ? 1.0 / sqrt(a2) : 0.0;
    const double on_b = a2 > 0.0 ? 0.0 : 1.0 / sqrt(b2);
    pair->nodes = 5;
    for (int side = -1; side <= 1; side += 2) {
        const double s2 = side * sqrt(outer2);
        const double s1 = side * sqrt(inner2);
        bb_edge_pair_set(pair, 2 + 2 * side, s2 * on_a, s2 * on_b, outer);
        bb_edge_pair_set(pair, 2 + side, s1 * on_a, s1 * on_b, inner);
    }
    bb_edge_pair_set(pair, 2, 0.0, 0.0, 1.0 - 2.0 * (outer + inner));
}

BB_DEVICE_FUNCTION
bb_edge_pair bb_edge_pair_make(double ax, double ay, double bx, double factor)
{
    bb_edge_pair pair;
    const double a2 = ax * ax + ay * ay;
    const double b2 = bx * bx + factor * factor;
    const double longer2 = a2 > b2 ? a2 : b2;
    const double cross = ax * factor - ay * bx;
    pair.ax = ax;
    pair.ay = ay;
    pair.bx = bx;
    pair.by = factor;
    pair.parallel = cross * cross <= 1e-24 * a2 * b2;
    pair.near2 = (pair.parallel ? 16.0 : 64.0) * longer2;
    pair.middle2 = 6.25 * longer2;
    if (pair.parallel) {
        bb_edge_pair_set_parallel(&pair, a2, b2);
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

/// Node of the rule between middle2 and near2, 0 <= k < BB_EDGE_MIDDLE_NODES, and its weight.
BB_DEVICE_FUNCTION
void bb_edge_pair_middle(const bb_edge_pair *pair, int k, double *x, double *y, double *weight)
{
    const double node[3] = {0.0, 0.53846931010568309, 0.906179845938663993};
    const double half[3] = {0.284444444444444444, 0.239314335249683234, 0.118463442528094544};
    const int i = k / 5 - 2;
    const int j = k % 5 - 2;
    const double t = i < 0 ? -node[-i] : node[i];
    const double t_b = j < 0 ? -node[-j] : node[j];
    *x = t * pair->ax - t_b * pair->bx;
    *y = t * pair->ay - t_b * pair->by;
    *weight = half[i < 0 ? -i : i] * half[j < 0 ? -j : j];
}

/// Returns the canonical one of a separation and its negative, so that the average is even to the
/// last bit.
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

/// Computes 1/2 Int D over edge b, seen from a point at (qx, qy) from its midpoint.
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

/// Sorts the three inner cuts of [BB_EDGE_BREAKS].
BB_DEVICE_FUNCTION
void bb_edge_average_sort(double *cut)
{
    for (int i = 1; i < 3; ++i) {
        for (int j = 1; j < 3; ++j) {
            if (cut[j] > cut[j + 1]) {
                const double other = cut[j];
                cut[j] = cut[j + 1];
                cut[j + 1] = other;
            }
        }
    }
}

/// Computes the cuts of the outer integral, [BB_EDGE_BREAKS], increasing, from -1 to 1.
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
    cursor[3] = bb_edge_average_clamp(-(u * pair->by - v * pair->bx) / cross);
    cursor[4] = 1.0;
    bb_edge_average_sort(cursor);
}

/// Computes the average over parallel edges at any separation; one of them may be a point.
BB_DEVICE_FUNCTION
double bb_edge_average_line(const bb_structure_table table, const bb_edge_pair *pair, double u,
                            double v)
{
    const double a = sqrt(pair->ax * pair->ax + pair->ay * pair->ay);
    const double b = sqrt(pair->bx * pair->bx + pair->by * pair->by);
    const double x = a > b ? pair->ax / a : pair->bx / b;
    const double y = a > b ? pair->ay / a : pair->by / b;
    const double reach = a + b;
    const double flat = fabs(a - b);
    const double nearest = reach * bb_edge_average_clamp(-(u * x + v * y) / reach);
    double cut[BB_EDGE_BREAKS] = {-reach, -flat, flat, nearest, reach};
    double sum = 0.0;
    bb_edge_average_sort(cut);
    for (int piece = 0; piece + 1 < BB_EDGE_BREAKS; ++piece) {
        const int up = fabs(cut[piece] - nearest) <= fabs(cut[piece + 1] - nearest);
        const double from = up ? cut[piece] : cut[piece + 1];
        const double length = (up ? cut[piece + 1] : cut[piece]) - from;
        for (int k = 0; length != 0.0 && k < BB_EDGE_NEAR_NODES; ++k) {
            double weight;
            const double t = bb_edge_average_node(k, &weight);
            const double s = from + length * t * t * t;
            const double ramp = (reach - fabs(s)) / (reach - flat);
            const double du = u + s * x;
            const double dv = v + s * y;
            sum += weight * 3.0 * t * t * fabs(length) * (ramp < 1.0 ? ramp : 1.0) *
                   bb_structure_table_value(table, du * du + dv * dv);
        }
    }
    return sum / (reach + flat); // area of the density
}

/// Computes the average over two edges at any separation.
BB_DEVICE_FUNCTION
double bb_edge_average_near(const bb_structure_table table, const bb_edge_pair *pair, double u,
                            double v)
{
    double point[BB_EDGE_BREAKS];
    double sum = 0.0;
    bb_edge_pair_orient(&u, &v);
    if (pair->parallel) {
        return bb_edge_average_line(table, pair, u, v);
    }
    for (int k = 0; u * u + v * v >= pair->middle2 && k < BB_EDGE_MIDDLE_NODES; ++k) {
        double x, y, weight;
        bb_edge_pair_middle(pair, k, &x, &y, &weight);
        const double du = u + x;
        const double dv = v + y;
        sum += weight * bb_structure_table_value(table, du * du + dv * dv);
    }
    if (u * u + v * v >= pair->middle2) {
        return sum;
    }
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

/// sums[j] += weight times the average for separation (x, y) - (to_x[j], to_y[j]), `count` of them
/// (m). The bits of a sum do not depend on its index in the list.
void bb_edge_average_add(bb_structure_table table, const bb_edge_pair *pair, double weight,
                         double x, double y, const double *to_x, const double *to_y, bb_index count,
                         double *sums);

#endif
