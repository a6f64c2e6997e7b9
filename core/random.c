// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"

#include <Random123/philox.h>
#include <math.h>

void bb_random_words(uint64_t seed, bb_stream stream, uint64_t index, uint32_t words[4])
{
    philox4x32_ctr_t counter = {{(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream, 0}};
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t drawn = philox4x32(counter, key);
    for (int i = 0; i < 4; ++i) {
        words[i] = drawn.v[i];
    }
}

// Uses 52.5 bits, so that the result is never 0 and never 1.
static double open_unit(uint32_t low, uint32_t high)
{
    uint64_t bits = ((uint64_t)high << 32 | low) >> 12;
    return ((double)bits + 0.5) * 0x1p-52;
}

double bb_random_uniform(uint64_t seed, bb_stream stream, uint64_t index)
{
    uint32_t words[4];
    bb_random_words(seed, stream, index, words);
    return open_unit(words[0], words[1]);
}

double bb_random_normal(uint64_t seed, bb_stream stream, uint64_t index)
{
    double pair[2];
    bb_random_normal_pair(seed, stream, index, pair);
    return pair[0];
}

void bb_random_normal_pair(uint64_t seed, bb_stream stream, uint64_t index, double out[2])
{
    uint32_t words[4];
    bb_random_words(seed, stream, index, words);
    double radius = sqrt(-2.0 * log(open_unit(words[0], words[1])));
    double angle = 2.0 * M_PI * open_unit(words[2], words[3]);
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}
