// SPDX-License-Identifier: Apache-2.0
//
// Panels of matrices that a scorer caches on its GPUs, for its scores and for twins that fill
// factorizations.
#include "core/memory.h"
#include "solvers/factor/residual_scorer_cuda.h"

#include <cmath>

namespace
{

const unsigned threads = 256;
const size_t word = sizeof(double);

// Fraction of the free memory beyond the reserve.
const double kept_share = 2.0 / 3.0;

// Context of the twin of a cached matrix.
struct origin {
    bb_residual_scorer *scorer;
    bb_residual_kept *kept;
};

template <typename T>
__global__ void copy_entries(const double *source, bb_index source_stride, bb_index rows,
                             bb_index columns, T *out, bb_index stride)
{
    const bb_index c = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (bb_index r = blockIdx.y; c < columns && r < rows; r += gridDim.y) {
        out[r * stride + c] = static_cast<T>(source[r * source_stride + c]);
    }
}

template <typename T>
bb_status launch_copy(const double *source, bb_index source_stride, const bb_view &out,
                      cudaStream_t stream)
{
    const bb_index rows = out.shape[0];
    const dim3 grid(static_cast<unsigned>((out.shape[1] + threads - 1) / threads),
                    static_cast<unsigned>(rows < 32768 ? rows : 32768));
    copy_entries<<<grid, threads, 0, stream>>>(source, source_stride, rows, out.shape[1],
                                               static_cast<T *>(out.data), out.strides[0]);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

// The block at (row, column) within one panel; the source fills blocks of Cmm above the diagonal.
bb_status fill_block(const origin *from, bb_queue *queue, bb_index row, bb_index column,
                     const bb_view &out)
{
    bb_residual_scorer *s = from->scorer;
    const cudaStream_t stream = bb_queue_stream(queue);
    const bb_index begin = column / s->width * s->width;
    const bb_index top = from->kept->lower ? begin : 0;
    void *panel = nullptr;
    if (row >= top) {
        BB_RETURN_IF_FAILED(bb_residual_kept_panel(s, from->kept, 0, begin, stream, &panel));
    }
    if (panel == nullptr) {
        return bb_device_source_fill(from->kept->source, queue, row, column, out);
    }
    const double *values =
        bb_residual_scorer_values(panel, (row - top) * s->width + column - begin);
    return out.type == BB_F64 ? launch_copy<double>(values, s->width, out, stream)
                              : launch_copy<float>(values, s->width, out, stream);
}

bb_status fill_twin(const bb_device_source *source, bb_queue *queue, bb_index row, bb_index column,
                    bb_view out)
{
    const origin *from = static_cast<const origin *>(source->context);
    const bb_index width = from->scorer->width;
    const bb_index end = column + out.shape[1];
    for (bb_index c = column, next = c; out.shape[0] > 0 && c < end; c = next) {
        next = (c / width + 1) * width < end ? (c / width + 1) * width : end;
        char *data = static_cast<char *>(out.data) +
                     static_cast<size_t>(c - column) * bb_type_bytes(out.type);
        BB_RETURN_IF_FAILED(
            fill_block(from, queue, row, c,
                       bb_device_matrix(data, out.type, out.shape[0], next - c, out.strides[0])));
    }
    return BB_OK;
}

void release_twin(bb_device_source *twin)
{
    bb_memory_release(&twin->context);
}

bb_index panel_count(const bb_residual_scorer *s)
{
    return (s->n + s->width - 1) / s->width;
}

bb_status add(bb_residual_scorer *s, bb_device_source *source, bool lower)
{
    void *panels = nullptr;
    BB_RETURN_IF_FAILED(bb_memory_zeroed(panel_count(s), sizeof(void *), &panels));
    s->kept[s->kept_count++] = {source, lower, static_cast<void **>(panels)};
    return BB_OK;
}

bb_residual_kept *find(bb_residual_scorer *s, const bb_matrix_source *matrix)
{
    for (int i = 0; s->count == 1 && i < s->kept_count; ++i) {
        if (s->kept[i].source->host == matrix) {
            return &s->kept[i];
        }
    }
    return nullptr;
}

// Adds one more matrix on one GPU, if there is a slot and Cmm is cached.
bb_status find_or_add(bb_residual_scorer *s, const bb_matrix_source *matrix, bb_residual_kept **out)
{
    bb_device_source *source = nullptr;
    *out = find(s, matrix);
    if (*out != nullptr || s->count > 1 || s->kept_count == 0 ||
        s->kept_count == BB_RESIDUAL_KEPT || matrix->columns != s->n) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(bb_device_source_create(matrix, s->gpus[0].device, &source));
    const bb_status status = add(s, source, false);
    if (status != BB_OK) {
        bb_device_source_destroy(&source);
        return status;
    }
    *out = &s->kept[s->kept_count - 1];
    return BB_OK;
}

bb_status create_twin(bb_residual_scorer *s, bb_residual_kept *kept, bb_device *device,
                      bb_device_source **out)
{
    void *memory = nullptr;
    void *from = nullptr;
    BB_RETURN_IF_FAILED(bb_memory_zeroed(1, sizeof(origin), &from));
    const bb_status status = bb_memory_zeroed(1, sizeof(bb_device_source), &memory);
    if (status != BB_OK) {
        bb_memory_release(&from);
        return status;
    }
    *static_cast<origin *>(from) = {s, kept};
    *out = static_cast<bb_device_source *>(memory);
    **out = *kept->source;
    (*out)->device = device;
    (*out)->fill = fill_twin;
    (*out)->release = release_twin;
    (*out)->context = from;
    return BB_OK;
}

} // namespace

bb_status bb_residual_scorer_cache_panels(bb_residual_scorer *scorer, double reserve_bytes)
{
    double least = INFINITY;
    for (bb_index g = 0; g < scorer->count; ++g) {
        bb_device_report report;
        BB_RETURN_IF_FAILED(bb_device_describe(scorer->gpus[g].device, &report));
        least = std::fmin(least, static_cast<double>(report.free_memory_bytes));
    }
    BB_RETURN_IF_FAILED(bb_residual_scorer_use(&scorer->gpus[0]));
    // Parts may share a GPU.
    scorer->room = kept_share * (least - reserve_bytes) / static_cast<double>(scorer->count);
    return add(scorer, scorer->gpus[0].cmm, true);
}

void bb_residual_kept_drop(bb_residual_scorer *s)
{
    for (int i = s->kept_count - 1; i >= 0; --i) {
        bb_residual_kept *kept = &s->kept[i];
        for (bb_index p = 0; p < panel_count(s); ++p) {
            const bb_index gpu = p % BB_RESIDUAL_PARTIALS % s->count;
            bb_device_release(s->gpus[gpu].device, &kept->panels[p]);
        }
        void *panels = kept->panels;
        bb_memory_release(&panels);
        if (i > 0) { // Cmm belongs to the GPU
            bb_device_source_destroy(&kept->source);
        }
    }
    s->kept_count = 0;
}

bb_status bb_residual_kept_panel(bb_residual_scorer *scorer, bb_residual_kept *kept, bb_index gpu,
                                 bb_index begin, cudaStream_t stream, void **panel)
{
    const bb_index top = kept->lower ? begin : 0;
    const bb_index rows = kept->source->rows - top;
    const size_t bytes = static_cast<size_t>(rows * scorer->width) * word;
    const bb_device_source *source = kept->lower ? scorer->gpus[gpu].cmm : kept->source;
    void **slot = &kept->panels[begin / scorer->width];
    *panel = *slot;
    if (*slot != nullptr || scorer->room <= static_cast<double>(bytes)) {
        return BB_OK;
    }
    const bb_status status = bb_device_allocate(scorer->gpus[gpu].device, bytes, slot);
    if (status == BB_MEMORY) { // another user took the memory: panels are filled each time
        bb_status_clear();
        scorer->room = 0.0;
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(status);
    scorer->room -= static_cast<double>(bytes) / static_cast<double>(scorer->count);
    *panel = *slot;
    return bb_device_source_fill(source, bb_stream_queue(stream), top, begin,
                                 bb_device_matrix(*panel, BB_F64, rows,
                                                  bb_residual_scorer_width(scorer, begin),
                                                  scorer->width));
}

bb_status bb_residual_scorer_twin(bb_residual_scorer *scorer, const bb_matrix_source *matrix,
                                  bool keep, bb_device *device, bb_device_source **out)
{
    bb_residual_kept *kept = scorer != nullptr ? find(scorer, matrix) : nullptr;
    if (scorer != nullptr && keep) {
        BB_RETURN_IF_FAILED(find_or_add(scorer, matrix, &kept));
    }
    return kept != nullptr ? create_twin(scorer, kept, device, out)
                           : bb_device_source_create(matrix, device, out);
}
