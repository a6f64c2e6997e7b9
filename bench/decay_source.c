// SPDX-License-Identifier: Apache-2.0
#include "bench/decay_source.h"

#include "core/memory.h"

const bb_decay bb_decay_matrix = {.step = 1.0, .ridge = 0.1};

static bb_status fill(const bb_matrix_source *source, bb_index row, bb_index column, bb_view out)
{
    const bb_decay *decay = source->context;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = (double *)out.data + i * out.strides[0];
        double place = decay->step * (double)(row + i) + decay->shift;
        for (bb_index j = 0; j < out.shape[1]; ++j) {
            double distance = (place - (double)(column + j)) / 32.0;
            values[j] = 1.0 / (1.0 + distance * distance) + (distance == 0.0 ? decay->ridge : 0.0);
        }
    }
    return BB_OK;
}

static bb_status create_twin(const bb_matrix_source *source, bb_device *device,
                             bb_device_source **out)
{
    (void)source; // the twin's `host`
    BB_RETURN_IF_FAILED(BB_ZEROED(1, out));
    **out = (bb_device_source){.device = device, .fill = BB_CUDA_TWIN(bb_decay_fill_cuda)};
    return BB_OK;
}

bb_matrix_source bb_decay_source(const bb_decay *decay, bb_index rows, bb_index columns,
                                 const char *name)
{
    return (bb_matrix_source){.rows = rows,
                              .columns = columns,
                              .symmetric =
                                  rows == columns && decay->step == 1.0 && decay->shift == 0.0,
                              .name = name,
                              .unit = "1",
                              .fill = fill,
                              .twin = create_twin,
                              .context = decay};
}
