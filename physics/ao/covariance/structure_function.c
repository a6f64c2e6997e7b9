// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/covariance/structure_function.h"

#include "core/memory.h"
#include "core/portable.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>

static const double order = 5.0 / 6.0;

// D for an outer scale, with the factors that do not depend on the distance.
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
// term of I_-nu equals k2 and is omitted, so there is no cancellation for small x.
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

// Computes x^nu K_nu(x). A step of 0.7 / sqrt(x) gives a trapezoidal error of exp(-40) for the
// near-Gaussian integrand, a step of 1/8 one of exp(-79) from the strip of analyticity (half width
// pi/2).
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
// coordinate in [-1, 1]; cosines[k][i] is T_k at point i. The Chebyshev coefficients decrease by a
// factor above 60 each, so the conversion to powers loses no digits.
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
            // T_1 = z, then T_{k+1} = 2 z T_k - T_{k-1}.
            next[j] = (k == 0 ? 1.0 : 2.0) * (j > 0 ? current[j - 1] : 0.0) - previous[j];
        }
        memcpy(previous, current, sizeof previous);
        memcpy(current, next, sizeof current);
    }
}

typedef struct fitting {
    bb_structure_law law;
    const void *context;
    double scale_m;
    double cosines[COUNT][COUNT];
    double *coefficients; // [intervals + 2][COUNT]
} fitting;

static bb_status fit_intervals(void *context, bb_index begin, bb_index end)
{
    fitting *work = context;
    for (bb_index i = begin; i < end; ++i) {
        const int octave = BB_STRUCTURE_LOW_OCTAVE + (int)(i >> BB_STRUCTURE_SPLIT_BITS);
        const double part = (double)(i & ((1 << BB_STRUCTURE_SPLIT_BITS) - 1));
        const double width = ldexp(1.0, octave - BB_STRUCTURE_SPLIT_BITS);
        fit_interval(work->law, work->context, work->scale_m, ldexp(1.0, octave) + part * width,
                     width, work->cosines, work->coefficients + (i + 1) * COUNT);
    }
    return BB_OK;
}

bb_status bb_structure_table_fit(bb_structure_law law, const void *context, double scale_m,
                                 double far, bb_structure_table *out)
{
    enum { GRAIN = 8 };
    bb_status status = BB_OK;
    double *coefficients = NULL;
    fitting work = {.law = law, .context = context, .scale_m = scale_m};
    for (int k = 0; k < COUNT; ++k) {
        for (int i = 0; i < COUNT; ++i) {
            work.cosines[k][i] = cos(BB_PI * k * (i + 0.5) / COUNT);
        }
    }
    BB_TRY(BB_ZEROED((BB_STRUCTURE_INTERVALS + 2) * COUNT, &coefficients));
    work.coefficients = coefficients;
    BB_TRY(bb_thread_ranges(BB_STRUCTURE_INTERVALS, GRAIN, fit_intervals, &work));
    coefficients[(BB_STRUCTURE_INTERVALS + 1) * COUNT] = far;
    *out = (bb_structure_table){.inverse_square_scale = 1.0 / (scale_m * scale_m),
                                .coefficients = coefficients};
    coefficients = NULL;
done:
    BB_RELEASE(&coefficients);
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

// Number of sums per chunk, stored in a local array, which the compiler knows not to alias the
// table.
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

enum { NODES = 8, MOMENTS = 6, PARTS = 8 };

// Gauss-Legendre nodes on [-1, 1], of which half are given, and their weights.
static const double node[NODES / 2] = {0.18343464249564980494, 0.52553240991632898582,
                                       0.79666647741362673959, 0.96028985649753623168};
static const double part[NODES / 2] = {0.36268378337836198297, 0.31370664587788728734,
                                       0.22238103445337447054, 0.10122853629037625915};

// Below this product of 2 pi fc and r the spectral moments give Dlow to full precision.
static const double near = 0.5;

// Above this product integration by parts gives the part beyond the cutoff to 1e-10.
static const double distant = 100.0;

typedef struct residual_spectrum {
    double outer_scale_m, cutoff;
    double far;
    double moments[MOMENTS]; // int of 4 pi f W(f) (pi f)^(2 k), k = 1 to MOMENTS
} residual_spectrum;

static double density(double f, double outer_scale_m)
{
    const double corner = 1.0 / (outer_scale_m * outer_scale_m);
    return 4.0 * BB_PI * f * BB_SPECTRUM * pow(f * f + corner, -11.0 / 6.0);
}

// int_0^fc 4 pi f W(f) function(f) df. Panels double in frequency from the spectrum's corner on,
// and none is wider than a wave of J0(2 pi f r).
static double integrate(const residual_spectrum *spectrum, double r_m,
                        double (*function)(double, double, int), int power)
{
    double sum = 0.0;
    double low = 0.0;
    while (low < spectrum->cutoff) {
        double width = fmax(low, 0.25 / spectrum->outer_scale_m);
        width = r_m > 0.0 ? fmin(width, 1.0 / r_m) : width;
        width = fmin(width, spectrum->cutoff - low);
        for (int k = 0; k < NODES; ++k) {
            const double place = k % 2 == 0 ? node[k / 2] : -node[k / 2];
            const double f = low + 0.5 * width * (1.0 + place);
            sum += 0.5 * width * part[k / 2] * density(f, spectrum->outer_scale_m) *
                   function(f, r_m, power);
        }
        low = spectrum->cutoff - low > width ? low + width : spectrum->cutoff;
    }
    return sum;
}

static double one(double f, double r_m, int power)
{
    (void)f;
    (void)r_m;
    (void)power;
    return 1.0;
}

static double raise(double f, double r_m, int power)
{
    (void)r_m;
    return pow(BB_PI * f, 2.0 * power);
}

static double fall(double f, double r_m, int power)
{
    (void)power;
    return 1.0 - j0(2.0 * BB_PI * f * r_m);
}

static residual_spectrum measure(double outer_scale_m, double pitch_m)
{
    residual_spectrum out = {.outer_scale_m = outer_scale_m, .cutoff = 0.5 / pitch_m};
    out.far = integrate(&out, 0.0, one, 0);
    for (int k = 1; k <= MOMENTS; ++k) {
        out.moments[k - 1] = integrate(&out, 0.0, raise, k);
    }
    return out;
}

// D minus the part beyond the cutoff. int_fc^inf h f J0(a f) df, a = 2 pi r, h = 4 pi W, is
// - sum (-1)^k h_k fc^(k+1) J_(k+1)(a fc) / a^(k+1), h_(k+1) = h_k' / f, by parts: in f^2 + L0^-2 a
// power whose exponent decreases by 1 per step.
static double far_value(const residual_spectrum *spectrum, double r_m)
{
    const double fc = spectrum->cutoff;
    const double a = 2.0 * BB_PI * r_m;
    const double square = fc * fc + 1.0 / (spectrum->outer_scale_m * spectrum->outer_scale_m);
    double exponent = -11.0 / 6.0;
    double factor = -density(fc, spectrum->outer_scale_m) / a;
    double beyond = 1.2 * 2.0 * BB_PI * BB_SPECTRUM * pow(square, -5.0 / 6.0);
    for (int k = 0; k < PARTS; ++k) {
        beyond -= factor * jn(k + 1, a * fc);
        factor *= -2.0 * exponent / square * fc / a;
        exponent -= 1.0;
    }
    return bb_structure_function(r_m, spectrum->outer_scale_m) - beyond;
}

static double value(const void *context, double r_m)
{
    const residual_spectrum *spectrum = context;
    double term = 1.0;
    double sum = 0.0;
    if (2.0 * BB_PI * spectrum->cutoff * r_m > distant) {
        return far_value(spectrum, r_m);
    }
    if (2.0 * BB_PI * spectrum->cutoff * r_m > near) {
        return integrate(spectrum, r_m, fall, 0);
    }
    for (int k = 1; k <= MOMENTS; ++k) { // 1 - J0(2 x) = - sum (-x^2)^k / k!^2
        term *= -r_m * r_m / ((double)k * (double)k);
        sum -= term * spectrum->moments[k - 1];
    }
    return sum;
}

double bb_structure_function_corrected(double r_m, double outer_scale_m, double pitch_m)
{
    const residual_spectrum spectrum = measure(outer_scale_m, pitch_m);
    return value(&spectrum, r_m);
}

double bb_structure_function_corrected_far(double outer_scale_m, double pitch_m)
{
    return measure(outer_scale_m, pitch_m).far;
}

bb_status bb_structure_function_corrected_table(double outer_scale_m, double pitch_m,
                                                bb_structure_table *out)
{
    const residual_spectrum spectrum = measure(outer_scale_m, pitch_m);
    return bb_structure_table_fit(value, &spectrum, outer_scale_m, spectrum.far, out);
}

bb_need bb_structure_function_corrected_need(void)
{
    return (bb_need){.host_bytes = bb_structure_table_need().host_bytes, .seconds = 0.2};
}
