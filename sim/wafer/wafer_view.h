// SPDX-License-Identifier: Apache-2.0
//
// The wafer for the eye: vectors at the scored points as /view, and the XDMF that lets ParaView
// open them, with the temperatures where the run dumped them.
//
// Blocks of `overlay`, one a pipeline: the scored points in mm with raw (u_ref), model (the
// pipeline's u, as computed) and residual (what its corrections in force leave) in nm, in the plane
// of the wafer, and the exposure index. Where the run dumped its inputs, time runs over the scored
// exposures, and a block `temperature` holds the grid S in the last light step of each.
#ifndef BB_SIM_WAFER_WAFER_VIEW_H
#define BB_SIM_WAFER_WAFER_VIEW_H

#include "sim/wafer/wafer_work.h"

/// Writes /temperature: the grid S in the last light step of each scored exposure. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_wafer_view_heating(const bb_wafer_problem *problem,
                                           const bb_wafer_heating *heating, bb_results *results);

/// The XDMF of a wafer's results, to stand beside the HDF5 file called `file` (without a folder).
/// Errors: BB_INVALID (results of another experiment), BB_MEMORY.
BB_CHECKED bb_status bb_wafer_view_describe(const bb_results *results, const char *file,
                                            bb_text *out);

#endif
