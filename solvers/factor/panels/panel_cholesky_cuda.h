// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: state of a factorization by panels. panel_cholesky_cuda.cu creates and times
// it, panel_order_cuda.cu runs it, and panel_result_cuda.cu and panel_columns_cuda.cu read the
// result.
#ifndef BB_SOLVERS_FACTOR_PANELS_PANEL_CHOLESKY_CUDA_H
#define BB_SOLVERS_FACTOR_PANELS_PANEL_CHOLESKY_CUDA_H

#include "solvers/factor/panels/panel_part_cuda.h"

namespace panel
{

// Events of one panel on one part. Events of the diagonal block are recorded on its owner, events
// of remote blocks on the other parts.
struct panel_events {
    cudaEvent_t filled;
    cudaEvent_t ahead;    // diagonal block updated by earlier panels
    cudaEvent_t inverted; // diagonal block factored and inverted
    cudaEvent_t first;    // block row that the next panel needs first is solved
    cudaEvent_t solved;   // all block rows of the part are solved
    cudaEvent_t row;      // remote: block row of this panel copied, except for its last block
    cudaEvent_t last;     // remote: its last block copied
    cudaEvent_t inverse;  // remote: inverse of the diagonal block copied
    cudaEvent_t read;     // remote block row or column of this panel no longer in use
    cudaEvent_t used;     // remote diagonal block and inverse no longer in use
};

// Events around the kernels of the sources on one GPU.
struct fill_marks {
    cudaEvent_t *begin, *end; // [most]
    bb_index count, most;
};

// L in host memory.
struct swap_space {
    void *planes[2];    // pinned, one triangle each
    bb_panel_part kept; // the part with `planes` instead of its own
    cudaEvent_t chunk_here[BB_PANEL_CHUNKS_HELD], chunk_read[BB_PANEL_CHUNKS_HELD];
    cudaEvent_t guests_here,
        guests_read[2];    // guests read by diagonal blocks, and by the rows below
    cudaEvent_t updated;   // all diagonal blocks of a group are updated
    cudaEvent_t stored[2]; // strip of an even group, and of an odd one, is stored
};

} // namespace panel

struct bb_panel_cholesky {
    bb_panel_plan plan;
    bb_index blocks;
    bb_index gpus; // number of parts, of which several may be on one GPU
    bb_panel_part parts[BB_PANEL_GPUS];
    panel::panel_events *events; // [blocks][gpus] events
    panel::fill_marks fills[BB_PANEL_GPUS];
    cudaEvent_t begin[BB_PANEL_GPUS], end[BB_PANEL_GPUS];
    bb_panel_traffic traffic[BB_PANEL_GPUS];
    panel::swap_space swap;
};

namespace panel
{

// Makes a part's GPU the current one.
inline bb_status use(const bb_panel_part *part)
{
    BB_CUDA_TRY(cudaSetDevice(part->ordinal));
    return BB_OK;
}

inline panel_events *events_of(const bb_panel_cholesky *f, bb_index k, bb_index part)
{
    return &f->events[k * f->gpus + part];
}

inline bb_status record(cudaEvent_t event, cudaStream_t stream)
{
    BB_CUDA_TRY(cudaEventRecord(event, stream));
    return BB_OK;
}

inline bb_status wait(cudaStream_t stream, cudaEvent_t event)
{
    BB_CUDA_TRY(cudaStreamWaitEvent(stream, event, 0));
    return BB_OK;
}

inline bb_status mark(fill_marks *marks, bool begins, cudaStream_t stream)
{
    if (begins) {
        return record(marks->begin[marks->count], stream);
    }
    return record(marks->end[marks->count++], stream);
}

// Returns the part from which the L of `part` is copied.
inline const bb_panel_part *source_of(const bb_panel_cholesky *f, bb_index part)
{
    return f->plan.swapped ? &f->swap.kept : &f->parts[part];
}

// Allocate and free pinned host memory (panel_swap_cuda.cu).
BB_CHECKED bb_status create_swap(bb_panel_cholesky *f);
void destroy_swap(bb_panel_cholesky *f);

// Steps of a panel on a part (panel_order_cuda.cu): factor the diagonal block, solve the blocks
// below, update the next panel.
BB_CHECKED bb_status factor_diagonal(bb_panel_cholesky *f, bb_index k);
BB_CHECKED bb_status solve(bb_panel_cholesky *f, bb_index k, bb_index part);
BB_CHECKED bb_status follow(bb_panel_cholesky *f, bb_index k, bb_index part);

// Queues a whole factorization with a swapped L, without its sides.
BB_CHECKED bb_status run_groups(bb_panel_cholesky *f, const bb_panel_sources *sources);

// Queue a whole factorization, or a backward sweep.
BB_CHECKED bb_status run_factor(bb_panel_cholesky *f, const bb_panel_sources *sources);
BB_CHECKED bb_status run_backward(bb_panel_cholesky *f);

inline bb_status wait_all(const bb_panel_cholesky *f)
{
    for (bb_index g = 0; g < f->gpus; ++g) {
        if (f->parts[g].device == nullptr) {
            continue; // part not created
        }
        BB_RETURN_IF_FAILED(use(&f->parts[g]));
        BB_CUDA_TRY(cudaStreamSynchronize(f->parts[g].fetch));
        BB_CUDA_TRY(cudaStreamSynchronize(f->parts[g].store));
        BB_CUDA_TRY(cudaStreamSynchronize(f->parts[g].ahead));
        BB_CUDA_TRY(cudaStreamSynchronize(f->parts[g].chain));
        BB_CUDA_TRY(cudaStreamSynchronize(f->parts[g].bulk));
    }
    return BB_OK;
}

} // namespace panel

#endif
