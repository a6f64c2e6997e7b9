// SPDX-License-Identifier: Apache-2.0
//
// Tries variants of a kernel on a device and finds the fastest that is right.
//
// Every candidate (candidates.c) is compiled, verified (verification.h), compared on the set's data
// with what the default variant of its order of sums gives there, to the bit, and timed: the least
// of samples that agree within 2 %. One whose first sample is over three times the best is given
// up. The best five of the program's order, and the best three of other orders, are then timed
// again in interleaved rounds; of each group one wins, and a candidate beats an earlier one only
// where it is faster in three quarters of the rounds by half a percent; where the time is over, the
// fastest so far wins. Variants that are printed to the same text are tried once, as the first of
// them.
#ifndef BB_SOLVERS_KERNELS_TUNING_TUNING_H
#define BB_SOLVERS_KERNELS_TUNING_TUNING_H

#include "solvers/kernels/tuning/set_data.h"
#include "solvers/kernels/tuning/verification.h"

/// Request for candidates, and limits of a device.
typedef struct bb_candidate_wish {
    bb_index group_items; ///< the most work-items of a work-group; 0: not known
    bool is_exhaustive;   ///< seed 002's full product, else some tens
    bool may_reorder;     ///< also other orders of sums than the program's
    bool is_processor;    ///< an OpenCL device that is a cpu: few, each takes long to compile
} bb_candidate_wish;

/// Variants of a program to try: the default first, then by rising effort of the text, each once,
/// all of them legal (choice.h). Zero-initialise; release with bb_candidates_release.
typedef struct bb_candidates {
    bb_choice *choices; ///< [count]
    int count, capacity;
} bb_candidates;

/// Lists them. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_candidates_create(bb_device_kind kind, const bb_program *program,
                                          const bb_candidate_wish *wish, bb_candidates *out);
void bb_candidates_release(bb_candidates *candidates);

/// What became of one variant on one set.
typedef struct bb_tuning_record {
    bb_choice choice;
    bb_trial trial;
    double least_s, median_s; ///< NaN where it was not timed
    int samples;
    double bytes; ///< that must cross the memory (bb_binding_bytes)
} bb_tuning_record;

/// Who is told, and asked. Members may be NULL.
typedef struct bb_tuning_listener {
    void *context;
    /// A record as it comes: each variant once, and a second one, `best`, of what has won. Errors
    /// end the tuning.
    bb_status (*take)(void *context, const bb_tuning_record *record);
    /// What is known of a variant on this set from before: it is not tried again.
    bool (*recall)(void *context, const bb_choice *choice, bb_tuning_record *out);
    /// Whether to end after the variant at hand.
    bool (*is_over)(void *context);
} bb_tuning_listener;

/// What was found on one set.
typedef struct bb_tuning_outcome {
    int candidates, alike, tried, recalled, right, failed; ///< alike: printed to an earlier text
    bool is_complete; ///< false: the time was over, or the listener ended it
    bool has_best;
    bb_tuning_record best;      ///< of the program's order of sums
    bool has_reordered;         ///< another order of sums is faster than that
    bb_tuning_record reordered; ///< and this is it
    double default_s;           ///< least time of the default variant; NaN where it was not timed
} bb_tuning_outcome;

/// Candidates of one kernel in one type on one device, with what is compiled of them.
typedef struct bb_tuning bb_tuning;

/// Makes the shapes of a subject's verification and lists what to try. `device` and `subject`, with
/// its program, are borrowed. Errors: BB_MEMORY, BB_INTERNAL (a shape that does not bind). Owner:
/// the caller.
BB_CHECKED bb_status bb_tuning_create(bb_device *device, const bb_tuning_subject *subject,
                                      const bb_candidate_wish *wish, bb_tuning **out);
void bb_tuning_destroy(bb_tuning **tuning);

/// How many variants there are to try on a set; `reorders`: those in other orders of sums than the
/// program's, else those in its own.
int bb_tuning_candidate_count(const bb_tuning *tuning, bool reorders);

/// Tunes on set `set` of the subject until `deadline_s` of bb_clock_seconds. Errors: BB_UNSUPPORTED
/// (no compiler), BB_MEMORY, BB_DEVICE (a variant has left the device unusable, which is recorded
/// before), BB_IO, BB_INTERNAL, those of the listener.
BB_CHECKED bb_status bb_tuning_run(bb_tuning *tuning, int set, double deadline_s,
                                   const bb_tuning_listener *listener, bb_tuning_outcome *out);

/// Finalists run by turns, in rounds, so that disturbances of the machine affect all of them.
enum { BB_FINALISTS = 5, BB_FINAL_ROUNDS = 11 };

typedef struct bb_finalist {
    int number;     ///< among the candidates
    double least_s; ///< by which it came so far
    bb_assembled_kernel *kernel;
    bb_tuning_record *record; ///< gets the times of the rounds
    double times[BB_FINAL_ROUNDS];
} bb_finalist;

/// Fills a record's times: the least of at least 5 samples, as soon as three of them agree within
/// 2 %, at most 20 samples; of 2 where they take over a second. `is_slow`: the first was over three
/// times `best_s`, and no other was taken. Errors: those of a launch.
BB_CHECKED bb_status bb_tuning_record_sample(bb_set_data *set, bb_assembled_kernel *kernel,
                                             double best_s, bb_tuning_record *record,
                                             bool *is_slow);

/// Enters one into a list [limit] of the fastest, by its time. The list stays by rising number.
void bb_finalist_insert(bb_finalist *finalists, int limit, int *count, bb_finalist finalist);

/// Which of `count` wins by these times of `rounds` rounds: the first, unless a later one is faster
/// than the winner so far, by half a percent, in three quarters of the rounds.
int bb_finalists_decide(const bb_finalist *finalists, int count, int rounds);

/// Runs the rounds: at least 4, fewer than BB_FINAL_ROUNDS only after some seconds. Errors: those
/// of a launch.
BB_CHECKED bb_status bb_finalists_run(bb_set_data *set, bb_finalist *finalists, int count,
                                      int *winner);

#endif
