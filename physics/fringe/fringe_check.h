// SPDX-License-Identifier: Apache-2.0
//
// The rules that a configuration of the fringe physics has to keep.
#ifndef BB_PHYSICS_FRINGE_FRINGE_CHECK_H
#define BB_PHYSICS_FRINGE_FRINGE_CHECK_H

#include "physics/fringe/fringe_config.h"

/// Holds the rules that no single key can: an obstruction of an annulus only, keys that fit the
/// kind of step, cutoffs with a wave between them, vortices that the array has room for, four steps
/// of Carre. Ranges and choices are checked too, so that structs filled by hand are safe. A pupil
/// may be left without pixels. Errors: BB_INVALID, the message begins with the key's path.
BB_CHECKED bb_status bb_fringe_check(const bb_fringe_config *config);

#endif
