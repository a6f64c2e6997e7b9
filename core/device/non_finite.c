// SPDX-License-Identifier: Apache-2.0
#include "core/device/non_finite.h"

#include <math.h>

static bb_status count_range(bb_queue *queue, bb_index begin, bb_index end, void *context)
{
    (void)queue;
    const bb_non_finite_arguments *arguments = context;
    uint64_t found = 0;
    for (bb_index i = begin; i < end; ++i) {
        double value = arguments->type == BB_F64 ? ((const double *)arguments->values)[i]
                                                 : (double)((const float *)arguments->values)[i];
        found += !isfinite(value);
    }
    (void)__atomic_fetch_add(arguments->found, found, __ATOMIC_RELAXED);
    return BB_OK;
}

static const bb_kernel kernel = {.name = "non_finite",
                                 .grain = 65536,
                                 .run[BB_DEVICE_CPU] = count_range,
                                 .run[BB_DEVICE_CUDA] = BB_CUDA_TWIN(bb_non_finite_cuda)};

bb_status bb_non_finite_count(bb_device *device, const void *values, bb_type type, bb_index count,
                              uint64_t *out)
{
    bb_status status = BB_OK;
    void *found = NULL;
    BB_REQUIRE(type == BB_F64 || type == BB_F32, BB_INVALID, "type %s, expected f64 or f32",
               bb_type_name(type));
    BB_TRY(bb_device_allocate(device, sizeof *out, &found));
    BB_TRY(bb_device_zero(device, found, sizeof *out));
    bb_non_finite_arguments arguments = {values, type, found};
    BB_TRY(bb_device_launch(device, &kernel, count, &arguments));
    BB_TRY(bb_device_download(device, out, found, sizeof *out));
done:
    bb_device_release(device, &found);
    return status;
}
