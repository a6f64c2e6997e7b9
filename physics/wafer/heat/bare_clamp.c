// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat/bare_clamp.h"

#include "core/memory.h"

#include <math.h>

// Returns the conductance between two unknowns, W/K, from entry `at` of the row of `row`.
static double conductance_of(const bb_thermal *thermal, const bb_csr *matrix, bb_index row,
                             bb_index index)
{
    if (matrix == &thermal->conductance) {
        return -matrix->value[index];
    }
    return matrix->value[index] / (thermal->step * thermal->per_joule[row]); // A = I - dt M^-1 K
}

// Each pair uses its lower entry, so that the matrix is symmetric to the last bit.
static bb_status assemble(bb_bare_clamp *bare)
{
    bb_status status = BB_OK;
    bb_triplets list = {0};
    const bb_thermal *thermal = bare->thermal;
    const bb_csr *matrix =
        thermal->conductance.rows > 0 ? &thermal->conductance : &thermal->step_matrix;
    for (bb_index i = 0; i < bare->count; ++i) {
        const bb_index row = bare->first + i;
        BB_TRY(bb_triplets_add(&list, i, i, thermal->loss[row]));
        for (bb_index index = matrix->row_start[row]; index < matrix->row_start[row + 1]; ++index) {
            const bb_index j = matrix->column[index] - bare->first;
            if (j < 0 || j >= i) {
                continue;
            }
            const double through = conductance_of(thermal, matrix, row, index);
            BB_TRY(bb_triplets_add(&list, i, i, through));
            BB_TRY(bb_triplets_add(&list, j, j, through));
            BB_TRY(bb_triplets_add(&list, i, j, -through));
            BB_TRY(bb_triplets_add(&list, j, i, -through));
        }
    }
    BB_TRY(bb_csr_assemble(bare->count, bare->count, &list, &bare->conductance));
done:
    bb_triplets_release(&list);
    return status;
}

bb_status bb_bare_clamp_create(const bb_thermal *thermal, double duration, bb_bare_clamp **out)
{
    bb_status status = BB_OK;
    bb_bare_clamp *bare = NULL;
    *out = NULL;
    BB_REQUIRE(duration > 0.0, BB_INVALID, "time between wafers = %g s, expected above 0",
               duration);
    BB_TRY(BB_ZEROED(1, &bare));
    bare->thermal = thermal;
    bare->first = thermal->node_count;
    bare->count = thermal->clamp_count + thermal->ring_count;
    bare->steps = (bb_index)ceil(duration / BB_BARE_CLAMP_STEP * (1.0 - 1e-12));
    bare->step = duration / (double)bare->steps;
    BB_TRY(assemble(bare));
    *out = bare;
    bare = NULL;
done:
    bb_bare_clamp_destroy(&bare);
    return status;
}

void bb_bare_clamp_destroy(bb_bare_clamp **bare)
{
    if (*bare != NULL) {
        bb_csr_release(&(*bare)->conductance);
        BB_RELEASE(bare);
    }
}

void bb_bare_clamp_account(const bb_bare_clamp *bare, const double *mean, bb_ledger *ledger)
{
    const double *loss = bare->thermal->loss + bare->first;
    double clamp = 0.0;
    double ring = 0.0;
    for (bb_index i = 0; i < bare->count; ++i) {
        *(i < bare->thermal->clamp_count ? &clamp : &ring) += loss[i] * mean[i];
    }
    ledger->lost += bare->step * clamp;
    ledger->lost_ring += bare->step * ring;
}
