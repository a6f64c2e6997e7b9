// SPDX-License-Identifier: Apache-2.0
//
// Exposure of the resist at the scored points of one field: the dose-weighted mean of the
// displacement over the passage of the slit, and its spread.
//     MA = sum_n w_n u_n / sum_n w_n,  MSD = sqrt(sum_n w_n (u_n - MA)^2 / sum_n w_n)
// w_n is the fraction of the dose at the point in light step n (bb_scan_dose_fraction; they sum to
// 1) and u_n the displacement there in step n, bilinear between slit points. u is linear in the
// temperature, so one matrix-vector product per step with the mean of the temperatures at both ends
// of the step gives u_n. Points are centres of equal cells of the field inside the usable radius.
#ifndef BB_PHYSICS_WAFER_OVERLAY_DWELL_H
#define BB_PHYSICS_WAFER_OVERLAY_DWELL_H

#include "core/need.h"
#include "physics/wafer/slit_grid.h"

/// A scored point in a light step in which it gets dose.
typedef struct bb_dwell_sample {
    bb_index point;
    double dose;         ///< fraction of the total dose, above 0
    bb_window_cell cell; ///< in the step's window
} bb_dwell_sample;

/// One axis of one field. Read-only to users; results are complete after the last light step.
typedef struct bb_dwell {
    bb_slit_grid slit;
    bb_field field;
    bb_index count; ///< scored points; 0 for a field completely outside the usable radius
    double *x;      ///< [count] wafer coordinates, m
    double *y;
    bb_index *offset;         ///< [light steps] first row of the window; NULL: not listed
    bb_index *first;          ///< [light steps + 1] first sample of each step
    bb_dwell_sample *samples; ///< samples of all steps, by point
    double *weight;           ///< [count] dose so far over the total dose
    double *mean;             ///< [count] MA so far, in the unit of u; 0 without dose
    double *spread;           ///< [count] sum of w (u - MA)^2 so far
} bb_dwell;

/// Creates a dwell. Errors: BB_INVALID (no column or row), BB_MEMORY. The scan of `slit` must
/// outlive it.
BB_CHECKED bb_status bb_dwell_create(const bb_slit_grid *slit, const bb_field *field,
                                     const bb_metrology_config *config, bb_dwell **out);

/// Lists the points with dose in each light step, before anything is added. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_dwell_list(bb_dwell *dwell);

/// Adds light step `step`. window [window_rows][columns]: u at the slit points from row
/// bb_slit_grid_offset(slit, field, step) on. Steps may come in any order, each once.
void bb_dwell_add(bb_dwell *dwell, bb_index step, const double *window);

/// Returns the MSD of point i.
double bb_dwell_deviation(const bb_dwell *dwell, bb_index point);

/// Discards all steps, for another pipeline.
void bb_dwell_reset(bb_dwell *dwell);

/// Memory and time of a dwell with its list.
bb_need bb_dwell_need(const bb_metrology_config *config, const bb_scan_config *scan);

void bb_dwell_destroy(bb_dwell **dwell);

#endif
