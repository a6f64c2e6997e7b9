// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/covariance/edge_average_core.h"
#include "physics/ao/covariance/structure_function.h"
#include "tests/check.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>

// The double integral by adaptive quadrature over the exact D, split where the edges come close.
typedef struct integral {
    const bb_edge_pair *pair;
    double u, v, outer_scale_m, t;
    gsl_integration_workspace *inner;
} integral;

static double inner_integrand(double t_b, void *context)
{
    const integral *k = context;
    const double u = k->u + k->t * k->pair->ax - t_b * k->pair->bx;
    const double v = k->v + k->t * k->pair->ay - t_b * k->pair->by;
    return bb_structure_function(hypot(u, v), k->outer_scale_m);
}

static double outer_integrand(double t, void *context)
{
    integral *k = context;
    gsl_function f = {inner_integrand, k};
    k->t = t;
    const double b2 = k->pair->bx * k->pair->bx + k->pair->by * k->pair->by;
    const double along =
        (k->u + t * k->pair->ax) * k->pair->bx + (k->v + t * k->pair->ay) * k->pair->by;
    double points[3] = {-1.0, b2 > 0.0 ? bb_edge_average_clamp(along / b2) : 1.0, 1.0};
    double value = 0.0;
    double error = 0.0;
    if (fabs(points[1]) < 1.0) {
        (void)gsl_integration_qagp(&f, points, 3, 0.0, 1e-10, 1000, k->inner, &value, &error);
    } else {
        (void)gsl_integration_qags(&f, -1.0, 1.0, 0.0, 1e-10, 1000, k->inner, &value, &error);
    }
    return value;
}

static double exact(const bb_edge_pair *pair, double u, double v, double outer_scale_m)
{
    integral k = {pair, u, v, outer_scale_m, 0.0, gsl_integration_workspace_alloc(1000)};
    gsl_integration_workspace *outer = gsl_integration_workspace_alloc(1000);
    gsl_function f = {outer_integrand, &k};
    double value = 0.0;
    double error = 0.0;
    (void)gsl_integration_qags(&f, -1.0, 1.0, 0.0, 1e-9, 1000, outer, &value, &error);
    gsl_integration_workspace_free(k.inner);
    gsl_integration_workspace_free(outer);
    return 0.25 * value;
}

static double average(const bb_structure_table table, const bb_edge_pair *pair, double u, double v)
{
    const double zero = 0.0;
    double sum = 0.0;
    bb_edge_average_add(table, pair, 1.0, u, v, &zero, &zero, 1, &sum);
    return sum;
}

static double uniform(uint64_t index)
{
    return 2.0 * bb_random_uniform(5, BB_STREAM_SELF_TEST, index) - 1.0;
}

// Parallel, crossed and rotated edges of unequal lengths, some points, near and far, some
// intersecting, on either side of the rules' limits.
TEST(agrees_with_adaptive_quadrature)
{
    const double angles[] = {0.0, 90.0, 3.0, 60.0, 0.01};
    const double outer_scales[] = {5.0, 25.0, 100.0};
    const double lengths[] = {0.25, 0.23, 0.11, 0.03, 0.0};
    double worst = 0.0;
    uint64_t index = 0;
    gsl_set_error_handler_off();
    for (int o = 0; o < 3; ++o) {
        autorelease(bb_structure_table) table = new_struct(bb_structure_table, outer_scales[o]);
        const double scale = bb_structure_function(0.5, outer_scales[o]); // slope variance x d^2
        for (int k = 0; k < 5; ++k) {
            const double angle = angles[k] * BB_PI / 180.0;
            for (int round = 0; round < 25; ++round) {
                const double b = lengths[round % 5];
                const bb_edge_pair pair =
                    bb_edge_pair_make(0.0, 0.25, -b * sin(angle), b * cos(angle));
                const double size = round < 12 ? 0.4 : round < 18 ? 1.0 : round < 22 ? 2.5 : 20.0;
                const double u = round % 4 == 0 ? 0.0 : size * uniform(index++);
                const double v = round % 8 == 0 ? 0.0 : size * uniform(index++);
                const double got = average(table, &pair, u, v);
                worst = fmax(worst, fabs(got - exact(&pair, u, v, outer_scales[o])) / scale);
                assert_true(got == average(table, &pair, -u, -v));
            }
        }
    }
    print_message("largest difference from adaptive quadrature: %.2g of the variance\n", worst);
    assert_true(worst < 2e-7);
}

// Single-axis slope variance over lambda^2 d^(-1/3) r0^(-5/3) (independent numpy integration of
// section 2.5 of the reference, five digits).
static double variance(double size_m, double outer_scale_m)
{
    autorelease(bb_structure_table) table = new_struct(bb_structure_table, outer_scale_m);
    const bb_edge_pair pair = bb_edge_pair_make(0.0, 0.5 * size_m, 0.0, 0.5 * size_m);
    const double value = average(table, &pair, size_m, 0.0) - average(table, &pair, 0.0, 0.0);
    return value / (4.0 * BB_PI * BB_PI * pow(size_m, 5.0 / 3.0));
}

TEST(slope_variances_are_the_known_ones)
{
    check_close(variance(0.5, 25.0), 0.09228, 1.0, 5e-6);
    check_close(variance(0.5, 50.0), 0.10654, 1.0, 5e-6);
    check_close(variance(1.0, 25.0), 0.07481, 1.0, 5e-6);
    // Kolmogorov limit: the effect of a finite outer scale decreases with its power -1/3.
    check_close(2.0 * variance(0.5, 8e8) - variance(0.5, 1e8), 0.16224, 1.0, 5e-6);
}
