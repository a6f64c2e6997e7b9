// SPDX-License-Identifier: Apache-2.0
#include "physics/zernike.h"

#include "core/portable.h"

#include <math.h>

bb_zernike_order bb_zernike_order_of(bb_index j)
{
    bb_index n = 0;
    while ((n + 1) * (n + 2) / 2 < j) {
        ++n;
    }
    const bb_index place = j - n * (n + 1) / 2; // 1 .. n + 1
    const bb_index m = n % 2 == 0 ? place / 2 * 2 : (place - 1) / 2 * 2 + 1;
    return (bb_zernike_order){.n = n, .m = m, .sine = m > 0 && j % 2 == 1};
}

// Returns Noll's index of the two polynomials of (n, m > 0): the even one is the cosine's.
static bb_index index_of(bb_index n, bb_index m, bool sine)
{
    const bb_index first = n * (n + 1) / 2 + m;
    return m == 0 ? first + 1 : first + (bb_index)((first % 2 == 1) != sine);
}

// P_k = (slope t + offset) P_(k-1) - back P_(k-2), Jacobi polynomials with alpha = 0 and beta = m.
typedef struct rung {
    double slope, offset, back;
} rung;

static rung rung_of(bb_index m, bb_index k)
{
    const double b = (double)m;
    const double i = (double)k;
    if (k == 1) {
        return (rung){.slope = 0.5 * (b + 2.0), .offset = -0.5 * b};
    }
    const double twice = 2.0 * i + b;
    const double divisor = 2.0 * i * (i + b) * (twice - 2.0);
    return (rung){.slope = (twice - 1.0) * twice * (twice - 2.0) / divisor,
                  .offset = -(twice - 1.0) * b * b / divisor,
                  .back = 2.0 * (i - 1.0) * (i + b - 1.0) * twice / divisor};
}

double bb_zernike_radial(bb_index n, bb_index m, double rho)
{
    const double t = 2.0 * rho * rho - 1.0;
    double previous = 0.0;
    double value = 1.0;
    for (bb_index k = 1; k <= (n - m) / 2; ++k) {
        const rung r = rung_of(m, k);
        const double next = (r.slope * t + r.offset) * value - r.back * previous;
        previous = value;
        value = next;
    }
    return value * pow(rho, (double)m);
}

static double norm_of(bb_index n, bb_index m)
{
    return sqrt((m == 0 ? 1.0 : 2.0) * (double)(n + 1));
}

double bb_zernike_value(bb_index j, double x, double y)
{
    const bb_zernike_order order = bb_zernike_order_of(j);
    const double angle = (double)order.m * atan2(y, x);
    return norm_of(order.n, order.m) * bb_zernike_radial(order.n, order.m, hypot(x, y)) *
           (order.sine ? sin(angle) : cos(angle));
}

enum { POINTS = 256 };

// A batch of points, and the current polynomials of the recurrence at them.
typedef struct climb {
    bb_index count;
    double x[POINTS], y[POINTS];
    double t[POINTS];                   // 2 rho^2 - 1
    double cosine[POINTS];              // rho^m cos(m theta)
    double sine[POINTS];                // rho^m sin(m theta)
    double value[POINTS], last[POINTS]; // P_k and P_(k-1)
} climb;

static void start(climb *c)
{
    for (bb_index i = 0; i < c->count; ++i) {
        c->t[i] = 2.0 * (c->x[i] * c->x[i] + c->y[i] * c->y[i]) - 1.0;
        c->cosine[i] = 1.0;
        c->sine[i] = 0.0;
    }
}

BB_CLONES static void raise_frequency(climb *c)
{
    for (bb_index i = 0; i < c->count; ++i) {
        const double cosine = c->cosine[i] * c->x[i] - c->sine[i] * c->y[i];
        c->sine[i] = c->cosine[i] * c->y[i] + c->sine[i] * c->x[i];
        c->cosine[i] = cosine;
    }
}

BB_CLONES static void raise_degree(climb *c, bb_index m, bb_index k)
{
    if (k == 0) {
        for (bb_index i = 0; i < c->count; ++i) {
            c->value[i] = 1.0;
            c->last[i] = 0.0;
        }
        return;
    }
    const rung r = rung_of(m, k);
    for (bb_index i = 0; i < c->count; ++i) {
        const double next = (r.slope * c->t[i] + r.offset) * c->value[i] - r.back * c->last[i];
        c->last[i] = c->value[i];
        c->value[i] = next;
    }
}

BB_CLONES static void add_sum(const climb *c, double cosine, double sine, double *out)
{
    for (bb_index i = 0; i < c->count; ++i) {
        out[i] += c->value[i] * (cosine * c->cosine[i] + sine * c->sine[i]);
    }
}

static void add_points(bb_index terms, const double *weights, climb *c, double *out)
{
    const bb_index highest = bb_zernike_order_of(terms).n;
    start(c);
    for (bb_index m = 0; m <= highest; ++m) {
        if (m > 0) {
            raise_frequency(c);
        }
        for (bb_index k = 0; m + 2 * k <= highest; ++k) {
            const bb_index n = m + 2 * k;
            const bb_index even = index_of(n, m, false);
            const bb_index odd = index_of(n, m, true);
            const double norm = norm_of(n, m);
            const double cosine = even <= terms ? norm * weights[even - 1] : 0.0;
            const double sine = m > 0 && odd <= terms ? norm * weights[odd - 1] : 0.0;
            raise_degree(c, m, k);
            if (cosine != 0.0 || sine != 0.0) {
                add_sum(c, cosine, sine, out);
            }
        }
    }
}

void bb_zernike_add(bb_index terms, const double *weights, bb_index count, const double *x,
                    double y, double *out)
{
    for (bb_index begin = 0; begin < count && terms > 0; begin += POINTS) {
        climb c = {.count = count - begin < POINTS ? count - begin : POINTS};
        for (bb_index i = 0; i < c.count; ++i) {
            c.x[i] = x[begin + i];
            c.y[i] = y;
        }
        add_points(terms, weights, &c, out + begin);
    }
}

static void fill_points(bb_index terms, climb *c, bb_index stride, double *out)
{
    const bb_index highest = bb_zernike_order_of(terms).n;
    start(c);
    for (bb_index m = 0; m <= highest; ++m) {
        if (m > 0) {
            raise_frequency(c);
        }
        for (bb_index k = 0; m + 2 * k <= highest; ++k) {
            const bb_index n = m + 2 * k;
            const double norm = norm_of(n, m);
            raise_degree(c, m, k);
            for (int odd = 0; odd <= (m > 0); ++odd) {
                const bb_index j = index_of(n, m, odd);
                const double *angular = odd ? c->sine : c->cosine;
                for (bb_index i = 0; j <= terms && i < c->count; ++i) {
                    out[(j - 1) * stride + i] = norm * c->value[i] * angular[i];
                }
            }
        }
    }
}

void bb_zernike_fill(bb_index terms, bb_index count, const double *x, const double *y,
                     bb_index stride, double *out)
{
    for (bb_index begin = 0; begin < count && terms > 0; begin += POINTS) {
        climb c = {.count = count - begin < POINTS ? count - begin : POINTS};
        for (bb_index i = 0; i < c.count; ++i) {
            c.x[i] = x[begin + i];
            c.y[i] = y[begin + i];
        }
        fill_points(terms, &c, stride, out + begin);
    }
}
