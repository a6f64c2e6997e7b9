// SPDX-License-Identifier: Apache-2.0
//
// The peer of the factorizations in fp16 operands: the loop of library calls that whoever knows
// cuBLAS and cuSOLVER would write. Left-looking by panels: a panel in fp32 takes the update of all
// before it as one cublasGemmEx of fp16 operands and fp32 sums; cuSOLVER's potrf factors its
// diagonal block; the block's inverse by strsm, and one more product of fp16 operands gives the
// panel of L, which is kept in fp16.
#ifndef BB_BENCH_PEERS_LIBRARY_LOOP_H
#define BB_BENCH_PEERS_LIBRARY_LOOP_H

#include "core/device/device_source.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Seconds of the loop by the device's clock, without the kernels that fill the panels: it takes
/// 2 n^2 + 10 n panel bytes and the libraries' workspaces on the source's device, and frees them.
/// Errors: BB_UNSUPPORTED (a library cannot be loaded, or a block broke down), BB_MEMORY,
/// BB_DEVICE.
BB_CHECKED bb_status bb_library_loop_time(const bb_device_source *matrix, bb_index panel,
                                          double *seconds);

#ifdef __cplusplus
}
#endif

#endif
