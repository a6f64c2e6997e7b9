// SPDX-License-Identifier: Apache-2.0
//
// Kernels at the sizes at which a study's run launches them, as subjects of `tune`.
#ifndef BB_SIM_COMMAND_TUNE_SITES_H
#define BB_SIM_COMMAND_TUNE_SITES_H

#include "sim/command/tune_work.h"
#include "sim/kernels/kernel_variants.h"

/// Kernels, types and sizes, the largest first. Zero-initialise; release with
/// bb_tune_sites_release.
typedef struct bb_tune_sites {
    struct bb_tune_site *items; ///< [count]
    bb_index count, capacity;
} bb_tune_sites;

void bb_tune_sites_release(bb_tune_sites *sites);

/// Adds a site; for bb_kernel_wish.meet, of which `context` is the sites. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tune_sites_meet(void *context, bb_device *device,
                                        const bb_kernel_site *site);

/// Tunes those of the device of `work`, the one that moves most first, until the work's time is
/// over; `*tuned` counts those that were. A kernel whose objects cannot be made up from sizes is
/// left out, which a log line says. Errors: those of bb_tune_work_run.
BB_CHECKED bb_status bb_tune_sites_run(bb_tune_sites *sites, bb_tune_work *work, bb_index *tuned);

/// Whether any is of a kind of device.
bool bb_tune_sites_have(const bb_tune_sites *sites, bb_device_kind kind);

#endif
