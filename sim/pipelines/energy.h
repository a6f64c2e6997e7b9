// SPDX-License-Identifier: Apache-2.0
//
// Energy measurements of a run's pipelines and of benchmarks (`--energy`). Each repeats its work
// until the counter of its device has advanced often enough (core/device/energy.h). Otherwise
// energies stay NaN and nothing is repeated.
#ifndef BB_SIM_PIPELINES_ENERGY_H
#define BB_SIM_PIPELINES_ENERGY_H

#include "core/device/energy.h"
#include "sim/pipelines/evaluation.h"

/// Turns energy measurements on or off.
void bb_energy_enable(bool wanted);

/// True if energy measurements are on.
bool bb_energy_is_enabled(void);

/// Measures the energy of `work` on this process's device of that kind, if measurements are on.
/// With NaN joules the reason is in `unknown`, valid until bb_energy_note. Errors: from `work`,
/// BB_MEMORY.
BB_CHECKED bb_status bb_energy_measure_cost(bb_device_kind device, bb_status (*work)(void *context),
                                            void *context, bb_energy_cost *out);

/// Name of the energy counter of a kind of device.
const char *bb_energy_counter(bb_device_kind device);

/// Measures `work` as bb_energy_measure_cost, and adds the joules of one repetition to an
/// evaluation, with the idle power before it. NaN without a counter. Errors: from `work`,
/// BB_MEMORY.
BB_CHECKED bb_status bb_energy_measure(bb_device_kind device, bb_status (*work)(void *context),
                                       void *context, bb_evaluation *evaluation);

/// Notes in /provenance which counters measured energies, or why none did, and closes the meters.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_energy_note(bb_results *results);

#endif
