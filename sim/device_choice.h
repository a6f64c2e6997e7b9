// SPDX-License-Identifier: Apache-2.0
//
// Which device a pipeline computes on: its own wish, else the study's. A device that is absent or
// that lacks the kernels is an error; only `auto` chooses, and it says what.
#ifndef BB_SIM_DEVICE_CHOICE_H
#define BB_SIM_DEVICE_CHOICE_H

#include "core/device/device.h"
#include "sim/study.h"

/// What a piece of work can be computed on, beside the cpu.
typedef struct bb_device_offer {
    const char *work; ///< "the tile Cholesky of ao", for messages
    unsigned kinds;   ///< sum of BB_DEVICE_OFFER: devices that have its kernels
} bb_device_offer;

#define BB_DEVICE_OFFER(kind) (1U << (unsigned)(kind))

/// A pipeline's wish, or the study's where it has none (-1). A bb_device_kind or BB_DEVICE_AUTO.
int bb_device_choice_wish(int study_device, int pipeline_device);

/// Of experiments without opencl kernels: adds a problem for device opencl, whatever this machine
/// has; `path` is its key, "device" or "pipelines.0.device". -1 is no wish.
BB_CHECKED bb_status bb_device_choice_check(const char *path, int device, const bb_config *config,
                                            bb_problems *problems);

/// What BB_DEVICE_AUTO comes to on this host: the last kind of the offer that is present, else the
/// cpu; never opencl, whose devices may be the cpu again. Any other wish is returned as it is.
bb_device_kind bb_device_choice_resolve(const bb_device_offer *offer, int wish);

/// The device of a pipeline. Errors: BB_DEVICE (absent, with the reason), BB_UNSUPPORTED (no
/// kernels for it).
BB_CHECKED bb_status bb_device_choice_make(const bb_device_offer *offer, int study_device,
                                           int pipeline_device, bb_device_kind *out);

/// Logs what `auto` of the study comes to, and why it is not a faster device; nothing where the
/// study names a device.
void bb_device_choice_announce(const bb_device_offer *offer, int study_device);

#endif
