// SPDX-License-Identifier: Apache-2.0
//
// The peer of the factorizations on a cuda device: cuSOLVER's potrf in fp32, lower triangle.
#ifndef BB_BENCH_PANELS_POTRF_PEER_H
#define BB_BENCH_PANELS_POTRF_PEER_H

#include "core/device/device_source.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Seconds of cusolverDnXpotrf alone, by the device's clock, on the matrix of a source in fp32: it
/// takes 4 n^2 bytes and cuSOLVER's workspace on the source's device, and frees them. Errors:
/// BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_potrf_peer_time(const bb_device_source *matrix, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
