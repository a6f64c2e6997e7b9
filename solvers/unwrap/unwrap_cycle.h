// SPDX-License-Identifier: Apache-2.0
//
// Within solvers/unwrap: the order of a V-cycle, V(2,1) with red-black sweeps, and of what comes
// before the first one, as sequences of launches.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_CYCLE_H
#define BB_SOLVERS_UNWRAP_UNWRAP_CYCLE_H

#include "solvers/unwrap/unwrap_grids.h"

/// The sequence of bb_unwrap_grids_load, of grids whose steps are there. Errors: as
/// bb_kernel_sequence_create. Owner: the caller.
BB_CHECKED bb_status bb_unwrap_cycle_create_load(const bb_unwrap_grids *grids,
                                                 bb_kernel_sequence **out);

/// That of one V-cycle. Errors and owner: likewise.
BB_CHECKED bb_status bb_unwrap_cycle_create(const bb_unwrap_grids *grids, bb_kernel_sequence **out);

/// That of bb_unwrap_grids_precondition; `is_exact` leaves out the rounding to formats that are
/// narrower than their words. Errors and owner: likewise.
BB_CHECKED bb_status bb_unwrap_cycle_create_symmetric(const bb_unwrap_grids *grids, bool is_exact,
                                                      bb_kernel_sequence **out);

#endif
