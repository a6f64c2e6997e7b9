// SPDX-License-Identifier: Apache-2.0
//
// The variants of a program that a tuner tries: the default first, then by rising effort of the
// text, each once, all of them legal (choice.h). What the emitter prints alike the tuner tells.
#ifndef BB_SOLVERS_KERNELS_TUNING_CANDIDATES_H
#define BB_SOLVERS_KERNELS_TUNING_CANDIDATES_H

#include "solvers/kernels/emission/choice.h"

/// What is asked for, and what a device takes.
typedef struct bb_candidate_wish {
    bb_index group_items; ///< the most work-items of a work-group; 0: not known
    bool is_exhaustive;   ///< seed 002's full product, else some tens
    bool may_reorder;     ///< also other orders of sums than the program's
    bool is_processor;    ///< an OpenCL device that is a cpu: few, each takes long to compile
} bb_candidate_wish;

/// Zero-initialise; release with bb_candidates_release.
typedef struct bb_candidates {
    bb_choice *choices; ///< [count]
    int count, capacity;
} bb_candidates;

/// Lists them. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_candidates_create(bb_device_kind kind, const bb_program *program,
                                          const bb_candidate_wish *wish, bb_candidates *out);
void bb_candidates_release(bb_candidates *candidates);

#endif
