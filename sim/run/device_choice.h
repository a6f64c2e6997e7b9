// SPDX-License-Identifier: Apache-2.0
//
// Device of a pipeline: its own, else the study's. A device that is absent or lacks the kernels is
// an error; only `auto` selects one, and its choice is logged.
#ifndef BB_SIM_RUN_DEVICE_CHOICE_H
#define BB_SIM_RUN_DEVICE_CHOICE_H

#include "core/device/device.h"
#include "sim/run/study.h"

/// Devices that can run a piece of work, in addition to the cpu.
typedef struct bb_device_offer {
    const char *work; ///< "the tile Cholesky of ao", for messages
    unsigned kinds;   ///< sum of BB_DEVICE_OFFER: devices with kernels for it
} bb_device_offer;

#define BB_DEVICE_OFFER(kind) (1U << (unsigned)(kind))

/// Minimum sizes of work for which `auto` selects cuda. For unwrapping, `auto` always selects it.
#define BB_DEVICE_CHOICE_ORDER  3500 ///< rows of a factored matrix (performance.md, 6)
#define BB_DEVICE_CHOICE_VALUES 4e9  ///< values of multiplied matrices (performance.md, 6)
#define BB_DEVICE_CHOICE_ROWS   7e7  ///< values of matrices with rows computed for each product

/// Reasons why pipelines cannot run on their device.
typedef struct bb_device_gaps {
    bb_index count;
    const char *names[BB_STUDY_PIPELINES];
    char reasons[BB_STUDY_PIPELINES][256]; ///< and the remedy; "": the device is supported
} bb_device_gaps;

/// Device of a pipeline, or of the study if the pipeline has none (-1). A bb_device_kind or
/// BB_DEVICE_AUTO; `auto` gives the cpu if the study's device is marked as small work
/// (bb_device_choice_by_size).
int bb_device_choice_wish(int study_device, int pipeline_device);

/// For experiments without opencl kernels: adds a problem for device opencl, independent of this
/// machine; `path` is its key, "device" or "pipelines.0.device". -1 is an unset device.
BB_CHECKED bb_status bb_device_choice_check(const char *path, int device, const bb_config *config,
                                            bb_problems *problems);

/// Adds one problem for each reason, with the names of its pipelines. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_device_choice_refuse(const bb_device_gaps *gaps, const bb_config *config,
                                             bb_problems *problems);

/// Refuses a device, given by name, that is absent from this host or build; accepts NULL and other
/// words. Errors: BB_DEVICE with the reason.
BB_CHECKED bb_status bb_device_choice_require(const char *name);

/// Logs that a device is absent from this host, for a plan for another host; this is not an error.
bb_status bb_device_choice_note(const char *name);

/// The study's device, marked if `size` is below `least`, too small for a device. Only
/// bb_device_choice_wish reads the mark.
int bb_device_choice_by_size(int study_device, double size, double least);

/// Resolves BB_DEVICE_AUTO on this host: the last kind of the offer that is present, else the cpu;
/// never opencl, which may again be the cpu. Other devices are returned unchanged.
bb_device_kind bb_device_choice_resolve(const bb_device_offer *offer, int wish);

/// Device of a plan of runs: a named one, else cuda if a run uses device memory, since a run's plan
/// resolves `auto` as the run does.
bb_device_kind bb_device_choice_of_plan(int study_device, double device_bytes);

/// Device of a pipeline. Errors: BB_DEVICE (absent, with the reason), BB_UNSUPPORTED (no kernels
/// for it).
BB_CHECKED bb_status bb_device_choice_make(const bb_device_offer *offer, int study_device,
                                           int pipeline_device, bb_device_kind *out);

/// Logs the device selected by the study's `auto`, and why a faster one was not selected; nothing
/// if the study names a device. `by_size` is the result of bb_device_choice_by_size.
void bb_device_choice_announce(const bb_device_offer *offer, int study_device, int by_size);

#endif
