// SPDX-License-Identifier: Apache-2.0
//
// What a factorization by panels leaves, in fp64: R, and L for tests.
#include "solvers/factor/panels/panel_cholesky_cuda.h"

using namespace panel;

bb_status bb_panel_cholesky_result(const bb_panel_cholesky *factor, double *out)
{
    const bb_index multiple = factor->layout.blocks * factor->plan.block;
    for (bb_index g = 0; g < factor->gpus; ++g) {
        const bb_panel_part *part = &factor->parts[g];
        BB_RETURN_IF_FAILED(use(part));
        BB_RETURN_IF_FAILED(bb_panel_part_widen(
            part->side, static_cast<const __half *>(part->side_lo), part->arithmetic.storage,
            part->sides, factor->plan.n, multiple, part->scale,
            static_cast<const float *>(part->side_scale), out + part->first_side * factor->plan.n,
            factor->plan.n, part->bulk));
    }
    return wait_all(factor);
}

bb_status bb_panel_cholesky_lower(const bb_panel_cholesky *factor, double *out)
{
    const bb_panel_part *part = &factor->parts[0];
    const bb_triangle_layout &layout = factor->layout;
    const bb_index block = layout.block;
    const bb_index stride = bb_triangle_layout_columns(layout);
    const bb_panel_storage storage = part->arithmetic.storage;
    const bb_panel_storage panel_storage = storage == BB_PANEL_FP64 ? BB_PANEL_FP64 : BB_PANEL_FP32;
    const size_t row_bytes = static_cast<size_t>(layout.n) * sizeof(double);
    void *device = nullptr;
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(
        bb_device_allocate(part->device, static_cast<size_t>(block) * row_bytes, &device));
    bb_status status = BB_OK;
    for (bb_index i = 0; i < layout.blocks && status == BB_OK; ++i) {
        status = use(part);
        const bb_index rows = bb_triangle_layout_extent(layout, i);
        const bb_index item =
            bb_triangle_layout_row(layout, i) * stride + bb_triangle_layout_column(layout, i);
        const size_t word = storage == BB_PANEL_FP64   ? sizeof(double)
                            : storage == BB_PANEL_FP32 ? sizeof(float)
                                                       : sizeof(__half);
        const size_t wide = panel_storage == BB_PANEL_FP64 ? sizeof(double) : sizeof(float);
        const __half *lo = static_cast<const __half *>(part->triangle_lo);
        double *target = static_cast<double *>(device);
        status = status == BB_OK
                     ? bb_device_zero(part->device, device, static_cast<size_t>(block) * row_bytes)
                     : status;
        status = status == BB_OK ? bb_device_wait(part->device) : status;
        status = status == BB_OK ? bb_panel_part_widen(static_cast<const char *>(part->triangle) +
                                                           static_cast<size_t>(item) * word,
                                                       lo != nullptr ? lo + item : nullptr, storage,
                                                       rows, i * block, stride, nullptr, nullptr,
                                                       target, layout.n, part->bulk)
                                 : status;
        status = status == BB_OK
                     ? bb_panel_part_widen(static_cast<const char *>(part->diagonals) +
                                               static_cast<size_t>(i * block * block) * wide,
                                           nullptr, panel_storage, rows, rows, block, nullptr,
                                           nullptr, target + i * block, layout.n, part->bulk)
                     : status;
        status = status == BB_OK ? wait_all(factor) : status;
        status = status == BB_OK ? bb_device_download(part->device, out + i * block * layout.n,
                                                      device, static_cast<size_t>(rows) * row_bytes)
                                 : status;
        for (bb_index r = 0; r < rows; ++r) {
            for (bb_index c = i * block + r + 1; c < layout.n; ++c) {
                out[(i * block + r) * layout.n + c] = 0.0; // of the block above its diagonal
            }
        }
    }
    bb_device_release(part->device, &device);
    return status;
}
