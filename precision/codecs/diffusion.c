// SPDX-License-Identifier: Apache-2.0
#include "precision/codecs/diffusion.h"

#include "precision/codecs/bfp_core.h"
#include "precision/format_core.h"

#include <math.h>
#include <string.h>

// Remaining errors of the neighbours: to the left, above, and above left.
typedef struct front {
    double left, corner;
    double limit;
    double *above; // [across]: the line above from here on, this line before
} front;

// Returns the value plus the errors of its neighbours, the left one last because it is available
// last.
static inline double with_incoming(const front *queue, bb_index i, double value)
{
    return (value + (queue->above[i] - queue->corner)) + queue->left;
}

static inline void store_error(front *queue, bb_index i, double error)
{
    double kept = error;
    if (fabs(error) > queue->limit) { // rare: a value was clipped
        kept = copysign(queue->limit, error);
    }
    queue->corner = queue->above[i];
    queue->above[i] = kept;
    queue->left = kept;
}

static inline void begin_line(front *queue)
{
    queue->left = 0.0;
    queue->corner = 0.0;
}

static front start(double limit, bb_index across, double *above)
{
    memset(above, 0, (size_t)across * sizeof *above);
    return (front){.limit = limit, .above = above};
}

double bb_diffusion_format_limit(bb_format format, double largest)
{
    const double u = bb_format_unit_roundoff(format);
    const double held = fmin(largest, bb_format_describe(format)->largest);
    // |e| <= u |value + in| and |in| <= 3 |e|, or half a spacing of the subnormals.
    return fmax(u / (1.0 - 3.0 * u) * held, 0.5 * bb_format_smallest_subnormal(format));
}

bb_index bb_diffusion_format(bb_format format, double scale, const double *values, bb_index columns,
                             bb_index across, double *above, double *out)
{
    const bb_format_info *info = bb_format_describe(format);
    const double maximum = info->largest;
    const double normal = bb_format_smallest_normal(format);
    const double spacing = bb_format_smallest_subnormal(format);
    const double magic = ldexp(spacing, 52);
    const int dropped = 53 - info->significand;
    double largest = 0.0;
    bb_index underflowed = 0;
    for (bb_index i = 0; i < columns; ++i) {
        double magnitude = fabs(scale * values[i]);
        largest = magnitude <= maximum && magnitude > largest ? magnitude : largest;
    }
    front queue = start(bb_diffusion_format_limit(format, largest), across, above);
    for (bb_index line = 0; line < columns; line += across) {
        begin_line(&queue);
        for (bb_index i = 0; i < across; ++i) {
            const double value = scale * values[line + i];
            if (value == 0.0 || !(fabs(value) <= maximum)) {
                out[line + i] = value;
                store_error(&queue, i, with_incoming(&queue, i, 0.0));
                continue;
            }
            const double wanted = with_incoming(&queue, i, value);
            double rounded = bb_format_round_magnitude_f64(fabs(wanted), dropped, normal, magic);
            rounded = copysign(rounded > maximum ? maximum : rounded, wanted);
            out[line + i] = rounded;
            underflowed += rounded == 0.0 && fabs(value) <= 0.5 * spacing;
            store_error(&queue, i, wanted - rounded);
        }
    }
    return underflowed;
}

// Returns the exponent of the smallest unit for which `largest` is at most 2^(bits-1) - 1, limited
// to the available ones; bb_bfp_most_exponent + 1 if there is none.
static int unit_exponent(int bits, double largest)
{
    const double mantissa = ldexp(1.0, bits - 1) - 1.0;
    const int limit = bb_bfp_most_exponent(bits);
    int exponent = BB_BFP_LEAST_EXPONENT;
    if (!(largest < ldexp(mantissa + 0.5, limit))) {
        return limit + 1;
    }
    if (largest > ldexp(mantissa, exponent)) {
        (void)frexp(largest / mantissa, &exponent); // largest / mantissa < 2^exponent
        exponent -= largest <= ldexp(mantissa, exponent - 1);
    }
    return exponent < limit ? exponent : limit;
}

double bb_diffusion_bfp_limit(int bits, double largest)
{
    const int limit = bb_bfp_most_exponent(bits);
    const int exponent = unit_exponent(bits, largest);
    return ldexp(1.0, exponent < limit ? exponent : limit);
}

// Returns the exponent of block b of a scaled row.
static int block_exponent(int bits, double scale, const double *values, bb_index columns,
                          bb_index b)
{
    double largest = 0.0;
    bb_index end = (b + 1) * BB_BLOCK < columns ? (b + 1) * BB_BLOCK : columns;
    for (bb_index i = b * BB_BLOCK; i < end; ++i) {
        double magnitude = fabs(scale * values[i]);
        largest = magnitude <= largest ? largest : magnitude; // also if NaN
        if (isnan(largest)) {
            break;
        }
    }
    return unit_exponent(bits, largest);
}

static double bfp_row_limit(int bits, double scale, const double *values, bb_index columns)
{
    const int limit = bb_bfp_most_exponent(bits);
    int exponent = BB_BFP_LEAST_EXPONENT;
    for (bb_index b = 0; b * BB_BLOCK < columns; ++b) {
        int of_block = block_exponent(bits, scale, values, columns, b);
        exponent = of_block <= limit && of_block > exponent ? of_block : exponent;
    }
    return ldexp(1.0, exponent);
}

bb_index bb_diffusion_bfp(int bits, double scale, const double *values, bb_index columns,
                          bb_index across, double *above, double *out)
{
    const double maximum = ldexp(1.0, bits - 1) - 1.0;
    double unit = 0.0;
    double per_unit = 0.0; // 0: the block cannot be represented
    bb_index underflowed = 0;
    front queue = start(bfp_row_limit(bits, scale, values, columns), across, above);
    for (bb_index j = 0, i = 0; j < columns; ++j, i = i + 1 < across ? i + 1 : 0) {
        if (i == 0) {
            begin_line(&queue);
        }
        if (j % BB_BLOCK == 0) {
            int exponent = block_exponent(bits, scale, values, columns, j / BB_BLOCK);
            unit = ldexp(1.0, exponent);
            per_unit = exponent > bb_bfp_most_exponent(bits) ? 0.0 : 1.0 / unit;
        }
        const double value = scale * values[j];
        if (value == 0.0 || per_unit == 0.0) {
            out[j] = value;
            store_error(&queue, i, with_incoming(&queue, i, 0.0));
            continue;
        }
        const double wanted = with_incoming(&queue, i, value);
        double mantissa = wanted * per_unit;
        mantissa = mantissa > maximum ? maximum : mantissa;
        mantissa = mantissa < -maximum ? -maximum : mantissa;
        mantissa = (mantissa + 0x1.8p52) - 0x1.8p52; // to the nearest integer, ties to even
        out[j] = mantissa * unit;
        underflowed += mantissa == 0.0 && unit == 0x1p-126 && fabs(value) <= 0x1p-127;
        store_error(&queue, i, wanted - mantissa * unit);
    }
    return underflowed;
}
