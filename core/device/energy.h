// SPDX-License-Identifier: Apache-2.0
//
// Joules that a machine draws, by counters of its own, and what a piece of work takes of them.
//
//   cpu   RAPL: the packages and memories of the host, below /sys/class/powercap, in microjoules
//         that wrap around; as a rule readable by root alone
//   cuda  NVML's energy counter of the GPU (since Volta), in millijoules
//
// Gross energy: everything that the counters register during the work, idle power included. The
// power before the work is reported too.
#ifndef BB_CORE_DEVICE_ENERGY_H
#define BB_CORE_DEVICE_ENERGY_H

#include "core/device/device.h"

typedef struct bb_energy_meter bb_energy_meter;

/// The meter of a device. Where there is none that can be read `*out` is NULL and `reason` says
/// why: no error. Errors: BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_energy_meter_open(bb_device *device, char *reason, size_t reason_bytes,
                                          bb_energy_meter **out);
void bb_energy_meter_close(bb_energy_meter **meter);

/// Joules since it was opened. Errors: BB_DEVICE (a counter that was there is gone).
BB_CHECKED bb_status bb_energy_meter_read(bb_energy_meter *meter, double *joules);

/// The folder below which RAPL's counters lie, NULL: /sys/class/powercap. The text has to outlive
/// its use.
void bb_energy_set_root(const char *folder);

/// What a piece of work draws.
typedef struct bb_energy_cost {
    double joules;        ///< of one repetition, gross
    double idle_watts;    ///< drawn before the meter's first work
    bb_index repetitions; ///< that it took
    const char *unknown;  ///< why the joules are NaN, NULL where they are not
} bb_energy_cost;

enum { BB_ENERGY_TICKS = 20 }; ///< of the counter, that a measurement lasts at least

/// Repeats `work` until the counter has moved BB_ENERGY_TICKS times, at least once, from one move
/// of the counter to another; what it drew idle until the last one is taken off. A counter that
/// wraps around is read between repetitions, so that each of its ends is seen. The joules are NaN
/// where the counter does not move within seconds, and where a repetition lasts so long that a
/// package of a kilowatt could pass the end of its counter twice (of 262 kJ in 262 s, of 65 kJ in
/// 65 s). Errors: those of `work` and of bb_energy_meter_read.
BB_CHECKED bb_status bb_energy_meter_measure(bb_energy_meter *meter,
                                             bb_status (*work)(void *context), void *context,
                                             bb_energy_cost *out);

#endif
