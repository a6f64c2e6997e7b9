// SPDX-License-Identifier: Apache-2.0
//
// Stands in for noise_source_cuda.cu in a build without CUDA, where no cuda device opens.
#include "sim/bench/noise_source.h"

bb_status bb_noise_fill_cuda(const bb_device_source *source, void *stream, bb_index row,
                             bb_index column, bb_view out)
{
    (void)stream;
    (void)row;
    (void)column;
    (void)out;
    return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__, "matrix %s: this build has no CUDA",
                         source->name);
}
