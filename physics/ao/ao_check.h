// SPDX-License-Identifier: Apache-2.0
//
// Rules for a configuration of the adaptive-optics physics.
#ifndef BB_PHYSICS_AO_AO_CHECK_H
#define BB_PHYSICS_AO_AO_CHECK_H

#include "physics/ao/ao_config.h"

/// Checks the rules across keys: exactly one of profile and layers, at least one star and target,
/// keys that fit the kind of star, lenslets that leave a valid subaperture, a transmission mask
/// with at least 2 pixels per lenslet. A mask not yet loaded (a file is named but `pupil_mask` is
/// NULL) is skipped with its subapertures; so are influence functions. Ranges are checked too, so
/// that structs filled by hand are safe. Errors: BB_INVALID, with the key's name.
BB_CHECKED bb_status bb_ao_check(const bb_ao_config *config);

#endif
