// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: a factorization by panels, which panel_cholesky_cuda.cu makes and runs and
// panel_result_cuda.cu reads.
#ifndef BB_SOLVERS_FACTOR_PANELS_PANEL_CHOLESKY_CUDA_H
#define BB_SOLVERS_FACTOR_PANELS_PANEL_CHOLESKY_CUDA_H

#include "solvers/factor/panels/panel_part_cuda.h"

namespace panel
{

// Moments of one panel's work, on its owner's GPU.
struct panel_events {
    cudaEvent_t filled;
    cudaEvent_t ahead;    // the diagonal block has the updates of the panels before
    cudaEvent_t inverted; // and is factored
    cudaEvent_t first;    // the block row that the next panel waits for is solved
    cudaEvent_t solved;   // and sent
};

// Marks around the sources' kernels on one GPU.
struct fill_marks {
    cudaEvent_t *begin, *end; // [most]
    bb_index count, most;
};

} // namespace panel

struct bb_panel_cholesky {
    bb_panel_plan plan;
    bb_triangle_layout layout;
    bb_index gpus;
    bb_panel_part parts[BB_PANEL_GPUS];
    panel::panel_events *events; // [blocks]
    panel::fill_marks fills[BB_PANEL_GPUS];
    cudaEvent_t begin[BB_PANEL_GPUS], end[BB_PANEL_GPUS];
};

namespace panel
{

// Makes a part's GPU the current one.
inline bb_status use(const bb_panel_part *part)
{
    BB_CUDA_TRY(cudaSetDevice(part->ordinal));
    return BB_OK;
}

inline bb_status wait_all(const bb_panel_cholesky *f)
{
    for (bb_index g = 0; g < f->gpus; ++g) {
        if (f->parts[g].device == nullptr) {
            continue; // not made
        }
        BB_RETURN_IF_FAILED(use(&f->parts[g]));
        BB_CUDA_TRY(cudaStreamSynchronize(f->parts[g].ahead));
        BB_CUDA_TRY(cudaStreamSynchronize(f->parts[g].chain));
        BB_CUDA_TRY(cudaStreamSynchronize(f->parts[g].bulk));
    }
    return BB_OK;
}

} // namespace panel

#endif
