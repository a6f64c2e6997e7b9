// SPDX-License-Identifier: Apache-2.0
//
// Kernel arguments of a slope covariance, for slope_covariance_cuda.cu (launches) and
// slope_covariance_kernels_cuda.cu (kernels). Pointers are to device memory.
#ifndef BB_PHYSICS_AO_COVARIANCE_SLOPE_COVARIANCE_KERNELS_CUDA_H
#define BB_PHYSICS_AO_COVARIANCE_SLOPE_COVARIANCE_KERNELS_CUDA_H

#include "core/array.h"
#include "physics/ao/covariance/measurement_noise.h"
#include "physics/ao/covariance/slope_patch_core.h"

#include <cuda_runtime.h>

/// Intervals of the structure function that a thread block keeps in shared memory.
enum { BB_DIRECT_OCTAVES = 16, BB_DIRECT_INTERVALS = BB_DIRECT_OCTAVES << BB_STRUCTURE_SPLIT_BITS };

/// Slopes of one sensor and axis.
struct bb_direct_side {
    bb_slope_segment segment;
    bb_sensor_frame frame;
    const bb_sensor_layer *layer; ///< [layers]
};

/// A block between two sensors without a displacement table.
struct bb_direct_job {
    bb_direct_side side[2]; ///< rows, columns
    bb_structure_table structure;
    int window;             ///< first of the BB_DIRECT_INTERVALS
    const double *strength; ///< averaged gradients on either side, else point differences
    int layers;
    double unit;
    bool averaged; ///< averaged gradients on either side, else point differences
    bool swapped;  ///< the columns' edges come first, see slope_covariance_pairs.h
    void *out;
    int64_t stride;
};

/// A block between two sensors with a displacement table.
struct bb_table_job {
    const double *values;
    const int32_t *row_site, *column_site;
    int rows, columns, centre;
    int sign;                    ///< of the displacement row - column
    const bb_slope_noise *noise; ///< for the row's first subaperture, NULL for two sensors
    int noise_axes;              ///< 0 xx, 1 yy, 2 xy
    int shift;                   ///< row's first subaperture minus the column's
    double tilt;
    void *out;
    int64_t stride;
};

/// Enables the required shared memory for the kernels on the current device. Errors: BB_DEVICE.
bb_status bb_slope_covariance_kernels_prepare(void);

/// Fills `out` of a job in entries of `type`, BB_F64 or BB_F32, without waiting. Errors: BB_DEVICE.
bb_status bb_slope_covariance_fill_directly(const bb_direct_job *job, bb_type type,
                                            cudaStream_t stream);
bb_status bb_slope_covariance_fill_from_table(const bb_table_job *job, bb_type type,
                                              cudaStream_t stream);

#endif
