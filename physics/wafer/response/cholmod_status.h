// SPDX-License-Identifier: Apache-2.0
//
// What CHOLMOD left in its workspace, as a status.
#ifndef BB_PHYSICS_WAFER_RESPONSE_CHOLMOD_STATUS_H
#define BB_PHYSICS_WAFER_RESPONSE_CHOLMOD_STATUS_H

#include "core/status.h"

#include <cholmod.h>

/// After `step` ("analysis") of a stiffness matrix of `body` ("membrane"). Errors: BB_MEMORY,
/// BB_INVALID (not positive definite), BB_INTERNAL.
BB_CHECKED bb_status bb_cholmod_status(const cholmod_common *common, const char *step,
                                       const char *body);

#endif
