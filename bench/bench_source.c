// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_source.h"

#include "core/memory.h"

#include <math.h>

const bb_decay bb_decay_matrix = {.step = 1.0, .ridge = 0.1};

static bb_status fill_decay(const bb_matrix_source *source, bb_index row, bb_index column,
                            bb_view out)
{
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = (double *)out.data + i * out.strides[0];
        for (bb_index j = 0; j < out.shape[1]; ++j) {
            values[j] = bb_decay_entry(*(const bb_decay *)source->context, row + i, column + j);
        }
    }
    return BB_OK;
}

static bb_status fill_noise(const bb_matrix_source *source, bb_index row, bb_index column,
                            bb_view out)
{
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = (double *)out.data + i * out.strides[0];
        for (bb_index j = 0; j < out.shape[1]; ++j) {
            values[j] = bb_noise_entry(*(const bb_noise *)source->context, row + i, column + j);
        }
    }
    return BB_OK;
}

static bb_status create_twin(const bb_matrix_source *source, bb_device *device,
                             bb_device_source **out)
{
    static const bb_device_fill fills[] = {BB_CUDA_TWIN(bb_decay_fill_cuda),
                                           BB_CUDA_TWIN(bb_noise_fill_cuda)};
    BB_RETURN_IF_FAILED(BB_ZEROED(1, out));
    **out = (bb_device_source){.device = device, .fill = fills[source->fill == fill_noise]};
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
                              .fill = fill_decay,
                              .twin = create_twin,
                              .context = decay};
}

bb_matrix_source bb_noise_source(bb_noise *noise, bb_index n)
{
    noise->scale = sqrt(3.0 / (double)n) / 2.5;
    return (bb_matrix_source){.rows = n,
                              .columns = n,
                              .symmetric = true,
                              .name = "random",
                              .unit = "1",
                              .fill = fill_noise,
                              .twin = create_twin,
                              .context = noise};
}
