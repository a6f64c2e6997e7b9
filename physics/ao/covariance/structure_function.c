// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/covariance/structure_function.h"

#include "core/memory.h"
#include "core/portable.h"
#include "physics/ao/ao_constants.h"

#include <gsl/gsl_sf_gamma.h>

static const double order = 5.0 / 6.0;

// D of an outer scale, with the factors that do not depend on the distance.
typedef struct von_karman {
    double outer_scale_m;
    double amplitude, limit;
    double rising, falling; // Gamma(1 + nu), Gamma(2 - nu)
} von_karman;

static von_karman make_von_karman(double outer_scale_m)
{
    const double k1 = 2.0 * gsl_sf_gamma(11.0 / 6.0) * pow(2.0, -order) * pow(BB_PI, -8.0 / 3.0) *
                      pow(4.8 * gsl_sf_gamma(1.2), order);
    return (von_karman){.outer_scale_m = outer_scale_m,
                        .amplitude = k1 * pow(outer_scale_m, 5.0 / 3.0),
                        .limit = pow(2.0, -1.0 / 6.0) * gsl_sf_gamma(order),
                        .rising = gsl_sf_gamma(1.0 + order),
                        .falling = gsl_sf_gamma(2.0 - order)};
}

// k2 - x^nu K_nu(x) from K_nu = pi (I_-nu - I_nu) / (2 sin(nu pi)), sin(5 pi / 6) = 1/2. The first
// term of I_-nu is k2 and is left out, so nothing is lost for small x.
static double series(const von_karman *law, double x)
{
    const double quarter = 0.25 * x * x;
    double rising = 1.0 / law->rising;
    double falling = quarter / law->falling;
    double rising_sum = rising;
    double falling_sum = falling;
    for (int k = 1; k < 30; ++k) {
        rising *= quarter / (k * (k + order));
        falling *= quarter / ((k + 1) * (k + 1 - order));
        rising_sum += rising;
        falling_sum += falling;
    }
    const double two_power = pow(2.0, order);
    return BB_PI * (pow(x, 2.0 * order) / two_power * rising_sum - two_power * falling_sum);
}

// x^nu K_nu(x). A step of 0.7 / sqrt(x) keeps the trapezoidal error of the near-Gaussian integrand
// at exp(-40), one of 1/8 that of the strip of analyticity (half width pi/2) at exp(-79).
static double covariance(double x)
{
    const double step = fmin(0.125, 0.7 / sqrt(x));
    double sum = 0.5;
    for (int k = 1;; ++k) {
        const double half = sinh(0.5 * k * step);
        const double exponent = 2.0 * x * half * half;
        if (exponent > 45.0) {
            break;
        }
        sum += exp(-exponent) * cosh(order * k * step);
    }
    return pow(x, order) * exp(-x) * step * sum;
}

static double law_at(const void *context, double r_m)
{
    const von_karman *law = context;
    const double x = 2.0 * BB_PI * r_m / law->outer_scale_m;
    if (x == 0.0) {
        return 0.0;
    }
    return law->amplitude * (x <= 1.0 ? series(law, x) : law->limit - covariance(x));
}

double bb_structure_function(double r_m, double outer_scale_m)
{
    const von_karman law = make_von_karman(outer_scale_m);
    return law_at(&law, r_m);
}

enum { COUNT = BB_STRUCTURE_DEGREE + 1 };

// Interpolates D at the Chebyshev points of one interval of s and writes powers of the local
// coordinate in [-1, 1]; cosines[k][i] is T_k at point i. The Chebyshev coefficients fall by a
// factor above 60 each, so going over to powers costs no digits.
static void fit_interval(bb_structure_law law, const void *context, double scale_m, double low,
                         double width, double cosines[COUNT][COUNT], double *powers)
{
    double values[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        const double s = low + 0.5 * width * (1.0 + cosines[1][i]);
        values[i] = law(context, sqrt(s) * scale_m);
        powers[i] = 0.0;
    }
    double previous[COUNT] = {0.0};
    double current[COUNT] = {1.0}; // powers of T_k
    for (int k = 0; k < COUNT; ++k) {
        double coefficient = 0.0;
        for (int i = 0; i < COUNT; ++i) {
            coefficient += values[i] * cosines[k][i];
        }
        coefficient *= (k == 0 ? 1.0 : 2.0) / COUNT;
        double next[COUNT] = {0.0};
        for (int j = 0; j < COUNT; ++j) {
            powers[j] += coefficient * current[j];
            // T_1 = z, and T_{k+1} = 2 z T_k - T_{k-1} afterwards.
            next[j] = (k == 0 ? 1.0 : 2.0) * (j > 0 ? current[j - 1] : 0.0) - previous[j];
        }
        memcpy(previous, current, sizeof previous);
        memcpy(current, next, sizeof current);
    }
}

bb_status bb_structure_table_fit(bb_structure_law law, const void *context, double scale_m,
                                 double far, bb_structure_table *out)
{
    bb_status status = BB_OK;
    double *coefficients = NULL;
    double cosines[COUNT][COUNT];
    for (int k = 0; k < COUNT; ++k) {
        for (int i = 0; i < COUNT; ++i) {
            cosines[k][i] = cos(BB_PI * k * (i + 0.5) / COUNT);
        }
    }
    BB_TRY(BB_ZEROED((BB_STRUCTURE_INTERVALS + 2) * COUNT, &coefficients));
    for (bb_index i = 0; i < BB_STRUCTURE_INTERVALS; ++i) {
        const int octave = BB_STRUCTURE_LOW_OCTAVE + (int)(i >> BB_STRUCTURE_SPLIT_BITS);
        const double part = (double)(i & ((1 << BB_STRUCTURE_SPLIT_BITS) - 1));
        const double width = ldexp(1.0, octave - BB_STRUCTURE_SPLIT_BITS);
        fit_interval(law, context, scale_m, ldexp(1.0, octave) + part * width, width, cosines,
                     coefficients + (i + 1) * COUNT);
    }
    coefficients[(BB_STRUCTURE_INTERVALS + 1) * COUNT] = far;
    *out = (bb_structure_table){.inverse_square_scale = 1.0 / (scale_m * scale_m),
                                .coefficients = coefficients};
done:
    return status;
}

bb_status bb_structure_table_create(double outer_scale_m, bb_structure_table *out)
{
    const von_karman law = make_von_karman(outer_scale_m);
    return bb_structure_table_fit(law_at, &law, outer_scale_m, law.amplitude * law.limit, out);
}

bb_need bb_structure_table_need(void)
{
    return (bb_need){.host_bytes = sizeof(double) * (BB_STRUCTURE_INTERVALS + 2) * COUNT,
                     .seconds = 1.2e-2};
}

bb_need bb_structure_table_add_need(double values)
{
    return (bb_need){.seconds = 4.0e-9 * values};
}

// Sums worked on at a time: in a local array, which the compiler knows apart from the table.
enum { CHUNK = 64 };

BB_CLONES static void evaluate_chunk(const bb_structure_table table, double x, double y,
                                     const double *to_x, const double *to_y, bb_index count,
                                     double values[CHUNK])
{
    double chunk[CHUNK];
    for (bb_index j = 0; j < count; ++j) {
        const double u = x - to_x[j];
        const double v = y - to_y[j];
        chunk[j] = bb_structure_table_value(table, u * u + v * v);
    }
    memcpy(values, chunk, (size_t)count * sizeof *values);
}

void bb_structure_table_add(bb_structure_table table, double weight, double x, double y,
                            const double *to_x, const double *to_y, bb_index count, double *sums)
{
    for (bb_index done = 0; done < count; done += CHUNK) {
        const bb_index now = count - done < CHUNK ? count - done : CHUNK;
        double values[CHUNK];
        evaluate_chunk(table, x, y, to_x + done, to_y + done, now, values);
        for (bb_index j = 0; j < now; ++j) {
            sums[done + j] += weight * values[j];
        }
    }
}

void bb_structure_table_release(bb_structure_table *table)
{
    double *coefficients = NULL;
    memcpy(&coefficients, &table->coefficients, sizeof coefficients);
    BB_RELEASE(&coefficients);
    table->coefficients = NULL;
}
