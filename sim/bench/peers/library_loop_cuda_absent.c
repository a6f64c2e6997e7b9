// SPDX-License-Identifier: Apache-2.0
//
// Stands in for library_loop_cuda.cu in a build without CUDA, where no cuda device opens.
#include "sim/bench/peers/library_loop.h"

bb_status bb_library_loop_time(const bb_device_source *matrix, bb_index panel, double *seconds)
{
    (void)matrix;
    (void)panel;
    (void)seconds;
    return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__, "cuBLAS: this build has no CUDA");
}
