// SPDX-License-Identifier: Apache-2.0
//
// Which device a pipeline computes on: its own wish, else the study's. A device that is absent or
// that lacks the kernels is an error; only `auto` chooses, and it says what.
#ifndef BB_SIM_RUN_DEVICE_CHOICE_H
#define BB_SIM_RUN_DEVICE_CHOICE_H

#include "core/device/device.h"
#include "sim/run/study.h"

/// What a piece of work can be computed on, beside the cpu.
typedef struct bb_device_offer {
    const char *work; ///< "the tile Cholesky of ao", for messages
    unsigned kinds;   ///< sum of BB_DEVICE_OFFER: devices that have its kernels
} bb_device_offer;

#define BB_DEVICE_OFFER(kind) (1U << (unsigned)(kind))

/// Sizes of work from which `auto` takes cuda. Unwrapping takes it always.
#define BB_DEVICE_CHOICE_ORDER  3500 ///< rows of a factored matrix (performance.md, 6)
#define BB_DEVICE_CHOICE_VALUES 4e9  ///< of matrices that are multiplied (performance.md, 6)
#define BB_DEVICE_CHOICE_ROWS   7e7  ///< of those whose rows are made where they are multiplied

/// Why pipelines have no form on the device that they are put on.
typedef struct bb_device_gaps {
    bb_index count;
    const char *names[BB_STUDY_PIPELINES];
    char reasons[BB_STUDY_PIPELINES][256]; ///< and what to do; "": the device has one
} bb_device_gaps;

/// A pipeline's wish, or the study's where it has none (-1). A bb_device_kind or BB_DEVICE_AUTO;
/// `auto` of either is the cpu where the study's device is marked as of small work
/// (bb_device_choice_by_size).
int bb_device_choice_wish(int study_device, int pipeline_device);

/// Of experiments without opencl kernels: adds a problem for device opencl, whatever this machine
/// has; `path` is its key, "device" or "pipelines.0.device". -1 is no wish.
BB_CHECKED bb_status bb_device_choice_check(const char *path, int device, const bb_config *config,
                                            bb_problems *problems);

/// Adds one problem for each reason, with the names of its pipelines. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_device_choice_refuse(const bb_device_gaps *gaps, const bb_config *config,
                                             bb_problems *problems);

/// Refuses a device that this host or build lacks, by its name; NULL and other words pass. Errors:
/// BB_DEVICE with the reason.
BB_CHECKED bb_status bb_device_choice_require(const char *name);

/// Logs that a device is absent from this host where a plan is made for one that may have it; no
/// error.
bb_status bb_device_choice_note(const char *name);

/// The study's device, marked where its work is smaller than `least`, too small for a device. Only
/// bb_device_choice_wish reads the mark.
int bb_device_choice_by_size(int study_device, double size, double least);

/// What BB_DEVICE_AUTO comes to on this host: the last kind of the offer that is present, else the
/// cpu; never opencl, whose devices may be the cpu again. Any other wish is returned as it is.
bb_device_kind bb_device_choice_resolve(const bb_device_offer *offer, int wish);

/// The device of a plan of runs: a named one, else cuda where a run takes memory of a device, since
/// a run's plan resolves `auto` as the run does.
bb_device_kind bb_device_choice_of_plan(int study_device, double device_bytes);

/// The device of a pipeline. Errors: BB_DEVICE (absent, with the reason), BB_UNSUPPORTED (no
/// kernels for it).
BB_CHECKED bb_status bb_device_choice_make(const bb_device_offer *offer, int study_device,
                                           int pipeline_device, bb_device_kind *out);

/// Logs what `auto` of the study comes to, and why it is not a faster device; nothing where the
/// study names a device. `by_size` is what bb_device_choice_by_size left of it.
void bb_device_choice_announce(const bb_device_offer *offer, int study_device, int by_size);

#endif
