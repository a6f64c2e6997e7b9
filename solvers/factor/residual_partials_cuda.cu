// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/residual_scorer_cuda.h"

namespace
{

const int threads = 256;
const bb_index most_blocks = 8192;

// A round of partial sums [first, end), one per GPU, starting at the first GPU.
struct round_of_partials {
    const bb_residual_partials *partials;
    bb_index first, end;
    bb_index items;
    bb_residual_panel panel;
    const void *context;
    void *sum;
};

__global__ void add(const double *partial, bb_index items, double *sum)
{
    const bb_index stride = static_cast<bb_index>(gridDim.x) * threads;
    for (bb_index i = static_cast<bb_index>(blockIdx.x) * threads + threadIdx.x; i < items;
         i += stride) {
        sum[i] += partial[i];
    }
}

bb_index panels_of(const bb_residual_scorer *s)
{
    return (s->n + s->width - 1) / s->width;
}

// Queues the panels alternately on all GPUs, so that all of them start at once.
bb_status queue_panels(const round_of_partials *work)
{
    const bb_residual_scorer *s = work->partials->scorer;
    const bb_index panels = panels_of(s);
    for (bb_index base = 0; base < panels; base += BB_RESIDUAL_PARTIALS) {
        for (bb_index k = work->first; k < work->end && base + k < panels; ++k) {
            const bb_index g = k - work->first;
            void *target = k == 0 ? work->sum : work->partials->blocks[g];
            BB_RETURN_IF_FAILED(bb_residual_scorer_use(&s->gpus[g]));
            if (base == 0) { // wait until the partial sum has been read
                BB_CUDA_TRY(cudaStreamWaitEvent(s->gpus[g].stream, s->gpus[g].read, 0));
            }
            BB_RETURN_IF_FAILED(work->panel(work->context, g, (base + k) * s->width,
                                            k == 0 || base > 0 ? 1.0 : 0.0, target));
        }
    }
    for (bb_index g = 0; g < work->end - work->first; ++g) {
        BB_RETURN_IF_FAILED(bb_residual_scorer_use(&s->gpus[g]));
        BB_CUDA_TRY(cudaEventRecord(s->gpus[g].made, s->gpus[g].stream));
    }
    return BB_OK;
}

// Adds the partial sums of the other GPUs on the first GPU.
bb_status collect(const round_of_partials *work)
{
    const bb_residual_scorer *s = work->partials->scorer;
    const cudaStream_t stream = s->gpus[0].stream;
    const bb_index blocks = (work->items + threads - 1) / threads;
    BB_RETURN_IF_FAILED(bb_residual_scorer_use(&s->gpus[0]));
    for (bb_index k = work->first > 0 ? work->first : 1; k < work->end; ++k) {
        const bb_index g = k - work->first;
        BB_CUDA_TRY(cudaStreamWaitEvent(stream, s->gpus[g].made, 0));
        add<<<static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks), threads, 0,
              stream>>>(static_cast<const double *>(work->partials->blocks[g]), work->items,
                        static_cast<double *>(work->sum));
        BB_CUDA_CHECK_LAUNCH();
        BB_CUDA_TRY(cudaEventRecord(s->gpus[g].read, stream));
    }
    return BB_OK;
}

} // namespace

bb_status bb_residual_partials_create(const bb_residual_scorer *scorer, bb_index items,
                                      bb_residual_partials *out)
{
    *out = bb_residual_partials{};
    out->scorer = scorer;
    for (bb_index g = 0; g < scorer->count; ++g) {
        BB_RETURN_IF_FAILED(
            bb_residual_scorer_upload(&scorer->gpus[g], nullptr, items, &out->blocks[g]));
    }
    return BB_OK;
}

void bb_residual_partials_release(bb_residual_partials *partials)
{
    for (bb_index g = 0; partials->scorer != nullptr && g < partials->scorer->count; ++g) {
        bb_device_release(partials->scorer->gpus[g].device, &partials->blocks[g]);
    }
}

bb_status bb_residual_partials_add(const bb_residual_partials *partials, bb_index items,
                                   bb_residual_panel panel, const void *context, void *sum)
{
    const bb_residual_scorer *s = partials->scorer;
    const bb_index panels = panels_of(s);
    const bb_index count = panels < BB_RESIDUAL_PARTIALS ? panels : BB_RESIDUAL_PARTIALS;
    for (bb_index first = 0; first < count; first += s->count) {
        const bb_index end = count - first < s->count ? count : first + s->count;
        const round_of_partials work = {partials, first, end, items, panel, context, sum};
        BB_RETURN_IF_FAILED(queue_panels(&work));
        BB_RETURN_IF_FAILED(collect(&work));
    }
    return bb_residual_scorer_use(&s->gpus[0]);
}
