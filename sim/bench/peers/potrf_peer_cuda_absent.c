// SPDX-License-Identifier: Apache-2.0
//
// Stands in for potrf_peer_cuda.cu in a build without CUDA, where no cuda device opens.
#include "sim/bench/peers/potrf_peer.h"

bb_status bb_potrf_peer_time(const bb_device_source *matrix, double *seconds)
{
    (void)matrix;
    (void)seconds;
    return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__, "cuSOLVER: this build has no CUDA");
}
