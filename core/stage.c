// SPDX-License-Identifier: Apache-2.0
#include "core/stage.h"

#include "core/outcome.h"
#include "core/thread.h"

#include <stdatomic.h>
#include <string.h>

static const char *planned_stage;
static double planned_value;
static bb_index planned_index;
static atomic_int pending;
static atomic_int passed;

void bb_stage_plant(const char *stage, double value, bb_index index)
{
    planned_stage = stage;
    planned_value = value;
    planned_index = index;
    atomic_store(&passed, 0);
    atomic_store(&pending, stage != NULL);
}

int bb_stage_planted(void)
{
    return atomic_load(&passed);
}

static void plant(const char *stage, double *values, bb_index count)
{
    int one = 1;
    if (count > 0 && strcmp(stage, planned_stage) == 0 &&
        atomic_compare_exchange_strong(&pending, &one, 0)) {
        values[planned_index % count] = planned_value;
        atomic_store(&passed, 1);
    }
}

// Parallel search of an array: the lowest index found is the same for any number of threads.
typedef struct search {
    const double *values;
    atomic_ptrdiff_t first; // count: none found yet
} search;

static bb_status search_range(void *context, bb_index begin, bb_index end)
{
    search *work = context;
    const bb_index found = bb_outcome_first_non_finite(work->values + begin, end - begin);
    ptrdiff_t first = atomic_load(&work->first);
    while (found >= 0 && begin + found < first &&
           !atomic_compare_exchange_weak(&work->first, &first, begin + found)) {
    }
    return BB_OK;
}

static bb_index find_first(const double *values, bb_index count)
{
    enum { SHARED = 1 << 22, RANGE = 1 << 19 };
    search work = {.values = values, .first = count};
    if (count < SHARED || bb_thread_ranges(count, RANGE, search_range, &work) != BB_OK) {
        return bb_outcome_first_non_finite(values, count);
    }
    const bb_index first = atomic_load(&work.first);
    return first < count ? first : -1;
}

bb_index bb_stage_find_nonfinite(const char *stage, double *values, bb_index count)
{
    if (atomic_load_explicit(&pending, memory_order_relaxed) != 0) {
        plant(stage, values, count);
    }
    return find_first(values, count);
}

bb_index bb_stage_find_nonfinite_checked(const char *stage, double *values, bb_index count,
                                         bool finite)
{
    const int before = atomic_load(&passed);
    if (atomic_load_explicit(&pending, memory_order_relaxed) != 0) {
        plant(stage, values, count);
    }
    return finite && atomic_load(&passed) == before ? -1 : find_first(values, count);
}
