// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/covariance/corrected_structure.h"

#include "physics/ao/ao_constants.h"

#include <math.h>

enum { NODES = 8, MOMENTS = 6, PARTS = 8 };

// Gauss and Legendre's nodes on [-1, 1], of which half are given, and their weights.
static const double node[NODES / 2] = {0.18343464249564980494, 0.52553240991632898582,
                                       0.79666647741362673959, 0.96028985649753623168};
static const double part[NODES / 2] = {0.36268378337836198297, 0.31370664587788728734,
                                       0.22238103445337447054, 0.10122853629037625915};

// Below this product of 2 pi fc and r the moments of the spectrum make Dlow to the last digits.
static const double near = 0.5;

// Above this one integrating by parts has 1e-10 of what is beyond the cutoff.
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

// int_0^fc 4 pi f W(f) function(f) df. Panels double their frequency from the spectrum's corner on,
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

// D less what lies beyond the cutoff. int_fc^inf h f J0(a f) df, a = 2 pi r, h = 4 pi W, is
// - sum (-1)^k h_k fc^(k+1) J_(k+1)(a fc) / a^(k+1), h_(k+1) = h_k' / f, by parts: in f^2 + L0^-2 a
// power whose exponent falls by 1 a step.
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

double bb_corrected_structure(double r_m, double outer_scale_m, double pitch_m)
{
    const residual_spectrum spectrum = measure(outer_scale_m, pitch_m);
    return value(&spectrum, r_m);
}

double bb_corrected_structure_far(double outer_scale_m, double pitch_m)
{
    return measure(outer_scale_m, pitch_m).far;
}

bb_status bb_corrected_structure_tabulate(double outer_scale_m, double pitch_m,
                                          bb_structure_table *out)
{
    const residual_spectrum spectrum = measure(outer_scale_m, pitch_m);
    return bb_structure_table_fit(value, &spectrum, outer_scale_m, spectrum.far, out);
}

bb_need bb_corrected_structure_need(void)
{
    return (bb_need){.host_bytes = bb_structure_table_need().host_bytes, .seconds = 0.2};
}
