// SPDX-License-Identifier: Apache-2.0
#include "bench/entry_fill_cuda.h"
#include "bench/noise_core.h"
#include "bench/noise_source.h"

namespace
{

struct noise_entry {
    double scale;

    __device__ double operator()(bb_index row, bb_index column) const
    {
        return bb_noise_entry(scale, row, column);
    }
};

} // namespace

extern "C" bb_status bb_noise_fill_cuda(const bb_device_source *source, bb_queue *stream,
                                        bb_index row, bb_index column, bb_view out)
{
    const noise_entry entry = {static_cast<const bb_noise *>(source->host->context)->scale};
    return bb_entry_fill::run(entry, stream, row, column, out);
}
