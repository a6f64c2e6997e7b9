// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/radial_kernel.h"

#include "core/memory.h"

#include <math.h>
#include <stdbool.h>

enum { PROBES = 7 };

static double node(int k)
{
    return cos(M_PI * (2.0 * k + 1.0) / (2.0 * BB_RADIAL_TERMS));
}

// Expands Newton's divided differences on the Chebyshev points into powers of t.
static void fit(const double *value, double *terms)
{
    double divided[BB_RADIAL_TERMS];
    for (int k = 0; k < BB_RADIAL_TERMS; ++k) {
        divided[k] = value[k];
    }
    for (int order = 1; order < BB_RADIAL_TERMS; ++order) {
        for (int k = BB_RADIAL_TERMS - 1; k >= order; --k) {
            divided[k] = (divided[k] - divided[k - 1]) / (node(k) - node(k - order));
        }
    }
    for (int k = 0; k < BB_RADIAL_TERMS; ++k) {
        terms[k] = 0.0;
    }
    for (int k = BB_RADIAL_TERMS - 1; k >= 0; --k) {
        for (int power = BB_RADIAL_TERMS - 1; power >= 1; --power) {
            terms[power] = terms[power - 1] - node(k) * terms[power];
        }
        terms[0] = divided[k] - node(k) * terms[0];
    }
}

bb_status bb_radial_table_create(bb_radial_function function, const void *context, double begin,
                                 double end, bb_index intervals, bb_radial_table *out)
{
    bb_status status = BB_OK;
    bb_radial_table table = {.begin = begin, .end = end, .intervals = intervals};
    BB_REQUIRE(begin >= 0.0 && end > begin && intervals > 0, BB_INVALID,
               "radial table of %td intervals over [%g, %g], expected a range and an interval",
               intervals, begin, end);
    double width = (end - begin) / (double)intervals;
    table.per_length = 1.0 / width;
    BB_TRY(BB_ALLOCATE(BB_RADIAL_TERMS * intervals, &table.terms));
    for (bb_index i = 0; i < intervals; ++i) {
        double middle = begin + ((double)i + 0.5) * width;
        double value[BB_RADIAL_TERMS];
        for (int k = 0; k < BB_RADIAL_TERMS; ++k) {
            value[k] = function(context, middle + 0.5 * width * node(k));
        }
        fit(value, table.terms + BB_RADIAL_TERMS * i);
        // The error is largest near the extremes of the node polynomial, between the nodes.
        for (int k = 1; k < PROBES - 1; ++k) {
            double r = middle + 0.5 * width * cos(M_PI * k / (PROBES - 1.0));
            table.error =
                fmax(table.error, fabs(bb_radial_table_at(&table, r) - function(context, r)));
        }
    }
    *out = table;
    table.terms = NULL;
done:
    bb_radial_table_release(&table);
    return status;
}

void bb_radial_table_release(bb_radial_table *table)
{
    BB_RELEASE(&table->terms);
    table->intervals = 0;
}

// A point of a cell or edge is at most sqrt(1/2) of the longest side away from its centre.
static const double HALF_DIAGONAL = 0.7072;

double complex bb_radial_kernel_bessel_k0(double complex z)
{
    // The integrand narrows as 1 / sqrt(z); these steps give errors below exp(-49) and exp(-54).
    double step = fmin(0.1, 0.6 / sqrt(creal(z)));
    double complex sum = 0.5 * cexp(-z);
    for (int n = 1; n < 400; ++n) {
        double fall = cosh(n * step);
        if (creal(z) * (fall - 1.0) > 42.0) {
            break;
        }
        sum += cexp(-z * fall);
    }
    return step * sum;
}

double bb_radial_kernel_value(const bb_radial_kernel *kernel, double r)
{
    double sum = 0.0;
    for (int i = 0; i < kernel->mode_count; ++i) {
        sum += creal(kernel->modes[i].coefficient *
                     bb_radial_kernel_bessel_k0(kernel->modes[i].rate * r));
    }
    return sum;
}

static double value_of(const void *context, double r)
{
    return bb_radial_kernel_value(context, r);
}

static double smooth_of(const void *context, double r)
{
    const bb_radial_kernel *kernel = context;
    double rr = r * r;
    const double *b = kernel->integrand.logs;
    return bb_radial_kernel_value(kernel, r) + 0.5 * log(rr) * (b[0] + rr * (b[1] + rr * b[2]));
}

static void find_scales(bb_radial_kernel *kernel)
{
    double fastest = 0.0;
    double decay = INFINITY;
    for (int i = 0; i < kernel->mode_count; ++i) {
        double complex k = kernel->modes[i].rate;
        double complex c = kernel->modes[i].coefficient;
        kernel->integrand.logs[0] += creal(c);
        kernel->integrand.logs[1] += creal(c * k * k) / 4.0;
        kernel->integrand.logs[2] += creal(c * k * k * k * k) / 64.0;
        if (cabs(k) > fastest) {
            fastest = cabs(k);
            decay = creal(k);
        }
    }
    kernel->integrand.split_side = 0.4 / fastest;
    // The short mode has decreased to exp(-14); beyond it only longer ones count.
    kernel->integrand.split_reach = 14.0 / decay;
}

// Start and density of the tables: the finest pieces determine them.
typedef struct layout {
    double begin, smooth_end, interval;
} layout;

static layout lay_out(const bb_radial_kernel *kernel)
{
    const double pieces = ceil(kernel->integrand.side / kernel->integrand.split_side);
    const double finest = kernel->integrand.side / pieces;
    const double begin = (BB_RADIAL_NEAR - HALF_DIAGONAL) * finest;
    return (layout){.begin = begin,
                    .smooth_end = (BB_RADIAL_NEAR + HALF_DIAGONAL) * finest,
                    .interval = begin / 24.0};
}

bb_need bb_radial_kernel_need(const bb_radial_mode *modes, int mode_count, double cell_width,
                              double cell_height, double reach)
{
    bb_radial_kernel kernel = {.mode_count = mode_count,
                               .integrand.side = fmax(cell_width, cell_height)};
    for (int i = 0; i < mode_count; ++i) {
        kernel.modes[i] = modes[i];
    }
    find_scales(&kernel);
    const layout tables = lay_out(&kernel);
    const double intervals =
        ceil(tables.smooth_end / tables.interval) + ceil((reach - tables.begin) / tables.interval);
    return (bb_need){.host_bytes = BB_RADIAL_TERMS * intervals * sizeof(double)};
}

bb_status bb_radial_kernel_create(const bb_radial_mode *modes, int mode_count, double cell_width,
                                  double cell_height, double reach, bb_radial_kernel *out)
{
    bb_status status = BB_OK;
    bb_radial_kernel kernel = {.mode_count = mode_count};
    BB_REQUIRE(mode_count >= 1 && mode_count <= BB_RADIAL_MODES, BB_INVALID,
               "radial kernel of %d modes, expected 1..%d", mode_count, BB_RADIAL_MODES);
    for (int i = 0; i < mode_count; ++i) {
        BB_REQUIRE(creal(modes[i].rate) > 0.0, BB_INVALID,
                   "radial kernel: rate %g 1/m, expected a positive real part",
                   creal(modes[i].rate));
        kernel.modes[i] = modes[i];
    }
    find_scales(&kernel);
    kernel.integrand.side = fmax(cell_width, cell_height);
    const layout tables = lay_out(&kernel);
    BB_TRY(bb_radial_table_create(smooth_of, &kernel, 0.0, tables.smooth_end,
                                  (bb_index)ceil(tables.smooth_end / tables.interval),
                                  &kernel.integrand.smooth));
    BB_TRY(bb_radial_table_create(value_of, &kernel, tables.begin, reach,
                                  (bb_index)ceil((reach - tables.begin) / tables.interval),
                                  &kernel.integrand.far));
    *out = kernel;
    kernel = (bb_radial_kernel){0};
done:
    bb_radial_kernel_release(&kernel);
    return status;
}

void bb_radial_kernel_release(bb_radial_kernel *kernel)
{
    bb_radial_table_release(&kernel->integrand.smooth);
    bb_radial_table_release(&kernel->integrand.far);
}
