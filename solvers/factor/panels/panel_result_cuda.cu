// SPDX-License-Identifier: Apache-2.0
//
// Results of a factorization by panels, in fp64: R, and L for tests.
#include "solvers/factor/panels/panel_cholesky_cuda.h"
#include "solvers/factor/panels/panel_products_cuda.h"

using namespace panel;

bb_status bb_panel_cholesky_result(const bb_panel_cholesky *factor, double *out)
{
    const bb_index multiple = factor->blocks * factor->plan.block;
    for (bb_index g = 0; g < factor->gpus; ++g) {
        const bb_panel_part *part = &factor->parts[g];
        BB_RETURN_IF_FAILED(use(part));
        BB_RETURN_IF_FAILED(bb_panel_part_widen(
            part->side, static_cast<const __half *>(part->side_lo),
            splits_sides(part) ? BB_PANEL_HALVES : part->arithmetic.storage, part->sides,
            factor->plan.n, multiple, part->scale, static_cast<const float *>(part->side_scale),
            out + part->first_side * factor->plan.n, factor->plan.n, part->bulk));
    }
    return wait_all(factor);
}

namespace
{

// Copies block row i of L, up to and including its diagonal block, into `out` [block][n], which is
// zeroed.
bb_status widen_row(const bb_panel_part *part, bb_index i, double *out)
{
    const bb_triangle_layout &layout = part->layout;
    const bb_index block = layout.block;
    const bb_index rows = bb_triangle_layout_extent(layout, i);
    const bb_index item = bb_triangle_layout_row(layout, i) * bb_triangle_layout_columns(layout) +
                          bb_triangle_layout_column(layout, i);
    const bb_panel_storage storage = part->arithmetic.storage;
    const bb_panel_storage panel_storage = storage == BB_PANEL_FP64 ? BB_PANEL_FP64 : BB_PANEL_FP32;
    const size_t word = storage == BB_PANEL_FP64   ? sizeof(double)
                        : storage == BB_PANEL_FP32 ? sizeof(float)
                                                   : sizeof(__half);
    const size_t wide = panel_storage == BB_PANEL_FP64 ? sizeof(double) : sizeof(float);
    const __half *lo = static_cast<const __half *>(part->triangle_lo);
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(bb_panel_part_widen(
        static_cast<const char *>(part->triangle) + static_cast<size_t>(item) * word,
        lo != nullptr ? lo + item : nullptr, storage, rows, i * block,
        bb_triangle_layout_columns(layout), nullptr, nullptr, out, layout.n, part->bulk));
    return bb_panel_part_widen(static_cast<const char *>(part->diagonals) +
                                   static_cast<size_t>(i / layout.step * block * block) * wide,
                               nullptr, panel_storage, rows, rows, block, nullptr, nullptr,
                               out + i * block, layout.n, part->bulk);
}

// Copies the block row to the host, `out` [rows of the block row][n], through `row` on the first
// device.
bb_status read_row(const bb_panel_cholesky *factor, bb_index i, void *row, double *out)
{
    bb_device *device = factor->parts[0].device;
    const bb_index n = factor->plan.n;
    const bb_index block = factor->plan.block;
    const bb_index rows = bb_triangle_layout_extent(factor->parts[0].layout, i);
    const size_t row_bytes = static_cast<size_t>(n) * sizeof(double);
    BB_RETURN_IF_FAILED(bb_device_zero(device, row, static_cast<size_t>(block) * row_bytes));
    BB_RETURN_IF_FAILED(bb_device_wait(device));
    BB_RETURN_IF_FAILED(
        widen_row(source_of(factor, i % factor->gpus), i, static_cast<double *>(row)));
    BB_RETURN_IF_FAILED(wait_all(factor));
    BB_RETURN_IF_FAILED(
        bb_device_download(device, out, row, static_cast<size_t>(rows) * row_bytes));
    for (bb_index r = 0; r < rows; ++r) {
        for (bb_index c = i * block + r + 1; c < n; ++c) {
            out[r * n + c] = 0.0; // clear the part above the diagonal of its block
        }
    }
    return BB_OK;
}

} // namespace

bb_status bb_panel_cholesky_lower(const bb_panel_cholesky *factor, double *out)
{
    const bb_index n = factor->plan.n;
    const bb_index block = factor->plan.block;
    void *row = nullptr;
    BB_RETURN_IF_FAILED(use(&factor->parts[0]));
    BB_RETURN_IF_FAILED(bb_device_allocate(factor->parts[0].device,
                                           static_cast<size_t>(block * n) * sizeof(double), &row));
    bb_status status = BB_OK;
    for (bb_index i = 0; i * block < n && status == BB_OK; ++i) {
        status = read_row(factor, i, row, out + i * block * n);
    }
    bb_device_release(factor->parts[0].device, &row);
    return status;
}
