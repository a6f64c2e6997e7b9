// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/tuning/tuning.h"

#include "core/clock.h"
#include "core/memory.h"
#include "solvers/kernels/tuning/set_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

// One candidate, for all sets.
typedef struct entry {
    bb_assembled_kernel *kernel; // NULL: not yet compiled, or failed
    bb_trial trial;              // result of compilation and of verification on the shapes
    bool is_known;               // the trial is valid
    bool is_alike;               // its text equals that of an earlier candidate
    bool *is_inside;             // [step_count] accesses for which it was compiled
} entry;

struct bb_tuning {
    bb_device *device;
    const bb_tuning_subject *subject;
    const bb_program *program;
    bb_candidates candidates;
    bb_verification *verification;
    entry *entries;         // [candidates.count]
    XXH128_hash_t *digests; // [candidates.count] of the compiled texts
};

bb_status bb_tuning_create(bb_device *device, const bb_tuning_subject *subject,
                           const bb_candidate_wish *wish, bb_tuning **out)
{
    bb_status status = BB_OK;
    bb_tuning *made = NULL;
    BB_TRY(BB_ZEROED(1, &made));
    made->device = device;
    made->subject = subject;
    made->program = subject->program;
    BB_TRY(bb_candidates_create(bb_device_kind_of(device), made->program, wish, &made->candidates));
    BB_TRY(BB_ZEROED(made->candidates.count, &made->entries));
    BB_TRY(BB_ZEROED(made->candidates.count, &made->digests));
    BB_TRY(bb_verification_create(subject, &made->verification));
    *out = made;
    made = NULL;
done:
    bb_tuning_destroy(&made);
    return status;
}

static void release_entry(entry *item)
{
    bb_assembled_kernel_destroy(&item->kernel);
    BB_RELEASE(&item->is_inside);
    *item = (entry){.is_known = false};
}

void bb_tuning_destroy(bb_tuning **tuning)
{
    bb_tuning *self = *tuning;
    if (self == NULL) {
        return;
    }
    for (int i = 0; self->entries != NULL && i < self->candidates.count; ++i) {
        release_entry(&self->entries[i]);
    }
    BB_RELEASE(&self->entries);
    BB_RELEASE(&self->digests);
    bb_verification_destroy(&self->verification);
    bb_candidates_release(&self->candidates);
    BB_RELEASE(tuning);
}

int bb_tuning_candidate_count(const bb_tuning *tuning, bool reorders)
{
    int count = 0;
    for (int i = 0; i < tuning->candidates.count; ++i) {
        count += (tuning->candidates.choices[i].order.lanes > 0) == reorders;
    }
    return count;
}

// State of one set.
typedef struct trying {
    bb_tuning *tuning;
    bb_set_data data;
    const bb_tuning_listener *listener;
    double deadline_s;
    bb_tuning_record *records; // [candidates.count]
    bool *is_there;            // [candidates.count] of records
    double best_s;
    bb_tuning_outcome *outcome;
} trying;

static bool is_over(const trying *work)
{
    const bb_tuning_listener *listener = work->listener;
    return bb_clock_seconds() >= work->deadline_s ||
           (listener->is_over != NULL && listener->is_over(listener->context));
}

static bb_status report(const trying *work, const bb_tuning_record *record)
{
    const bb_tuning_listener *listener = work->listener;
    return listener->take != NULL ? listener->take(listener->context, record) : BB_OK;
}

// True if an earlier candidate has the same text and the same work-groups.
static bb_status find_alike(const trying *work, int number, bool *out)
{
    bb_status status = BB_OK;
    bb_tuning *tuning = work->tuning;
    bb_emission emission = {.values = NULL};
    BB_TRY(bb_assembled_kernel_print(bb_device_kind_of(tuning->device), tuning->program,
                                     work->data.binding.is_inside,
                                     &tuning->candidates.choices[number], &emission));
    const bb_index shape[] = {emission.is_parted,       emission.body_points[0],
                              emission.body_points[1],  emission.body_items[0],
                              emission.body_items[1],   emission.finish_points,
                              emission.finish_items[0], emission.finish_items[1]};
    const uint64_t seed = XXH3_64bits(shape, sizeof shape);
    tuning->digests[number] = XXH3_128bits_withSeed(bb_text_string(&emission.source),
                                                    (size_t)emission.source.length, seed);
    *out = false;
    for (int i = 0; i < number; ++i) {
        *out = *out || XXH128_isEqual(tuning->digests[i], tuning->digests[number]) != 0;
    }
done:
    bb_emission_release(&emission);
    return status;
}

static bool covers(const bb_tuning *tuning, const entry *item, const bool *is_inside)
{
    for (int i = 0; i < tuning->program->step_count; ++i) {
        if (item->is_inside[i] != is_inside[i]) {
            return false;
        }
    }
    return true;
}

// Compiles a candidate for the set's accesses and verifies it, unless that has been done.
static bb_status prepare(const trying *work, int number)
{
    bb_status status = BB_OK;
    bb_tuning *tuning = work->tuning;
    entry *item = &tuning->entries[number];
    const bool *is_inside = work->data.binding.is_inside;
    const bb_choice *choice = &tuning->candidates.choices[number];
    if (item->is_known && item->is_inside != NULL && covers(tuning, item, is_inside)) {
        goto done;
    }
    release_entry(item);
    BB_TRY(BB_ALLOCATE(tuning->program->step_count + 1, &item->is_inside));
    memcpy(item->is_inside, is_inside, (size_t)tuning->program->step_count * sizeof *is_inside);
    status = bb_assembled_kernel_create(tuning->device, tuning->program, is_inside, choice,
                                        &item->kernel);
    // If the first candidate, the default, cannot be compiled, there is no compiler: return the
    // error.
    if (status != BB_OK && number > 0 && bb_trial_is_failure(status, &item->trial)) {
        item->is_known = true;
        status = BB_OK;
        goto done;
    }
    BB_TRY(status);
    BB_TRY(bb_verification_check(tuning->verification, tuning->device, choice, is_inside,
                                 item->kernel, &item->trial));
    item->is_known = true;
done:
    return status;
}

static bb_status measure(trying *work, int number, bb_tuning_record *record)
{
    bb_status status = BB_OK;
    bb_assembled_kernel *kernel = work->tuning->entries[number].kernel;
    bool is_slow = false;
    BB_TRY(bb_tuning_record_sample(&work->data, kernel, work->best_s, record, &is_slow));
    if (is_slow) {
        record->trial.status = BB_TRIAL_SLOW;
        goto done;
    }
    BB_TRY(bb_set_data_check(&work->data, &record->choice, kernel, &record->trial));
done:
    return status;
}

// A variant whose failure leaves the device unusable ends the tuning; it is recorded first.
static bb_status try_candidate(trying *work, int number)
{
    bb_status status = BB_OK;
    bb_tuning *tuning = work->tuning;
    bb_tuning_record *record = &work->records[number];
    BB_TRY(prepare(work, number));
    record->trial = tuning->entries[number].trial;
    if (record->trial.status == BB_TRIAL_RIGHT) {
        status = measure(work, number, record);
        if (status != BB_OK && bb_trial_is_failure(status, &record->trial)) {
            status = BB_OK;
        }
        BB_TRY(status);
    }
    if (record->trial.status == BB_TRIAL_RIGHT) {
        work->best_s = fmin(work->best_s, record->least_s);
    } else {
        bb_assembled_kernel_destroy(&tuning->entries[number].kernel);
        tuning->entries[number].is_known = record->trial.status != BB_TRIAL_SLOW;
    }
    ++work->outcome->tried;
    BB_TRY(report(work, record));
    BB_REQUIRE(
        record->trial.status != BB_TRIAL_RUN || bb_device_wait(tuning->device) == BB_OK, BB_DEVICE,
        "a variant left the device unusable; it is recorded and will be skipped in later runs: %s",
        record->trial.why);
done:
    return status;
}

static bb_status process_candidate(trying *work, int number)
{
    bb_status status = BB_OK;
    const bb_tuning_listener *listener = work->listener;
    bb_tuning_record *record = &work->records[number];
    *record = (bb_tuning_record){.choice = work->tuning->candidates.choices[number],
                                 .least_s = NAN,
                                 .median_s = NAN,
                                 .bytes = bb_binding_bytes(&work->data.binding)};
    work->is_there[number] = true;
    if (listener->recall != NULL && listener->recall(listener->context, &record->choice, record)) {
        ++work->outcome->recalled;
        if (record->trial.status <= BB_TRIAL_BEST) {
            work->best_s = fmin(work->best_s, record->least_s);
        }
    } else {
        BB_TRY(try_candidate(work, number));
    }
    if (record->trial.status <= BB_TRIAL_SLOW) {
        ++work->outcome->right;
    } else {
        ++work->outcome->failed;
    }
done:
    return status;
}

// Selects the best of one group (the program's order of sums, or others) in rounds.
static bb_status find_best(trying *work, bool reorders, int limit, bool *has_one,
                           bb_tuning_record *out)
{
    bb_status status = BB_OK;
    bb_tuning *tuning = work->tuning;
    bb_finalist finalists[BB_FINALISTS];
    int count = 0;
    int winner = 0;
    for (int i = 0; i < tuning->candidates.count; ++i) {
        const bb_tuning_record *record = &work->records[i];
        if (work->is_there[i] && record->trial.status <= BB_TRIAL_BEST &&
            (record->choice.order.lanes > 0) == reorders) {
            bb_finalist_insert(finalists, limit, &count,
                               (bb_finalist){.number = i, .least_s = record->least_s});
        }
    }
    *has_one = count > 0;
    if (count == 0) {
        goto done;
    }
    if (is_over(work)) { // no time left for rounds
        for (int i = 1; i < count; ++i) {
            winner = finalists[i].least_s < finalists[winner].least_s ? i : winner;
        }
        *out = work->records[finalists[winner].number];
        out->trial.status = BB_TRIAL_BEST;
        goto done;
    }
    for (int i = 0; i < count; ++i) {
        const int number = finalists[i].number;
        BB_TRY(prepare(work, number));
        BB_REQUIRE(tuning->entries[number].kernel != NULL, BB_INTERNAL,
                   "a variant that passed verification failed: %s",
                   tuning->entries[number].trial.why);
        finalists[i].kernel = tuning->entries[number].kernel;
        finalists[i].record = &work->records[number];
    }
    BB_TRY(bb_finalists_run(&work->data, finalists, count, &winner));
    *out = *finalists[winner].record;
    out->trial.status = BB_TRIAL_BEST;
done:
    return status;
}

// Time of the variant that runs these sizes without tuning.
static double default_seconds(const trying *work)
{
    const bb_candidates *candidates = &work->tuning->candidates;
    const bb_choice plain = bb_choice_default_over(work->tuning->device, &work->data.binding);
    double seconds = NAN;
    for (int i = 0; i < candidates->count; ++i) {
        if (work->is_there[i] && bb_choice_equal(&candidates->choices[i], &plain)) {
            seconds = work->records[i].least_s;
        }
    }
    return seconds;
}

static bb_status finish(trying *work)
{
    bb_status status = BB_OK;
    bb_tuning_outcome *out = work->outcome;
    bb_tuning_record reordered;
    bool has_reordered = false;
    BB_TRY(find_best(work, false, BB_FINALISTS, &out->has_best, &out->best));
    out->default_s = default_seconds(work);
    if (out->has_best) {
        BB_TRY(report(work, &out->best));
    }
    BB_TRY(find_best(work, true, BB_FINALISTS - 2, &has_reordered, &reordered));
    if (has_reordered && (!out->has_best || reordered.least_s < out->best.least_s)) {
        out->has_reordered = true;
        out->reordered = reordered;
        BB_TRY(report(work, &reordered));
    }
done:
    return status;
}

static bb_status try_all(trying *work)
{
    bb_status status = BB_OK;
    bb_tuning *tuning = work->tuning;
    const int count = tuning->candidates.count;
    bb_tuning_outcome *out = work->outcome;
    out->is_complete = true;
    for (int i = 0; i < count && out->is_complete; ++i) {
        bool is_alike = false;
        if (is_over(work)) {
            out->is_complete = false;
            break;
        }
        BB_TRY(find_alike(work, i, &is_alike));
        if (is_alike) {
            ++out->alike;
        } else {
            BB_TRY(process_candidate(work, i));
        }
        // If the default fails at run time there is nothing to compare with, and it may make the
        // device fail again.
        out->is_complete = work->records[0].trial.status != BB_TRIAL_RUN;
    }
    if (out->tried + out->recalled > 0) {
        BB_TRY(finish(work));
    }
done:
    return status;
}

bb_status bb_tuning_run(bb_tuning *tuning, int set, double deadline_s,
                        const bb_tuning_listener *listener, bb_tuning_outcome *out)
{
    bb_status status = BB_OK;
    trying work = {.tuning = tuning,
                   .listener = listener,
                   .deadline_s = deadline_s,
                   .best_s = INFINITY,
                   .outcome = out};
    *out = (bb_tuning_outcome){.candidates = tuning->candidates.count, .default_s = NAN};
    if (is_over(&work)) {
        goto done;
    }
    BB_TRY(BB_ZEROED(tuning->candidates.count, &work.records));
    BB_TRY(BB_ZEROED(tuning->candidates.count, &work.is_there));
    BB_TRY(bb_set_data_create(tuning->device, tuning->subject, set, &work.data));
    BB_TRY(try_all(&work));
done:
    bb_set_data_release(&work.data);
    BB_RELEASE(&work.is_there);
    BB_RELEASE(&work.records);
    return status;
}

enum { FEWEST_SAMPLES = 5, MOST_SAMPLES = 20, MOST_REPEATS = 1000, FEWEST_ROUNDS = 4 };

static const double sample_s = 0.5e-3; ///< shortest duration of a sample
static const double samples_s = 1.0;   ///< longest duration of all samples of one variant
static const double rounds_s = 5.0;    ///< after this time the smallest number of rounds suffices
static const double spread = 0.02, gain = 0.995, slow_factor = 3.0;

static int compare(const void *first, const void *second)
{
    const double a = *(const double *)first;
    const double b = *(const double *)second;
    return (a > b) - (a < b);
}

// Sorts `times`.
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

bb_status bb_tuning_record_sample(bb_set_data *set, bb_assembled_kernel *kernel, double best_s,
                                  bb_tuning_record *record, bool *is_slow)
{
    bb_status status = BB_OK;
    double times[MOST_SAMPLES];
    int count = 0;
    double seconds = 0.0;
    const double begin = bb_clock_seconds();
    BB_TRY(bb_set_data_time(set, kernel, 1, &seconds)); // load the text and wake the threads
    if (seconds < samples_s) {
        BB_TRY(bb_set_data_time(set, kernel, 1, &seconds));
    }
    if (repeats_of(seconds) > 1) { // time as many launches as for other variants, because a single
                                   // short launch takes longer
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

void bb_finalist_insert(bb_finalist *finalists, int limit, int *count, bb_finalist finalist)
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

int bb_finalists_decide(const bb_finalist *finalists, int count, int rounds)
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

bb_status bb_finalists_run(bb_set_data *set, bb_finalist *finalists, int count, int *winner)
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
    *winner = bb_finalists_decide(finalists, count, rounds);
    for (int i = 0; i < count && rounds > 0; ++i) {
        summarise(finalists[i].times, rounds, finalists[i].record);
    }
done:
    return status;
}
