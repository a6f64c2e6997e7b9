// SPDX-License-Identifier: Apache-2.0
//
// Energy of a piece of work, from the hardware's own counters.
//
//   cpu   RAPL: the packages and memories of the host, below /sys/class/powercap, in microjoules
//         that wrap around; usually readable by root only
//   cuda  NVML's energy counter of the GPU (since Volta), in millijoules
//
// Gross energy: everything that the counters register during the work, idle power included. The
// power before the work is reported too.
#ifndef BB_CORE_DEVICE_ENERGY_H
#define BB_CORE_DEVICE_ENERGY_H

#include "core/device/device.h"

typedef struct bb_energy_meter bb_energy_meter;

/// The meter of a device. If there is no readable counter, `*out` is NULL and `reason` gives the
/// cause, without an error. Errors: BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_energy_meter_open(bb_device *device, char *reason, size_t reason_bytes,
                                          bb_energy_meter **out);
void bb_energy_meter_close(bb_energy_meter **meter);

/// Reads the joules since the meter was opened. Errors: BB_DEVICE (a counter disappeared).
BB_CHECKED bb_status bb_energy_meter_read(bb_energy_meter *meter, double *joules);

/// Sets the folder with the RAPL counters; NULL: /sys/class/powercap. The text must outlive its
/// use.
void bb_energy_set_root(const char *folder);

/// Energy of a piece of work.
typedef struct bb_energy_cost {
    double joules;        ///< gross energy of one repetition
    double idle_watts;    ///< power before the meter's first work
    bb_index repetitions; ///< number of repetitions
    const char *unknown;  ///< why the joules are NaN; NULL if they are not
} bb_energy_cost;

enum { BB_ENERGY_TICKS = 20 }; ///< shortest measurement, in moves of the counter

/// Repeats `work`, at least once, until the counter has moved BB_ENERGY_TICKS times, from one move
/// of the counter to another; subtracts the idle energy up to the last move. A counter that wraps
/// around is read between repetitions, so that each wraparound is counted. The joules are NaN if
/// the counter does not move within seconds, or if a repetition is so long that a package of a
/// kilowatt could wrap its counter twice (262 kJ in 262 s, or 65 kJ in 65 s). Errors: those of
/// `work` and of bb_energy_meter_read.
BB_CHECKED bb_status bb_energy_meter_measure(bb_energy_meter *meter,
                                             bb_status (*work)(void *context), void *context,
                                             bb_energy_cost *out);

#endif
