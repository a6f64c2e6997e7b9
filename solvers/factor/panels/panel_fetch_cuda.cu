// SPDX-License-Identifier: Apache-2.0
//
// Copies of L for a factorization by panels: between two GPUs over the link, between two parts on
// one GPU, and between host and GPU over the bus.
#include "solvers/factor/panels/panel_products_cuda.h"

using namespace panel;

namespace
{

// Rectangle of words.
struct rectangle {
    const void *source;
    void *target;
    bb_index source_item, target_item;
    bb_index source_stride, target_stride; // distance between rows, in items
    bb_index rows, columns;
    size_t word;
};

// Adds to the byte counters.
bb_status copy(const rectangle &r, cudaStream_t stream, double *bytes)
{
    if (r.source == nullptr || r.target == nullptr || r.rows == 0 || r.columns == 0) {
        return BB_OK;
    }
    BB_CUDA_TRY(cudaMemcpy2DAsync(
        static_cast<char *>(r.target) + static_cast<size_t>(r.target_item) * r.word,
        static_cast<size_t>(r.target_stride) * r.word,
        static_cast<const char *>(r.source) + static_cast<size_t>(r.source_item) * r.word,
        static_cast<size_t>(r.source_stride) * r.word, static_cast<size_t>(r.columns) * r.word,
        static_cast<size_t>(r.rows), cudaMemcpyDefault, stream));
    *bytes +=
        static_cast<double>(r.rows) * static_cast<double>(r.columns) * static_cast<double>(r.word);
    return BB_OK;
}

// Counter of a part for copies from another part, or from the host.
double *count_of(const bb_panel_part *part)
{
    return part->plan.swapped ? &part->traffic->host_to_device_bytes
                              : &part->traffic->device_to_device_bytes;
}

bb_status copy_square(const bb_panel_part *part, void *target, const void *source,
                      bb_panel_stream stream)
{
    const bb_index items = part->plan.block * part->plan.block;
    BB_CUDA_TRY(cudaMemcpyAsync(target, source,
                                static_cast<size_t>(items) * bb_type_bytes(type_of(part)),
                                cudaMemcpyDefault, bb_panel_stream_of(part, stream)));
    *count_of(part) +=
        static_cast<double>(items) * static_cast<double>(bb_type_bytes(type_of(part)));
    return BB_OK;
}

size_t kept_bytes(const bb_panel_part *part)
{
    return in_halves(part) ? sizeof(__half) : bb_type_bytes(type_of(part));
}

} // namespace

bb_status bb_panel_part_fetch_row(bb_panel_part *part, const bb_panel_part *source, bb_index k,
                                  bb_index start, bb_index stop, bb_panel_stream stream)
{
    const bb_index block = part->plan.block;
    const cudaStream_t queue = bb_panel_stream_of(part, stream);
    if (reads_own(part, k)) {
        return BB_OK;
    }
    rectangle r = {};
    r.source_item = triangle_item(source, k, start * block);
    r.target_item = guest_item(part, k) + start * block;
    r.source_stride = bb_triangle_layout_columns(source->layout);
    r.target_stride = part->layout.blocks * block;
    r.rows = block;
    r.columns = (stop - start) * block;
    r.source = source->triangle;
    r.target = part->guest_rows;
    r.word = kept_bytes(part);
    BB_RETURN_IF_FAILED(copy(r, queue, count_of(part)));
    r.word = sizeof(__half);
    r.source = source->triangle_lo;
    r.target = part->guest_rows_lo;
    BB_RETURN_IF_FAILED(copy(r, queue, count_of(part)));
    r.source = source->operands;
    r.target = part->guest_operands;
    return copy(r, queue, count_of(part));
}

bb_status bb_panel_part_fetch_inverse(bb_panel_part *part, const bb_panel_part *source, bb_index k,
                                      bb_panel_stream stream)
{
    return holds(part, k) ? BB_OK
                          : copy_square(part, inverse_of(part, k), inverse_of(source, k), stream);
}

bb_status bb_panel_part_fetch_diagonal(bb_panel_part *part, const bb_panel_part *source, bb_index k,
                                       bb_panel_stream stream)
{
    return holds(part, k) || part->guest_diagonals == nullptr
               ? BB_OK
               : copy_square(part, diagonal_of(part, k), diagonal_of(source, k), stream);
}

bb_status bb_panel_part_fetch_column(bb_panel_part *part, const bb_panel_part *source, bb_index k)
{
    const bb_index block = part->plan.block;
    const bb_triangle_layout &layout = source->layout;
    rectangle r = {};
    r.source_stride = bb_triangle_layout_columns(layout);
    r.target_stride = r.columns = r.rows = block;
    for (bb_index position = bb_triangle_layout_begin_below(layout, k);
         position < bb_triangle_layout_end_below(layout, k); ++position) {
        const bb_index i = bb_triangle_layout_block_at(layout, position);
        r.source_item = triangle_item(source, i, k * block);
        r.target_item = guest_item(part, k) + i * block * block;
        r.source = source->triangle;
        r.target = part->guest_rows;
        r.word = kept_bytes(part);
        BB_RETURN_IF_FAILED(copy(r, part->fetch, count_of(part)));
        r.word = sizeof(__half);
        r.source = source->triangle_lo;
        r.target = part->guest_rows_lo;
        BB_RETURN_IF_FAILED(copy(r, part->fetch, count_of(part)));
    }
    return BB_OK;
}

namespace
{

// Copies the block columns [start, stop) of block row i from one triangle to another.
bb_status copy_row(const bb_panel_part *source, bb_panel_part *target, bb_index i, bb_index start,
                   bb_index stop, cudaStream_t stream, double *bytes)
{
    const bb_index block = source->plan.block;
    rectangle r = {};
    r.source_item = triangle_item(source, i, start * block);
    r.target_item = triangle_item(target, i, start * block);
    r.source_stride = bb_triangle_layout_columns(source->layout);
    r.target_stride = bb_triangle_layout_columns(target->layout);
    r.rows = block;
    r.columns = (stop - start) * block;
    r.word = sizeof(__half);
    r.source = source->triangle;
    r.target = target->triangle;
    BB_RETURN_IF_FAILED(copy(r, stream, bytes));
    r.source = source->triangle_lo;
    r.target = target->triangle_lo;
    return copy(r, stream, bytes);
}

} // namespace

bb_status bb_panel_part_store(const bb_panel_part *part, bb_panel_part *kept, bb_index start,
                              bb_index stop)
{
    for (bb_index i = start + 1; i < part->layout.blocks; ++i) {
        BB_RETURN_IF_FAILED(copy_row(part, kept, i, start, stop < i ? stop : i, part->store,
                                     &part->traffic->device_to_host_bytes));
    }
    return BB_OK;
}

bb_status bb_panel_part_fetch_chunk(bb_panel_part *chunk, const bb_panel_part *kept,
                                    bb_positions rows, bb_index stop)
{
    for (bb_index i = rows.begin; i < rows.end; ++i) {
        BB_RETURN_IF_FAILED(copy_row(kept, chunk, i, 0, stop, chunk->fetch, count_of(chunk)));
    }
    return BB_OK;
}
