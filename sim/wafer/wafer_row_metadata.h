// SPDX-License-Identifier: Apache-2.0
//
// What response rows of a wafer study belong to: kept with those that are dumped, and held against
// the study that reads them.
#ifndef BB_SIM_WAFER_WAFER_ROW_METADATA_H
#define BB_SIM_WAFER_WAFER_ROW_METADATA_H

#include "physics/wafer/wafer_problem.h"
#include "sim/input/matrix_file.h"
#include "sim/wafer/wafer_study.h"

/// Of the rows of scored field `index`: grid S, slit points, and as YAML what decides rows by any
/// generator: mechanics of the wafer, stiffness of clamp and burls, the field and its place.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_row_metadata_make(const bb_wafer_study *study,
                                                const bb_wafer_problem *problem, bb_index index,
                                                bb_matrix_metadata *out);

/// Holds the rows in a file against the study that reads them for scored field `index`, as far as
/// the file says what they are: other grids are refused, other keys are a warning that names them,
/// where it `warns`.
/// Errors: BB_INVALID, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_row_metadata_check(const bb_wafer_study *study,
                                                 const bb_wafer_problem *problem, bb_index index,
                                                 const bb_matrix_place *place,
                                                 const bb_matrix_metadata *metadata, bool warns);

#endif
