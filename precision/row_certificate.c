// SPDX-License-Identifier: Apache-2.0
#include "precision/row_certificate.h"

#include "core/portable.h"

#include <math.h>

enum { LANES = 16 };

bb_row_certificate bb_row_certificate_start(double scale)
{
    return (bb_row_certificate){.norms = bb_error_norms_start(), .scale = scale};
}

typedef struct lanes {
    double error_1[LANES], stored_1[LANES], squares[LANES];
} lanes;

static inline void add_pair(lanes *sums, int l, double exact, double stored)
{
    sums->error_1[l] += fabs(stored - exact);
    sums->stored_1[l] += fabs(stored);
    sums->squares[l] += stored * stored;
}

BB_CLONES static void add_all(const double *exact, const double *stored, bb_index count, lanes *out)
{
    lanes sums = {{0.0}, {0.0}, {0.0}};
    bb_index multiple = count / LANES * LANES;
    for (bb_index i = 0; i < multiple; i += LANES) {
        for (int l = 0; l < LANES; ++l) {
            add_pair(&sums, l, exact[i + l], stored[i + l]);
        }
    }
    for (bb_index i = multiple; i < count; ++i) {
        add_pair(&sums, (int)(i - multiple), exact[i], stored[i]);
    }
    *out = sums;
}

void bb_row_certificate_add(bb_row_certificate *row, const bb_error_norms *norms,
                            const double *exact, const double *stored, bb_index count)
{
    lanes sums;
    add_all(exact, stored, count, &sums);
    for (int l = 0; l < LANES; ++l) {
        row->error_1 += sums.error_1[l];
        row->stored_1 += sums.stored_1[l];
        row->stored_squares += sums.squares[l];
    }
    bb_error_norms_merge(&row->norms, norms);
}

// What a sum of n terms in fp64 may be too small by, relative to the sum of magnitudes.
static double slack(double count)
{
    return 0x1p-52 * (count + 4.0);
}

// sqrt of a sum of squares that may have lost what underflowed, of terms and of partial sums.
static double root(double squares, double count)
{
    return sqrt(squares * (1.0 + slack(count)) + count * 0x1p-1073) * (1.0 + 0x1p-50);
}

double bb_row_certificate_error_2(const bb_row_certificate *row)
{
    return scalbn(root(row->norms.sum_squares, row->norms.count), row->norms.exponent) *
               (1.0 + 0x1p-50) +
           0x1p-1074; // a bound below the smallest normal is rounded
}

double bb_row_certificate_mean(const bb_row_certificate *row)
{
    return bb_error_norms_bias(&row->norms);
}

bb_vector_norms bb_vector_norms_of(const double *x, bb_index count)
{
    const double n = (double)count;
    bb_vector_norms out = {.count = n};
    double sum = 0.0;
    double squares = 0.0;
    double about_mean = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        sum += x[i];
        out.norm_1 += fabs(x[i]);
        squares += x[i] * x[i];
        out.maximum = fmax(out.maximum, fabs(x[i]));
    }
    const double mean = sum / n;
    for (bb_index i = 0; i < count; ++i) {
        about_mean += (x[i] - mean) * (x[i] - mean); // least about the exact mean
    }
    out.norm_1 *= 1.0 + slack(n);
    out.norm_2 = root(squares, n);
    out.deviation_2 = root(about_mean, n);
    out.sum = fabs(sum) + slack(n) * out.norm_1;
    return out;
}

// NaN is no bound.
static double or_infinity(double bound)
{
    return isnan(bound) ? INFINITY : bound;
}

// ||E - mu||_2, at most; no bound where squares overflow or underflow.
static double deviation_of_errors(double error_2, double count, double least_mean)
{
    if (!(error_2 > 0x1p-400 && error_2 < 0x1p400)) {
        return INFINITY;
    }
    return sqrt(fmax(error_2 * error_2 - count * least_mean * least_mean, 0.0));
}

double bb_row_certificate_coding(const bb_row_certificate *row, const bb_vector_norms *x)
{
    const double n = row->norms.count;
    const double error_1 = row->error_1 * (1.0 + slack(n));
    const double error_2 = bb_row_certificate_error_2(row);
    const double unsure = slack(n) * error_1 / n; // of the mean
    const double mean = fabs(bb_row_certificate_mean(row));
    const double minimum = fmax(mean - unsure, 0.0);
    const double deviation = deviation_of_errors(error_2, n, minimum);
    const double largest = row->norms.max_error * (1.0 + 0x1p-50);
    if (!(isfinite(error_1) && isfinite(error_2) && isfinite(x->norm_1))) {
        return INFINITY;
    }
    const double about_means =
        (mean + unsure) * x->sum + deviation * (1.0 + 0x1p-50) * x->deviation_2;
    return or_infinity(fmin(fmin(largest * x->norm_1, error_1 * x->maximum),
                            fmin(error_2 * x->norm_2, about_means)) *
                       (1.0 + 0x1p-50));
}

// The same of a row that is multiplied as factors.
static double path_rounding(const bb_row_rounding *path, const bb_vector_norms *x,
                            const bb_sum_rounding *rounding)
{
    const double exponent =
        (path->roundings + (rounding->in_runs ? path->chunk : 0.0)) * rounding->multiply_unit +
        path->sums * rounding->sum_unit + path->wide * 0x1p-53;
    const double relative = expm1(exponent) * (1.0 + 0x1p-50);
    const double magnitudes =
        fmin(fmin(path->norm_1 * x->maximum, path->largest * x->norm_1), path->norm_2 * x->norm_2);
    if (!(isfinite(x->norm_1) && isfinite(path->norm_1) &&
          path->peak * x->maximum * (1.0 + relative) < rounding->largest)) {
        return INFINITY;
    }
    const double underflow = 2.0 * rounding->subnormal * (path->underflow + path->norm_1);
    return or_infinity((relative * magnitudes + (1.0 + relative) * underflow) * (1.0 + 0x1p-50));
}

double bb_row_certificate_rounding(const bb_row_certificate *row, const bb_vector_norms *x,
                                   const bb_sum_rounding *rounding)
{
    // Blocks are summed as integers of up to 32 bits times x before their unit is multiplied.
    enum { INTEGER_BITS = 32 };
    if (row->path.wide > 0.0) {
        return path_rounding(&row->path, x, rounding);
    }
    const double n = row->norms.count;
    const double stored_1 = row->stored_1 * (1.0 + slack(n));
    const double largest = fmax(fabs(row->norms.minimum), fabs(row->norms.maximum)) +
                           row->norms.max_error * (1.0 + 0x1p-50);
    const double magnitudes = fmin(fmin(stored_1 * x->maximum, largest * x->norm_1),
                                   root(row->stored_squares, n) * x->norm_2);
    const double maximum =
        fmax(ldexp(x->norm_1, INTEGER_BITS), row->scale * stored_1 * x->maximum) *
        (1.0 + rounding->relative);
    if (!(isfinite(x->norm_1) && maximum < rounding->largest &&
          row->scale * stored_1 < rounding->largest)) {
        return INFINITY;
    }
    const double underflow =
        2.0 * rounding->subnormal * (x->norm_1 + row->scale * stored_1 + 2.0 * n) / row->scale;
    const double changed = rounding->of_largest * stored_1 * x->maximum;
    return or_infinity(
        (rounding->relative * magnitudes + (1.0 + rounding->relative) * (changed + underflow)) *
        (1.0 + 0x1p-50));
}
