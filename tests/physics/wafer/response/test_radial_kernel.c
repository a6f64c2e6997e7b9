// SPDX-License-Identifier: Apache-2.0
//
// Edge and cell integrals of Bessel kernels against adaptive quadrature of GSL.
#include "physics/wafer/response/radial_kernel.h"
#include "tests/check.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_sf_bessel.h>

static const double HEIGHT = 0.6e-3;
static const double WIDTH = 0.5859375e-3;
static const double SCREENING = 36.7e-3;

typedef struct line {
    double x;
    double y0, y1;
    double scale;
    gsl_integration_workspace *inner;
} line;

static double on_line(double y, void *context)
{
    const line *row = context;
    double r = hypot(row->x, y);
    return r > 0.0 ? gsl_sf_bessel_K0(r / row->scale) : 0.0;
}

static double integrate(gsl_function *function, double a, double b, gsl_integration_workspace *work)
{
    double value = 0.0;
    double error = 0.0;
    double sum = 0.0;
    double cut = a < 0.0 && b > 0.0 ? 0.0 : b;
    (void)gsl_integration_qags(function, a, cut, 1e-18, 1e-12, 400, work, &sum, &error);
    if (cut < b) {
        (void)gsl_integration_qags(function, cut, b, 1e-18, 1e-12, 400, work, &value, &error);
        sum += value;
    }
    return sum;
}

static double across_line(double x, void *context)
{
    line row = *(line *)context;
    row.x = x;
    gsl_function function = {on_line, &row};
    return integrate(&function, row.y0, row.y1, row.inner);
}

static bb_radial_kernel plain(double scale, double width, double height)
{
    bb_radial_kernel kernel = {0};
    bb_radial_mode mode = {1.0, 1.0 / scale};
    check_ok(bb_radial_kernel_create(&mode, 1, width, height, 0.45, &kernel));
    return kernel;
}

TEST(bessel_k0_matches_gsl_and_kei)
{
    double worst = 0.0;
    for (double x = 1e-7; x < 600.0; x *= 1.7) {
        double exact = gsl_sf_bessel_K0(x);
        worst = fmax(worst, fabs(creal(bb_radial_kernel_bessel_k0(x)) / exact - 1.0));
    }
    print_message("K0: largest relative difference %.1e\n", worst);
    assert_true(worst < 1e-14 * 5);
    // kei(x) = Im K0(x exp(i pi / 4)); docs/lab/physics-wafer.md 2.3 item 5.
    static const double kei[] = {-0.494995, -0.202400, -0.051122, 0.002198, 0.011188};
    for (int n = 1; n <= 5; ++n) {
        check_close(cimag(bb_radial_kernel_bessel_k0(n * cexp(I * M_PI / 4))), kei[n - 1], 6e-7,
                    1.0);
    }
}

// Differences of opposite edges are the entries of x and y rows; their peak is at the point's own
// cell.
TEST(edges_match_quadrature)
{
    autorelease(bb_radial_kernel) kernel = plain(SCREENING, WIDTH, HEIGHT);
    gsl_integration_workspace *work = gsl_integration_workspace_alloc(400);
    static const double offsets[][2] = {{0.0, 0.0},  {0.5, 0.5}, {0.5, 0.0}, {0.3, 0.1},
                                        {1e-2, 0.4}, {0.9, 1.0}, {0.0, 0.5}};
    double peak = 0.0;
    double worst = 0.0;
    for (int o = 0; o < 7; ++o) {
        for (bb_index j = 0; j < 720; j = j < 14 ? j + 1 : 2 * j - 9) {
            for (bb_index i = 0; i < 720; i = i < 14 ? i + 1 : 2 * i - 9) {
                double y0 = ((double)j - offsets[o][1]) * HEIGHT;
                double entry[2] = {0.0, 0.0};
                for (int edge = 0; edge < 2; ++edge) {
                    double x = ((double)(i + edge) - offsets[o][0]) * WIDTH;
                    if (hypot(x, y0 + HEIGHT) > 0.44) {
                        continue;
                    }
                    line row = {.x = x, .scale = SCREENING};
                    gsl_function function = {on_line, &row};
                    double sign = edge ? 1.0 : -1.0;
                    entry[0] += sign * integrate(&function, y0, y0 + HEIGHT, work);
                    entry[1] +=
                        sign * bb_radial_integrand_edge(&kernel.integrand, x, y0, y0 + HEIGHT);
                }
                peak = fmax(peak, fabs(entry[0]));
                worst = fmax(worst, fabs(entry[1] - entry[0]));
            }
        }
    }
    print_message("edges: %.1e of the peak; tables %.1e and %.1e\n", worst / peak,
                  kernel.integrand.smooth.error, kernel.integrand.far.error);
    assert_true(worst < 1e-10 * peak);
    gsl_integration_workspace_free(work);
}

static double cell_error(double scale, double width, double height)
{
    autorelease(bb_radial_kernel) kernel = plain(scale, width, height);
    gsl_integration_workspace *work = gsl_integration_workspace_alloc(400);
    gsl_integration_workspace *inner = gsl_integration_workspace_alloc(400);
    static const double offsets[][2] = {{0.5, 0.5}, {0.0, 0.0}, {0.5, 0.0}, {0.3, 0.1}};
    double peak = 0.0;
    double worst = 0.0;
    for (int o = 0; o < 4; ++o) {
        for (int j = 0; j < 14; j = j < 6 ? j + 1 : 2 * j) {
            for (int i = 0; i < 60; i = i < 6 ? i + 1 : 2 * i) {
                double x0 = (i - offsets[o][0]) * width;
                double y0 = (j - offsets[o][1]) * height;
                line row = {0.0, y0, y0 + height, scale, inner};
                gsl_function function = {across_line, &row};
                double exact = integrate(&function, x0, x0 + width, work);
                double got =
                    bb_radial_integrand_cell(&kernel.integrand, x0, x0 + width, y0, y0 + height);
                peak = fmax(peak, fabs(exact));
                worst = fmax(worst, fabs(got - exact));
            }
        }
    }
    gsl_integration_workspace_free(work);
    gsl_integration_workspace_free(inner);
    return worst / peak;
}

TEST(cells_match_quadrature)
{
    gsl_set_error_handler_off();
    double fine = cell_error(SCREENING, WIDTH, HEIGHT);
    double coarse = cell_error(1.6e-3, 2.34e-3, 2.4e-3);
    print_message("cells: %.1e of the peak; cells longer than the decay: %.1e\n", fine, coarse);
    assert_true(fine < 1e-10);
    assert_true(coarse < 1e-8);
}
