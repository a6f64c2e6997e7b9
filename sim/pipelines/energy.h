// SPDX-License-Identifier: Apache-2.0
//
// Joules of a run's pipelines and of benchmarks, where they were asked for (`--energy`): each
// repeats its work until the counter of its device has moved often enough (core/device/energy.h).
// Without, energies stay NaN and nothing is repeated.
#ifndef BB_SIM_PIPELINES_ENERGY_H
#define BB_SIM_PIPELINES_ENERGY_H

#include "core/device/energy.h"
#include "sim/pipelines/evaluation.h"

/// From now on energies are measured, or not.
void bb_energy_enable(bool wanted);

/// Whether they are.
bool bb_energy_is_enabled(void);

/// What `work` draws on a device, the one of its kind that this process computes on, where energies
/// are wanted. Joules that are NaN have their reason in `unknown`, which lasts until
/// bb_energy_note. Errors: those of `work`, BB_MEMORY.
BB_CHECKED bb_status bb_energy_measure_cost(bb_device_kind device, bb_status (*work)(void *context),
                                            void *context, bb_energy_cost *out);

/// What counts the joules of a kind of device.
const char *bb_energy_counter(bb_device_kind device);

/// Adds what `work` draws on a device, the one of its kind as above, to an evaluation, where
/// energies are wanted: joules of one repetition, and the power before it. Where the device has no
/// counter they stay NaN. Errors: those of `work`, BB_MEMORY.
BB_CHECKED bb_status bb_energy_measure(bb_device_kind device, bb_status (*work)(void *context),
                                       void *context, bb_evaluation *evaluation);

/// Says in /provenance by which counters energies were measured, or why not; lets go of the meters.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_energy_note(bb_results *results);

#endif
