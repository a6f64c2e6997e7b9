// SPDX-License-Identifier: Apache-2.0
//
// Iterative refinement of a block.
#include "solvers/factor/refinement_block.h"

#include <cblas.h>
#include <string.h>

bb_status bb_refinement_block_ir(bb_refine_block *block)
{
    bb_status status = BB_OK;
    bb_index n = block->n;
    while (bb_refinement_block_collect(block, BB_REFINE_ACTIVE) > 0) {
        for (bb_index i = 0; i < block->active_count; ++i) {
            memcpy(block->gathered + i * n, bb_refine_row_of(block, block->r, block->active[i]),
                   (size_t)n * sizeof(double));
        }
        BB_TRY(bb_refinement_block_precondition(block));
        for (bb_index i = 0; i < block->active_count; ++i) {
            cblas_daxpy((int)n, 1.0, block->gathered + i * n, 1,
                        bb_refine_row_of(block, block->y, block->active[i]), 1);
            ++block->state[block->active[i]].iterations;
        }
        BB_TRY(bb_refinement_block_inspect(block));
    }
done:
    return status;
}
