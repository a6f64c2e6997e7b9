// SPDX-License-Identifier: Apache-2.0
//
// Peers of factorizations by panels: cuSOLVER's potrf on one cuda device, and cusolverMpPotrf on
// two, lower triangle, called as recommended for one process: one thread and handle for each
// device, joined by NCCL, with block rows of the matrix distributed cyclically (a grid of 2 x 1)
// and filled in place.
#ifndef BB_BENCH_PANELS_PANEL_PEERS_H
#define BB_BENCH_PANELS_PANEL_PEERS_H

#include "core/device/device_source.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Time in s of cusolverDnXpotrf only, by the device's clock, on the matrix of a source in fp32: it
/// allocates 4 n^2 bytes and cuSOLVER's workspace on the source's device, and frees them. Errors:
/// BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_panel_peers_potrf(const bb_device_source *matrix, double *seconds);

enum { BB_CUSOLVERMP_GPUS = 2 };

typedef struct bb_cusolvermp_peer bb_cusolvermp_peer;

/// Loads the libraries and allocates n^2 / 2 values and a workspace on each device. `matrices` are
/// sources of one symmetric matrix on different devices, `scale` [n] the diagonal of D on the host,
/// copied; `type` of values and arithmetic is BB_F32 or BB_F64. Errors: BB_UNSUPPORTED (no library,
/// with what to install), BB_MEMORY, BB_DEVICE. The caller owns `*out` and destroys it before the
/// sources.
BB_CHECKED bb_status bb_cusolvermp_peer_create(
    const bb_device_source *const matrices[BB_CUSOLVERMP_GPUS], const double *scale, bb_type type,
    bb_index block, bb_cusolvermp_peer **out);
void bb_cusolvermp_peer_destroy(bb_cusolvermp_peer **peer);

/// Fills D A D and factors it. Sets the time in s of cusolverMpPotrf only: the longer of both
/// devices, by their clocks. Errors: BB_DEVICE, BB_INTERNAL (not positive definite).
BB_CHECKED bb_status bb_cusolvermp_peer_factor(bb_cusolvermp_peer *peer, double *seconds);

/// Copies the diagonal of L of D A D to `out` [n] on the host. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_cusolvermp_peer_pivots(const bb_cusolvermp_peer *peer, double *out);

/// Returns the versions in the libraries' numbering: 901 is cuSOLVERMp 0.9.1, 22907 is NCCL 2.29.7.
void bb_cusolvermp_peer_versions(const bb_cusolvermp_peer *peer, int *solver, int *nccl);

#ifdef __cplusplus
}
#endif

#endif
