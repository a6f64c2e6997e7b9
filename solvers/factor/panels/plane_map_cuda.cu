// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps of half-precision planes for bulk copies.
#include "solvers/factor/panels/split_product_cuda.h"

#include <cudaTypedefs.h>

bb_status bb_plane_cuda_describe(__half *values, bb_index rows, bb_index columns, bb_index stride,
                                 bb_index box_rows, bb_plane_cuda *out)
{
    static PFN_cuTensorMapEncodeTiled_v12000 encode = nullptr;
    bool hopper = false;
    BB_RETURN_IF_FAILED(bb_device_cuda_uses_hopper(&hopper));
    *out = bb_plane_cuda{values, rows, columns, stride, {}};
    out->map.values = values;
    out->map.rows = static_cast<int>(rows);
    out->map.stride = static_cast<int>(stride);
    if (!hopper) {
        return BB_OK;
    }
    if (encode == nullptr) {
        void *entry = nullptr;
        cudaDriverEntryPointQueryResult found;
        BB_CUDA_TRY(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000,
                                                     cudaEnableDefault, &found));
        if (found != cudaDriverEntryPointSuccess) {
            return bb_status_set(BB_DEVICE, __FILE__, __LINE__,
                                 "the CUDA driver does not export cuTensorMapEncodeTiled");
        }
        encode = reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(entry);
    }
    const cuuint64_t extents[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
    const cuuint64_t strides[1] = {static_cast<cuuint64_t>(stride) * sizeof(__half)};
    const cuuint32_t box[2] = {64, static_cast<cuuint32_t>(box_rows)};
    const cuuint32_t steps[2] = {1, 1};
    const CUresult result =
        encode(&out->map.boxes, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, values, extents, strides, box,
               steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) {
        return bb_status_set(BB_DEVICE, __FILE__, __LINE__,
                             "tensor map of a %td x %td plane: CUDA driver error %d", rows, columns,
                             static_cast<int>(result));
    }
    return BB_OK;
}
