// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_meter.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024 };

bb_index bb_live_meter_kept(const bb_live_meter *meter)
{
    return meter->count < BB_LIVE_LATENCIES ? meter->count : BB_LIVE_LATENCIES;
}

bb_status bb_live_meter_add(bb_live_meter *meter, double seconds)
{
    bb_status status = BB_OK;
    double *grown = NULL;
    if (meter->count == meter->room && meter->room < BB_LIVE_LATENCIES) {
        const bb_index room = meter->room == 0 ? FIRST_ROOM : 2 * meter->room;
        BB_TRY(BB_ALLOCATE(room, &grown));
        if (meter->count > 0) {
            memcpy(grown, meter->latencies, (size_t)meter->count * sizeof *grown);
        }
        BB_RELEASE(&meter->latencies);
        meter->latencies = grown;
        meter->room = room;
    }
    meter->latencies[meter->count++ % BB_LIVE_LATENCIES] = seconds;
    meter->sum += seconds;
    meter->max = fmax(meter->max, seconds);
done:
    return status;
}

void bb_live_meter_release(bb_live_meter *meter)
{
    BB_RELEASE(&meter->latencies);
    *meter = (bb_live_meter){0};
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double rank(bb_index count, const double *sorted, double part)
{
    const double place = ceil(part * (double)count) - 1.0;
    return sorted[place < 0.0 ? 0 : (bb_index)place];
}

// Of the last `count` latencies.
static bb_status find_quantiles(const bb_live_meter *meter, bb_index count, bb_live_quantiles *out)
{
    bb_status status = BB_OK;
    double *sorted = NULL;
    *out = (bb_live_quantiles){NAN, NAN, NAN};
    if (count > 0) {
        BB_TRY(BB_ALLOCATE(count, &sorted));
        for (bb_index i = 0; i < count; ++i) {
            sorted[i] = meter->latencies[(meter->count - count + i) % BB_LIVE_LATENCIES];
        }
        qsort(sorted, (size_t)count, sizeof *sorted, compare);
        *out = (bb_live_quantiles){rank(count, sorted, 0.5), rank(count, sorted, 0.99),
                                   sorted[count - 1]};
    }
done:
    BB_RELEASE(&sorted);
    return status;
}

bb_status bb_live_meter_all(const bb_live_meter *meter, bb_live_quantiles *out)
{
    bb_status status = BB_OK;
    BB_TRY(find_quantiles(meter, bb_live_meter_kept(meter), out));
    if (meter->count > 0) {
        out->max = meter->max;
    }
done:
    return status;
}

bb_status bb_live_meter_recent(bb_live_meter *meter, bb_index *count, bb_live_quantiles *out)
{
    const bb_index fresh = meter->count - meter->since;
    const bb_index kept = bb_live_meter_kept(meter);
    *count = fresh < kept ? fresh : kept;
    meter->since = meter->count;
    return find_quantiles(meter, *count, out);
}
