// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: a factorization by panels, which panel_cholesky_cuda.cu makes and times,
// panel_order_cuda.cu runs, and panel_result_cuda.cu and panel_columns_cuda.cu read.
#ifndef BB_SOLVERS_FACTOR_PANELS_PANEL_CHOLESKY_CUDA_H
#define BB_SOLVERS_FACTOR_PANELS_PANEL_CHOLESKY_CUDA_H

#include "solvers/factor/panels/panel_part_cuda.h"

namespace panel
{

// Moments of one panel's work on one part. Those of the diagonal block are recorded where it is
// held; of guests, where it is not.
struct panel_events {
    cudaEvent_t filled;
    cudaEvent_t ahead;    // the diagonal block has the updates of the panels before
    cudaEvent_t inverted; // and is factored
    cudaEvent_t first;    // the block row that the next panel waits for is solved
    cudaEvent_t solved;   // and all others of the part
    cudaEvent_t row;      // guests: the block row of this panel is here, but for its last block,
    cudaEvent_t last;     // which is
    cudaEvent_t inverse;  // the inverse of the diagonal block is here
    cudaEvent_t read;     // the block row, or column, of this panel is read no more
    cudaEvent_t used;     // nor its diagonal block and the inverse
};

// Marks around the sources' kernels on one GPU.
struct fill_marks {
    cudaEvent_t *begin, *end; // [most]
    bb_index count, most;
};

// An L in the host's memory.
struct swap_space {
    void *planes[2];    // page-locked, each a triangle
    bb_panel_part kept; // the part with them in the place of its own
    cudaEvent_t chunk_here[BB_PANEL_CHUNKS_HELD], chunk_read[BB_PANEL_CHUNKS_HELD];
    cudaEvent_t guests_here, guests_read[2]; // by diagonal blocks, and by the rows below
    cudaEvent_t updated;                     // all diagonal blocks of a group
    cudaEvent_t stored[2];                   // the strip of an even group, and of an odd one
};

} // namespace panel

struct bb_panel_cholesky {
    bb_panel_plan plan;
    bb_index blocks;
    bb_index gpus; // parts, some of which may be on one GPU
    bb_panel_part parts[BB_PANEL_GPUS];
    panel::panel_events *events; // [blocks][gpus]
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

// Part from which others read a part's L.
inline const bb_panel_part *source_of(const bb_panel_cholesky *f, bb_index part)
{
    return f->plan.swapped ? &f->swap.kept : &f->parts[part];
}

// Takes memory of the host, and gives it back. panel_swap_cuda.cu.
BB_CHECKED bb_status create_swap(bb_panel_cholesky *f);
void destroy_swap(bb_panel_cholesky *f);

// Steps of a panel on a part, of panel_order_cuda.cu: the diagonal block is factored, the blocks
// below are solved, and the next panel takes their update.
BB_CHECKED bb_status factor_diagonal(bb_panel_cholesky *f, bb_index k);
BB_CHECKED bb_status solve(bb_panel_cholesky *f, bb_index k, bb_index part);
BB_CHECKED bb_status follow(bb_panel_cholesky *f, bb_index k, bb_index part);

// Queue all of a factorization without its sides where L is swapped.
BB_CHECKED bb_status run_groups(bb_panel_cholesky *f, const bb_panel_sources *sources);

// Queue all of a factorization, or a backward sweep.
BB_CHECKED bb_status run_factor(bb_panel_cholesky *f, const bb_panel_sources *sources);
BB_CHECKED bb_status run_backward(bb_panel_cholesky *f);

inline bb_status wait_all(const bb_panel_cholesky *f)
{
    for (bb_index g = 0; g < f->gpus; ++g) {
        if (f->parts[g].device == nullptr) {
            continue; // not made
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
