// SPDX-License-Identifier: Apache-2.0
//
// The rules that a configuration of the adaptive-optics physics has to keep.
#ifndef BB_PHYSICS_AO_AO_CHECK_H
#define BB_PHYSICS_AO_AO_CHECK_H

#include "physics/ao/ao_config.h"

/// Holds the rules that no single key can: exactly one of profile and layers, at least one star and
/// target, keys that fit the kind of star, lenslets that leave a valid subaperture, a mask of
/// transmissions that is finer than half a lenslet. A mask that is yet to be loaded (a file is
/// named but `pupil_mask` is NULL) is left out, and the subapertures with it; so are influence
/// functions. Ranges are checked
/// too, so that structs filled by hand are safe. Errors: BB_INVALID, with the key's name.
BB_CHECKED bb_status bb_ao_check(const bb_ao_config *config);

#endif
