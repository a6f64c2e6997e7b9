// SPDX-License-Identifier: Apache-2.0
//
// Rows of the response matrix computed on a GPU, for all slit points of a field at once: adjoint
// solves of the membrane and of the coupled plate with the factor computed on the host
// (response/factor_solve.h), and the closed-form kernel's integrals (response/response.h).
//
// Rows agree with the host's (bb_wafer_problem_rows) to 1e-10 of the largest entry of a row; they
// do not depend on the panels in which they are computed.
#ifndef BB_PHYSICS_WAFER_DEVICE_ROWS_H
#define BB_PHYSICS_WAFER_DEVICE_ROWS_H

#include "core/device/device.h"
#include "physics/wafer/wafer_problem.h"

typedef struct bb_device_rows bb_device_rows;

/// Returns the reason why rows of a problem are not computed on a GPU, as a sentence; NULL if they
/// are.
const char *bb_device_rows_absent(const bb_wafer_problem *problem);

/// Copies the data for rows, the factor first. Problem and device are borrowed. Errors:
/// BB_UNSUPPORTED (bb_device_rows_absent, a device other than cuda), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_device_rows_create(const bb_wafer_problem *problem, bb_device *device,
                                           bb_device_rows **out);

/// Returns whether a study's rows are computed on a GPU, before its problem is created.
bool bb_device_rows_planned(const bb_wafer_config *config);

/// Estimates host memory during creation and device memory, for fields of `points` slit points.
bb_need bb_device_rows_need(const bb_wafer_config *config, double nodes, double points);

/// Computes rows of axis `axis` for scored field `index`: out [slit field_points][input_count] in
/// the device's memory, m/K. Errors: BB_MEMORY, BB_DEVICE, as bb_wafer_problem_rows.
BB_CHECKED bb_status bb_device_rows_fill(bb_device_rows *rows, bb_index index, int axis,
                                         double *out);

void bb_device_rows_destroy(bb_device_rows **rows);

#endif
