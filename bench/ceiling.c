// SPDX-License-Identifier: Apache-2.0
#include "bench/ceiling.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/portable.h"
#include "core/thread.h"

enum { GRAIN = 1 << 16 };

static bb_status touch(void *context, bb_index begin, bb_index end)
{
    const bb_ceiling *ceiling = context;
    for (bb_index i = begin; i < end; ++i) {
        ceiling->a[i] = 1.0;
        if (ceiling->b != NULL) {
            ceiling->b[i] = 2.0;
            ceiling->c[i] = 3.0;
        }
    }
    return BB_OK;
}

bb_status bb_ceiling_create(double bytes, bool triad, bb_ceiling *out)
{
    bb_status status = BB_OK;
    *out = (bb_ceiling){.items = (bb_index)(bytes / (triad ? 24.0 : 8.0))};
    BB_TRY(BB_ALLOCATE(out->items, &out->a));
    if (triad) {
        BB_TRY(BB_ALLOCATE(out->items, &out->b));
        BB_TRY(BB_ALLOCATE(out->items, &out->c));
    }
    BB_TRY(bb_thread_ranges(out->items, GRAIN, touch, out));
done:
    if (status != BB_OK) {
        bb_ceiling_release(out);
    }
    return status;
}

void bb_ceiling_release(bb_ceiling *ceiling)
{
    BB_RELEASE(&ceiling->a);
    BB_RELEASE(&ceiling->b);
    BB_RELEASE(&ceiling->c);
}

// Sums an array in many lanes, so that additions overlap with loads.
BB_CLONES static double combine(const double *values, bb_index count)
{
    enum { LANES = 32 };
    double lanes[LANES] = {0.0};
    for (bb_index i = 0; i + LANES <= count; i += LANES) {
        for (int l = 0; l < LANES; ++l) {
            lanes[l] += values[i + l];
        }
    }
    for (int l = 1; l < LANES; ++l) {
        lanes[0] += lanes[l];
    }
    return lanes[0];
}

// The sum is stored and read later, so that the reads are not optimised away.
static bb_status read_range(void *context, bb_index begin, bb_index end)
{
    bb_ceiling *ceiling = context;
    ceiling->a[begin] = 1e-300 * combine(ceiling->a + begin, end - begin);
    return BB_OK;
}

bb_status bb_ceiling_read(bb_ceiling *ceiling, double *seconds)
{
    bb_status status = BB_OK;
    double start = bb_clock_seconds();
    BB_TRY(bb_thread_ranges(ceiling->items, GRAIN, read_range, ceiling));
    *seconds = bb_clock_seconds() - start;
done:
    return status;
}

BB_CLONES static void add_scaled(const double *b, const double *c, bb_index count, double *a)
{
    for (bb_index i = 0; i < count; ++i) {
        a[i] = b[i] + 3.0 * c[i];
    }
}

static bb_status triad_range(void *context, bb_index begin, bb_index end)
{
    const bb_ceiling *ceiling = context;
    add_scaled(ceiling->b + begin, ceiling->c + begin, end - begin, ceiling->a + begin);
    return BB_OK;
}

bb_status bb_ceiling_triad(bb_ceiling *ceiling, double *seconds)
{
    bb_status status = BB_OK;
    double start = bb_clock_seconds();
    BB_TRY(bb_thread_ranges(ceiling->items, GRAIN, triad_range, ceiling));
    *seconds = bb_clock_seconds() - start;
done:
    return status;
}
