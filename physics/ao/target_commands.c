// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/target_commands.h"

#include "core/memory.h"

const bb_deformable_mirror *bb_target_commands_mirror(const bb_tomography *tomography,
                                                      bb_index target)
{
    return bb_point_spread_mirror(tomography->targets[target].spread);
}

bb_status bb_target_commands_project(const bb_tomography *tomography, bb_index target, bb_index n,
                                     const double *r, const void *resident, double *commands)
{
    const bb_deformable_mirror *mirror = bb_target_commands_mirror(tomography, target);
    const bb_row_product product = {
        n, mirror->measurement_count, 1.0, mirror->projector, r, false, 0.0, commands};
    return bb_tomography_multiply(tomography, mirror->actuator_count, &product, resident);
}

bb_status bb_target_commands_truth(const bb_tomography *tomography, bb_index target, double *out,
                                   double *variances)
{
    bb_status status = BB_OK;
    const bb_matrix_source *ctt = tomography->targets[target].ctt;
    double *dense = NULL; // [m][m]
    BB_TRY(BB_ALLOCATE(ctt->rows * ctt->rows, &dense));
    BB_TRY(bb_matrix_source_load(ctt, dense));
    BB_TRY(bb_tomography_project(tomography, target, dense, out));
    for (bb_index i = 0; variances != NULL && i < ctt->rows; ++i) {
        variances[i] = dense[i * ctt->rows + i];
    }
done:
    BB_RELEASE(&dense);
    return status;
}

bb_need bb_target_commands_need(double slopes, double actuators, double threads)
{
    const double flops = 2.0 * actuators * slopes * (slopes + actuators);
    return (bb_need){.host_bytes = sizeof(double) * slopes * (slopes + actuators),
                     .seconds = flops / (BB_NEED_FP64_RATE * threads)};
}
