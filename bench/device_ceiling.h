// SPDX-License-Identifier: Apache-2.0
//
// Ceilings of a device: a copy, a read, and fused products and sums from registers, by texts of its
// own compiled as kernels are (core/device/build.h), so that OpenCL and CUDA are held to the same.
#ifndef BB_BENCH_DEVICE_CEILING_H
#define BB_BENCH_DEVICE_CEILING_H

#include "core/device/build.h"

typedef struct bb_device_ceiling bb_device_ceiling;

/// Room for copies that move `bytes` bytes, half of them read, or for reads of `bytes`. Errors:
/// those of bb_build_create; BB_UNSUPPORTED on the cpu, whose ceilings are in ceiling.h. Owner: the
/// caller.
BB_CHECKED bb_status bb_device_ceiling_create(bb_device *device, double bytes,
                                              bb_device_ceiling **out);
void bb_device_ceiling_destroy(bb_device_ceiling **ceiling);

/// Seconds of one copy or read of all bytes.
BB_CHECKED bb_status bb_device_ceiling_measure(bb_device_ceiling *ceiling, bool reads,
                                               double *seconds);

/// Operations a second of chains of fma, two an fma, in binary64 where `is_double`, else in
/// binary32.
BB_CHECKED bb_status bb_device_ceiling_peak(bb_device_ceiling *ceiling, bool is_double,
                                            double *flops_per_s);

#endif
