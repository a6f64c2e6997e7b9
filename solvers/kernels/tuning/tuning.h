// SPDX-License-Identifier: Apache-2.0
//
// Tuner: tries variants of a kernel on a device and finds the fastest correct one.
//
// Every candidate (candidates.c) is compiled and verified (verification.h). On the set's data it is
// compared bit by bit with the default variant of its order of sums. Its time is the minimum of
// samples that agree within 2 %; a candidate whose first sample is over three times the best is
// abandoned. The best five with the program's order, and the best three with other orders, are then
// timed again in interleaved rounds, and one of each group wins. A candidate beats an earlier one
// only if it is faster in three quarters of the rounds by half a percent. When the time is over,
// the fastest so far wins. Variants with the same text are tried once, as the first of them.
#ifndef BB_SOLVERS_KERNELS_TUNING_TUNING_H
#define BB_SOLVERS_KERNELS_TUNING_TUNING_H

#include "solvers/kernels/tuning/set_data.h"
#include "solvers/kernels/tuning/verification.h"

/// Request for candidates, and limits of a device.
typedef struct bb_candidate_wish {
    bb_index group_items; ///< largest number of work-items of a work-group; 0: unknown
    bool is_exhaustive;   ///< the full product of Beier, otherwise some tens
    bool may_reorder;     ///< include other orders of sums than the program's
    bool is_processor; ///< an OpenCL device that is a cpu: few candidates, because each takes long
                       ///< to compile
} bb_candidate_wish;

/// Variants of a program to try: the default first, then by ascending cost of the text, each once,
/// all of them legal (choice.h). Zero-initialise; release with bb_candidates_release.
typedef struct bb_candidates {
    bb_choice *choices; ///< [count]
    int count, capacity;
} bb_candidates;

/// Lists them. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_candidates_create(bb_device_kind kind, const bb_program *program,
                                          const bb_candidate_wish *wish, bb_candidates *out);
void bb_candidates_release(bb_candidates *candidates);

/// Result of one variant on one set.
typedef struct bb_tuning_record {
    bb_choice choice;
    bb_trial trial;
    double least_s, median_s; ///< NaN if it was not timed
    int samples;
    double bytes; ///< lower bound of the memory traffic (bb_binding_bytes)
} bb_tuning_record;

/// Callbacks of the tuner. Members may be NULL.
typedef struct bb_tuning_listener {
    void *context;
    /// Receives each record: one for each variant, and a second one, `best`, for the winner. Errors
    /// end the tuning.
    bb_status (*take)(void *context, const bb_tuning_record *record);
    /// Returns an earlier record of a variant on this set, which is then not tried again.
    bool (*recall)(void *context, const bb_choice *choice, bb_tuning_record *out);
    /// True if tuning should end after the current variant.
    bool (*is_over)(void *context);
} bb_tuning_listener;

/// Result of tuning on one set.
typedef struct bb_tuning_outcome {
    /// `alike`: same text as an earlier candidate.
    int candidates, alike, tried, recalled, right, failed;
    bool is_complete; ///< false: the time was over, or a callback ended it
    bool has_best;
    bb_tuning_record best;      ///< best variant with the program's order of sums
    bool has_reordered;         ///< another order of sums is faster than `best`
    bb_tuning_record reordered; ///< the fastest such variant
    double default_s;           ///< shortest time of the default variant; NaN if it was not timed
} bb_tuning_outcome;

/// Candidates of one kernel with one type on one device, with their compiled texts.
typedef struct bb_tuning bb_tuning;

/// Creates the shapes for a subject's verification and lists the candidates. `device` and
/// `subject`, with its program, are borrowed. Errors: BB_MEMORY, BB_INTERNAL (a shape that does not
/// bind). Owner: the caller.
BB_CHECKED bb_status bb_tuning_create(bb_device *device, const bb_tuning_subject *subject,
                                      const bb_candidate_wish *wish, bb_tuning **out);
void bb_tuning_destroy(bb_tuning **tuning);

/// Number of candidates for a set; `reorders`: those with other orders of sums than the program's,
/// otherwise those with its own.
int bb_tuning_candidate_count(const bb_tuning *tuning, bool reorders);

/// Tunes on set `set` of the subject until `deadline_s` of bb_clock_seconds. Errors: BB_UNSUPPORTED
/// (no compiler), BB_MEMORY, BB_DEVICE (a variant has left the device unusable, which is recorded
/// first), BB_IO, BB_INTERNAL, errors of the callbacks.
BB_CHECKED bb_status bb_tuning_run(bb_tuning *tuning, int set, double deadline_s,
                                   const bb_tuning_listener *listener, bb_tuning_outcome *out);

/// Finalists run alternately, in rounds, so that disturbances of the machine affect all of them.
enum { BB_FINALISTS = 5, BB_FINAL_ROUNDS = 11 };

typedef struct bb_finalist {
    int number;     ///< index among the candidates
    double least_s; ///< time that qualified the finalist
    bb_assembled_kernel *kernel;
    bb_tuning_record *record; ///< receives the times of the rounds
    double times[BB_FINAL_ROUNDS];
} bb_finalist;

/// Fills a record's times: the minimum of at least 5 and at most 20 samples, stopping when three of
/// them agree within 2 %; 2 samples suffice if they take over a second. `is_slow`: the first was
/// over three times `best_s`, and no other was taken. Errors: from a launch.
BB_CHECKED bb_status bb_tuning_record_sample(bb_set_data *set, bb_assembled_kernel *kernel,
                                             double best_s, bb_tuning_record *record,
                                             bool *is_slow);

/// Inserts a finalist into a list [limit] of the fastest, by its time. The list is sorted by
/// candidate number.
void bb_finalist_insert(bb_finalist *finalists, int limit, int *count, bb_finalist finalist);

/// Index of the winner of `count` finalists by their times in `rounds` rounds: the first, unless a
/// later one is faster than the winner so far, by half a percent, in three quarters of the rounds.
int bb_finalists_decide(const bb_finalist *finalists, int count, int rounds);

/// Runs the rounds: at least 4, and fewer than BB_FINAL_ROUNDS only if they take some seconds.
/// Errors: from a launch.
BB_CHECKED bb_status bb_finalists_run(bb_set_data *set, bb_finalist *finalists, int count,
                                      int *winner);

#endif
