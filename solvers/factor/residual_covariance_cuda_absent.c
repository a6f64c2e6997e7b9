// SPDX-License-Identifier: Apache-2.0
//
// Stands in for residual_covariance_cuda.cu in a build without CUDA, where no cuda device opens.
#include "solvers/factor/residual_covariance.h"

bb_status bb_residual_covariance_device(bb_device *device, const bb_matrix_source *cmm,
                                        bb_index count, const bb_residual_task *tasks)
{
    (void)device;
    (void)count;
    (void)tasks;
    return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                         "score over %s on a device: this build has no CUDA", cmm->name);
}
