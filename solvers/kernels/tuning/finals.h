// SPDX-License-Identifier: Apache-2.0
//
// Times of variants: samples of one alone, and rounds in which several run by turns, so that what
// the machine does meanwhile meets all of them.
#ifndef BB_SOLVERS_KERNELS_TUNING_FINALS_H
#define BB_SOLVERS_KERNELS_TUNING_FINALS_H

#include "solvers/kernels/tuning/set_data.h"
#include "solvers/kernels/tuning/tuning.h"

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
BB_CHECKED bb_status bb_finals_sample(bb_set_data *set, bb_assembled_kernel *kernel, double best_s,
                                      bb_tuning_record *record, bool *is_slow);

/// Enters one into a list [limit] of the fastest, by its time. The list stays by rising number.
void bb_finals_enter(bb_finalist *finalists, int limit, int *count, bb_finalist finalist);

/// Which of `count` wins by these times of `rounds` rounds: the first, unless a later one is faster
/// than the winner so far, by half a percent, in three quarters of the rounds.
int bb_finals_decide(const bb_finalist *finalists, int count, int rounds);

/// Runs the rounds: at least 4, fewer than BB_FINAL_ROUNDS only after some seconds. Errors: those
/// of a launch.
BB_CHECKED bb_status bb_finals_run(bb_set_data *set, bb_finalist *finalists, int count,
                                   int *winner);

#endif
