// SPDX-License-Identifier: Apache-2.0
//
// Ceilings of a device: copy, read, and fused multiply-add from registers, by kernels compiled like
// others (core/device/build.h), so that OpenCL and CUDA have the same reference.
#ifndef BB_BENCH_DEVICE_CEILING_H
#define BB_BENCH_DEVICE_CEILING_H

#include "core/device/build.h"

typedef struct bb_device_ceiling bb_device_ceiling;

/// Allocates memory for copies that move `bytes` bytes, half of them reads, or for reads of
/// `bytes`. Errors: from bb_build_create; BB_UNSUPPORTED on the cpu, whose ceilings are in
/// ceiling.h. The caller owns `*out`.
BB_CHECKED bb_status bb_device_ceiling_create(bb_device *device, double bytes,
                                              bb_device_ceiling **out);
void bb_device_ceiling_destroy(bb_device_ceiling **ceiling);

/// Time in s of one copy or read of all bytes.
BB_CHECKED bb_status bb_device_ceiling_measure(bb_device_ceiling *ceiling, bool reads,
                                               double *seconds);

/// Measures chains of fma: operations per second, two for each fma, in binary64 if `is_double`,
/// else in binary32.
BB_CHECKED bb_status bb_device_ceiling_peak(bb_device_ceiling *ceiling, bool is_double,
                                            double *flops_per_s);

#endif
