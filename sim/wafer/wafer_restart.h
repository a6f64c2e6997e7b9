// SPDX-License-Identifier: Apache-2.0
//
// Exact restart of the heating of a wafer study: everything that its next step reads and all that
// it has kept goes into a checkpoint at the end of a step, and comes back to the same bits.
#ifndef BB_SIM_WAFER_WAFER_RESTART_H
#define BB_SIM_WAFER_WAFER_RESTART_H

#include "sim/restart.h"
#include "sim/wafer/heat/wafer_heating.h"
#include "sim/wafer/wafer_study.h"

/// Appends what the heating depends on, as YAML: the experiment, the groups wafer, clamp, hood,
/// ring, mesh, scan, wafers, probes, response.grid and metrology.alignment_s. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_restart_subject(const bb_wafer_study *study, bb_text *out);

/// Opens and checks what `options` resume from; every 60 s where they say nothing. Errors: those of
/// bb_checkpoint_open. Release with bb_restart_release.
BB_CHECKED bb_status bb_wafer_restart_open(const bb_wafer_study *study,
                                           const bb_run_options *options, bb_restart *out);

/// Writes a checkpoint where one is due, or `now`. Errors: those of bb_checkpoint_write.
BB_CHECKED bb_status bb_wafer_restart_save(bb_restart *restart, bool now,
                                           const bb_heating_place *place,
                                           const bb_heat_simulation *simulation,
                                           const bb_wafer_heating *heating);

/// Reads place, state, ledger and what `heating` has kept by then. Errors: those of
/// bb_checkpoint_take.
BB_CHECKED bb_status bb_wafer_restart_load(bb_restart *restart, bb_heating_place *place,
                                           bb_heat_simulation *simulation,
                                           bb_wafer_heating *heating);

#endif
