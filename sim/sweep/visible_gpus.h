// SPDX-License-Identifier: Apache-2.0
//
// The GPUs that this process may use, told apart without touching one: whoever forks afterwards
// still can.
#ifndef BB_SIM_SWEEP_VISIBLE_GPUS_H
#define BB_SIM_SWEEP_VISIBLE_GPUS_H

#include "core/status.h"

enum { BB_VISIBLE_GPUS = 64 };

typedef struct bb_visible_gpus {
    bb_index count;
    char names[BB_VISIBLE_GPUS][64]; ///< as CUDA_VISIBLE_DEVICES has them
} bb_visible_gpus;

/// Counts them in a process of its own, within CUDA_VISIBLE_DEVICES. Errors: BB_DEVICE (none, with
/// the reason).
BB_CHECKED bb_status bb_visible_gpus_find(bb_visible_gpus *out);

/// From now on this process sees only one of them. Errors: BB_INTERNAL.
BB_CHECKED bb_status bb_visible_gpus_take(const bb_visible_gpus *gpus, bb_index index);

#endif
