// SPDX-License-Identifier: Apache-2.0
#include "bench/noise_source.h"

#include "bench/noise_core.h"
#include "core/memory.h"

#include <math.h>

bb_noise bb_noise_make(bb_index n)
{
    return (bb_noise){.scale = sqrt(3.0 / (double)n) / 2.5};
}

static bb_status fill(const bb_matrix_source *source, bb_index row, bb_index column, bb_view out)
{
    const bb_noise *noise = source->context;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = (double *)out.data + i * out.strides[0];
        for (bb_index j = 0; j < out.shape[1]; ++j) {
            values[j] = bb_noise_entry(noise->scale, row + i, column + j);
        }
    }
    return BB_OK;
}

static bb_status create_twin(const bb_matrix_source *source, bb_device *device,
                             bb_device_source **out)
{
    (void)source; // the twin's `host`
    BB_RETURN_IF_FAILED(BB_ZEROED(1, out));
    **out = (bb_device_source){.device = device, .fill = BB_CUDA_TWIN(bb_noise_fill_cuda)};
    return BB_OK;
}

bb_matrix_source bb_noise_source(const bb_noise *noise, bb_index n)
{
    return (bb_matrix_source){.rows = n,
                              .columns = n,
                              .symmetric = true,
                              .name = "random",
                              .unit = "1",
                              .fill = fill,
                              .twin = create_twin,
                              .context = noise};
}
