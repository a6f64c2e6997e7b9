// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/tuning/finals.h"

#include "core/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_SAMPLES = 5, MOST_SAMPLES = 20, MOST_REPEATS = 1000, FEWEST_ROUNDS = 4 };

static const double sample_s = 0.5e-3; ///< that a sample should last at least
static const double samples_s = 1.0;   ///< that samples of one variant may last
static const double rounds_s = 5.0;    ///< after which the fewest rounds do
static const double spread = 0.02, gain = 0.995, slow_factor = 3.0;

static int compare(const void *first, const void *second)
{
    const double a = *(const double *)first;
    const double b = *(const double *)second;
    return (a > b) - (a < b);
}

// Leaves `times` sorted.
static void summarise(double *times, int count, bb_tuning_record *record)
{
    qsort(times, (size_t)count, sizeof *times, compare);
    record->least_s = times[0];
    record->median_s =
        count % 2 == 1 ? times[count / 2] : 0.5 * (times[count / 2 - 1] + times[count / 2]);
    record->samples = count;
}

static int repeats_of(double seconds)
{
    const double wanted = sample_s / fmax(seconds, 1e-9);
    return wanted <= 1.0 ? 1 : (int)fmin(ceil(wanted), MOST_REPEATS);
}

bb_status bb_finals_sample(bb_set_data *set, bb_assembled_kernel *kernel, double best_s,
                           bb_tuning_record *record, bool *is_slow)
{
    bb_status status = BB_OK;
    double times[MOST_SAMPLES];
    int count = 0;
    double seconds = 0.0;
    const double begin = bb_clock_seconds();
    BB_TRY(bb_set_data_time(set, kernel, 1, &seconds)); // loads the text and wakes threads
    if (seconds < samples_s) {
        BB_TRY(bb_set_data_time(set, kernel, 1, &seconds));
    }
    if (repeats_of(seconds) > 1) { // as others were timed: one short launch alone takes longer
        BB_TRY(bb_set_data_time(set, kernel, repeats_of(seconds), &seconds));
    }
    *is_slow = seconds > slow_factor * best_s;
    if (*is_slow) {
        summarise(&seconds, 1, record);
        goto done;
    }
    const int repeats = repeats_of(seconds);
    while (count < MOST_SAMPLES) {
        BB_TRY(bb_set_data_time(set, kernel, repeats, &times[count++]));
        const bool is_long = bb_clock_seconds() - begin > samples_s;
        if (count < (is_long ? 2 : FEWEST_SAMPLES)) {
            continue;
        }
        double sorted[MOST_SAMPLES];
        memcpy(sorted, times, sizeof *times * (size_t)count);
        qsort(sorted, (size_t)count, sizeof *sorted, compare);
        if (is_long || sorted[2] <= (1.0 + spread) * sorted[0]) {
            break;
        }
    }
    summarise(times, count, record);
done:
    return status;
}

void bb_finals_enter(bb_finalist *finalists, int limit, int *count, bb_finalist finalist)
{
    int slowest = 0;
    for (int i = 1; i < *count; ++i) {
        slowest = finalists[i].least_s >= finalists[slowest].least_s ? i : slowest;
    }
    if (*count == limit) {
        if (finalists[slowest].least_s <= finalist.least_s) {
            return;
        }
        memmove(&finalists[slowest], &finalists[slowest + 1],
                sizeof *finalists * (size_t)(*count - 1 - slowest));
        --*count;
    }
    finalists[(*count)++] = finalist;
}

int bb_finals_decide(const bb_finalist *finalists, int count, int rounds)
{
    int winner = 0;
    for (int i = 1; i < count; ++i) {
        int faster = 0;
        for (int round = 0; round < rounds; ++round) {
            faster += finalists[i].times[round] < gain * finalists[winner].times[round];
        }
        winner = 4 * faster >= 3 * rounds ? i : winner;
    }
    return winner;
}

bb_status bb_finals_run(bb_set_data *set, bb_finalist *finalists, int count, int *winner)
{
    bb_status status = BB_OK;
    const double begin = bb_clock_seconds();
    int rounds = 0;
    *winner = 0;
    while (count > 1 && rounds < BB_FINAL_ROUNDS &&
           (rounds < FEWEST_ROUNDS || bb_clock_seconds() - begin < rounds_s)) {
        for (int i = 0; i < count; ++i) {
            bb_finalist *finalist = &finalists[(i + rounds) % count];
            BB_TRY(bb_set_data_time(set, finalist->kernel, repeats_of(finalist->least_s),
                                    &finalist->times[rounds]));
        }
        ++rounds;
    }
    *winner = bb_finals_decide(finalists, count, rounds);
    for (int i = 0; i < count && rounds > 0; ++i) {
        summarise(finalists[i].times, rounds, finalists[i].record);
    }
done:
    return status;
}
