// SPDX-License-Identifier: Apache-2.0
//
// The slots of unwrapping, whose numbers `tune --for` chooses: wrong cycles 0 and the wavefront
// within a tolerance of the reference's.
#ifndef BB_SIM_FRINGE_FRINGE_SLOTS_H
#define BB_SIM_FRINGE_FRINGE_SLOTS_H

#include "sim/kernels/slot_table.h"

extern const bb_slot_table bb_fringe_slots;

#endif
