// SPDX-License-Identifier: Apache-2.0
//
// Stands in for decay_source_cuda.cu in a build without CUDA, where no cuda device opens.
#include "sim/bench/decay_source.h"

bb_status bb_decay_fill_cuda(const bb_device_source *source, void *stream, bb_index row,
                             bb_index column, bb_view out)
{
    (void)stream;
    (void)row;
    (void)column;
    (void)out;
    return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__, "matrix %s: this build has no CUDA",
                         source->name);
}
