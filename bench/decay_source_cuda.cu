// SPDX-License-Identifier: Apache-2.0
#include "bench/decay_source.h"
#include "bench/entry_fill_cuda.h"

namespace
{

struct decay_entry {
    bb_decay decay;

    __device__ double operator()(bb_index row, bb_index column) const
    {
        const double place = decay.step * static_cast<double>(row) + decay.shift;
        const double distance = (place - static_cast<double>(column)) / 32.0;
        return 1.0 / (1.0 + distance * distance) + (distance == 0.0 ? decay.ridge : 0.0);
    }
};

} // namespace

extern "C" bb_status bb_decay_fill_cuda(const bb_device_source *source, bb_queue *stream,
                                        bb_index row, bb_index column, bb_view out)
{
    const decay_entry entry = {*static_cast<const bb_decay *>(source->host->context)};
    return bb_entry_fill::run(entry, stream, row, column, out);
}
