// SPDX-License-Identifier: Apache-2.0
//
// The slots of unwrapping, whose numbers `tune --for` and promises choose: wrong cycles 0 and the
// wavefront within a tolerance of the reference's.
#ifndef BB_SIM_FRINGE_FRINGE_SLOTS_H
#define BB_SIM_FRINGE_FRINGE_SLOTS_H

#include "sim/fringe/fringe_study.h"
#include "sim/kernels/slot_table.h"

extern const bb_slot_table bb_fringe_slots;

/// A pipeline with the numbers of a state in its slots, which promises nothing.
bb_fringe_pipeline bb_fringe_slots_pipeline(const bb_fringe_pipeline *asked, const int *state);

/// Bytes of what a state's slots store, from sizes alone.
double bb_fringe_slots_bytes(const bb_fringe_size_config *size, const int *state);

#endif
