// SPDX-License-Identifier: Apache-2.0
//
// Temperatures at the probes of a wafer study: at the end of every step of the scan, and of every
// step of the bare clamp between two wafers, where a probe of the wafer has no value.
#ifndef BB_SIM_WAFER_HEAT_WAFER_PROBES_H
#define BB_SIM_WAFER_HEAT_WAFER_PROBES_H

#include "physics/wafer/wafer_problem.h"

/// Read-only to users. A row is [time, s | wafer | rise of each probe, K].
typedef struct bb_wafer_probes {
    const bb_wafer_problem *problem; ///< borrowed
    bb_index width;                  ///< of a row; 0 without probes
    bb_index capacity;               ///< rows of a whole run
    bb_index taken;                  ///< rows so far
    double *rows;                    ///< [capacity][width]
} bb_wafer_probes;

/// Makes room for `capacity` rows; nothing where the problem has no probes. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_probes_create(const bb_wafer_problem *problem, bb_index capacity,
                                            bb_wafer_probes *out);
void bb_wafer_probes_release(bb_wafer_probes *probes);

/// Takes a row at `time` s of wafer `wafer`; `bare`: no wafer is there.
void bb_wafer_probes_take(bb_wafer_probes *probes, double time, bb_index wafer, bool bare,
                          const double *state);

#endif
