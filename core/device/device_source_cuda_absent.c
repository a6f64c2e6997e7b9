// SPDX-License-Identifier: Apache-2.0
//
// Stands in for device_source_cuda.cu in a build without CUDA, where no cuda device opens.
#include "core/device/device_source.h"

bb_status bb_device_source_copy_block(const bb_device_source *source, void *stream, bb_index row,
                                      bb_index column, bb_view out);

bb_status bb_device_source_copy_block(const bb_device_source *source, void *stream, bb_index row,
                                      bb_index column, bb_view out)
{
    (void)stream;
    (void)row;
    (void)column;
    (void)out;
    return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__, "matrix %s: this build has no CUDA",
                         source->name);
}
