// SPDX-License-Identifier: Apache-2.0
#include "precision/draw.h"

#include <math.h>

static uint64_t address(bb_index draw, bb_index row)
{
    return (uint64_t)draw << 40 | (uint64_t)row;
}

void bb_draw_scale(uint64_t seed, bb_stream stream, bb_index draw, double minimum, bb_index count,
                   double *scale)
{
    for (bb_index i = 0; i < count; ++i) {
        double place = bb_random_uniform(seed, stream, address(draw, i));
        scale[i] *= minimum + (1.0 - minimum) * place;
    }
}

void bb_draw_bands(uint64_t seed, bb_index draw, bb_draw_range range, bb_index first, bb_index band,
                   bb_index count, double *factors)
{
    for (bb_index i = 0; i < count; ++i) {
        bb_index row = first + i / band * band;
        const double place = bb_random_uniform(seed, BB_STREAM_DRAW, address(draw, row));
        factors[i] = range.least * pow(range.most / range.least, place);
    }
}
