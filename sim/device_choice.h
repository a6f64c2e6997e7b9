// SPDX-License-Identifier: Apache-2.0
//
// Which device a pipeline computes on: its own wish, else the study's. A device that is absent or
// that lacks the kernels is an error; only `auto` chooses, and it says what.
#ifndef BB_SIM_DEVICE_CHOICE_H
#define BB_SIM_DEVICE_CHOICE_H

#include "core/device/device.h"
#include "sim/study.h"

/// What an experiment can compute on, beside the cpu.
typedef struct bb_device_offer {
    const char *work; ///< "the tile Cholesky of ao", for messages
    bool cuda;        ///< its kernels have cuda twins
} bb_device_offer;

/// `pipeline_device` is a bb_study_device or -1 for the study's. Errors: BB_DEVICE (absent, with
/// the reason), BB_UNSUPPORTED (no kernels for it).
BB_CHECKED bb_status bb_device_choose(const bb_device_offer *offer, int study_device,
                                      int pipeline_device, bb_device_kind *out);

/// Logs what `auto` of the study comes to, and why it is not a faster device; nothing where the
/// study names a device.
void bb_device_announce(const bb_device_offer *offer, int study_device);

#endif
