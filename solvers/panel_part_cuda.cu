// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "solvers/panel_part_cuda.h"

#include <cmath>

namespace
{

const size_t workspace_bytes = static_cast<size_t>(32) << 20;
const double library_bytes = 2.0e8; // of three cuBLAS handles, as seen on an H200

struct allocation {
    void **slot;
    size_t bytes;
};

enum { MOST_ALLOCATIONS = 32 };

size_t word_of(bb_panel_storage storage)
{
    return storage == BB_PANEL_FP64 ? sizeof(double) : sizeof(float);
}

// Everything that a part takes, in one place: bytes are summed from it and memory is taken by it.
int list_allocations(bb_panel_part *part, allocation *out)
{
    const bb_panel_arithmetic &arithmetic = part->arithmetic;
    const bool halves = arithmetic.storage == BB_PANEL_HALVES;
    const size_t block = static_cast<size_t>(part->plan.block);
    const size_t blocks = static_cast<size_t>(part->layout.blocks);
    const size_t sides = static_cast<size_t>(part->sides);
    const size_t word = word_of(arithmetic.storage);
    const size_t kept = halves ? sizeof(__half) : word;
    const size_t triangle = static_cast<size_t>(bb_triangle_rows(part->layout)) *
                            static_cast<size_t>(bb_triangle_columns(part->layout));
    const size_t rows = blocks * block > sides ? blocks * block : sides;
    const size_t half = arithmetic.half_tiles ? sizeof(__half) : 0;
    int count = 0;
    out[count++] = {&part->triangle, triangle * kept};
    out[count++] = {&part->triangle_lo, arithmetic.low_plane ? triangle * kept : 0};
    out[count++] = {&part->operands, arithmetic.operand_plane ? triangle * sizeof(__half) : 0};
    out[count++] = {&part->largest_of_blocks, arithmetic.tile_scale ? blocks * sizeof(float) : 0};
    out[count++] = {&part->side, sides * blocks * block * kept};
    out[count++] = {&part->side_lo, halves ? sides * blocks * block * kept : 0};
    out[count++] = {&part->panels[0], blocks * block * block * word};
    out[count++] = {&part->panels[1], blocks * block * block * word};
    for (int parity = 0; parity < 2; ++parity) {
        out[count++] = {&part->tiles[parity], blocks * block * block * half};
        out[count++] = {&part->diagonal_tiles[parity],
                        arithmetic.diagonal_products == 1 ? block * block * half : 0};
    }
    out[count++] = {&part->side_panel, sides * block * word};
    out[count++] = {&part->side_tile, arithmetic.forward_products == 1 ? sides * block * half : 0};
    out[count++] = {&part->diagonals, blocks * block * block * word};
    out[count++] = {&part->inverses, blocks * block * block * word};
    out[count++] = {&part->scratch, block * block * word};
    out[count++] = {&part->split[0], halves ? rows * block * sizeof(__half) : 0};
    out[count++] = {&part->split[1], halves ? rows * block * sizeof(__half) : 0};
    for (auto &pair : part->split_inverse) {
        out[count++] = {&pair[0], halves ? block * block * sizeof(__half) : 0};
        out[count++] = {&pair[1], halves ? block * block * sizeof(__half) : 0};
    }
    out[count++] = {&part->largest, 2 * sizeof(float)};
    out[count++] = {&part->scale, blocks * block * word};
    out[count++] = {&part->panel_scale, blocks * block * word};
    out[count++] = {&part->side_scale, halves ? sides * sizeof(float) : 0};
    out[count++] = {&part->breakdown, sizeof(bb_breakdown_cuda)};
    for (void *&workspace : part->workspaces) {
        out[count++] = {&workspace, workspace_bytes};
    }
    return count;
}

bb_status take_memory(bb_panel_part *part)
{
    allocation list[MOST_ALLOCATIONS];
    const int count = list_allocations(part, list);
    double needed = 0.0;
    size_t available = 0;
    size_t total = 0;
    BB_CUDA_TRY(cudaMemGetInfo(&available, &total));
    for (int i = 0; i < count; ++i) {
        needed += static_cast<double>(list[i].bytes);
    }
    if (needed > static_cast<double>(available)) {
        return bb_status_set(BB_MEMORY, __FILE__, __LINE__,
                             "GPU memory: a factorization of n = %td in panels of %td with %td "
                             "right-hand sides needs %.0f bytes, %zu of %zu are free",
                             part->plan.n, part->plan.block, part->sides, needed, available, total);
    }
    for (int i = 0; i < count; ++i) {
        BB_RETURN_IF_FAILED(bb_device_allocate(part->device, list[i].bytes, list[i].slot));
    }
    return BB_OK;
}

bb_status describe_halves(void *hi, void *lo, bb_index rows, bb_index columns, bb_halves *out)
{
    __half *planes[2] = {static_cast<__half *>(hi), static_cast<__half *>(lo != nullptr ? lo : hi)};
    if (hi == nullptr) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(bb_plane_cuda_describe(planes[0], rows, columns, columns, 128, &out->hi));
    BB_RETURN_IF_FAILED(bb_plane_cuda_describe(planes[1], rows, columns, columns, 128, &out->lo));
    BB_RETURN_IF_FAILED(
        bb_plane_cuda_describe(planes[0], rows, columns, columns, 64, &out->hi_short));
    return bb_plane_cuda_describe(planes[1], rows, columns, columns, 64, &out->lo_short);
}

bb_status describe(bb_panel_part *part)
{
    const bb_index block = part->plan.block;
    const bb_index whole = part->layout.blocks * block;
    BB_RETURN_IF_FAILED(describe_halves(part->triangle, part->triangle_lo,
                                        bb_triangle_rows(part->layout),
                                        bb_triangle_columns(part->layout), &part->triangle_planes));
    BB_RETURN_IF_FAILED(
        describe_halves(part->side, part->side_lo, part->sides, whole, &part->side_planes));
    BB_RETURN_IF_FAILED(describe_halves(part->split[0], part->split[1],
                                        whole > part->sides ? whole : part->sides, block,
                                        &part->panel_planes));
    for (int parity = 0; parity < 2; ++parity) {
        BB_RETURN_IF_FAILED(describe_halves(part->split_inverse[parity][0],
                                            part->split_inverse[parity][1], block, block,
                                            &part->inverse_planes[parity]));
    }
    return BB_OK;
}

bb_status open_library(bb_panel_part *part)
{
    BB_RETURN_IF_FAILED(bb_dense_library_open(&part->library));
    for (int s = 0; s < 3; ++s) {
        BB_CUBLAS_TRY(part->library->create(&part->handles[s]));
        BB_CUBLAS_TRY(part->library->set_stream(
            part->handles[s], bb_panel_stream_of(part, static_cast<bb_panel_stream>(s))));
        BB_CUBLAS_TRY(
            part->library->set_workspace(part->handles[s], part->workspaces[s], workspace_bytes));
        if (part->arithmetic.half_tiles) { // parts of a sum stay in the format of the sum
            BB_CUBLAS_TRY(part->library->set_math_mode(
                part->handles[s], CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
        }
    }
    return BB_OK;
}

// Rows past the last one are read before they are written, and second planes of blocks that are
// kept in one are never written.
bb_status clear_planes(bb_panel_part *part)
{
    const size_t items = static_cast<size_t>(bb_triangle_rows(part->layout)) *
                         static_cast<size_t>(bb_triangle_columns(part->layout));
    const size_t kept = part->arithmetic.storage == BB_PANEL_HALVES
                            ? sizeof(__half)
                            : word_of(part->arithmetic.storage);
    if (part->triangle != nullptr) {
        BB_CUDA_TRY(cudaMemsetAsync(part->triangle, 0, items * kept, part->bulk));
    }
    if (part->triangle_lo != nullptr) {
        BB_CUDA_TRY(cudaMemsetAsync(part->triangle_lo, 0, items * kept, part->bulk));
    }
    if (part->operands != nullptr) {
        BB_CUDA_TRY(cudaMemsetAsync(part->operands, 0, items * sizeof(__half), part->bulk));
    }
    return BB_OK;
}

bb_status start(bb_panel_part *part)
{
    int least = 0;
    int greatest = 0;
    BB_CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    BB_CUDA_TRY(cudaStreamCreateWithPriority(&part->bulk, cudaStreamNonBlocking, least));
    BB_CUDA_TRY(cudaStreamCreateWithPriority(&part->ahead, cudaStreamNonBlocking,
                                             greatest < least ? greatest + 1 : greatest));
    BB_CUDA_TRY(cudaStreamCreateWithPriority(&part->chain, cudaStreamNonBlocking, greatest));
    BB_RETURN_IF_FAILED(take_memory(part));
    BB_CUDA_TRY(cudaMemsetAsync(
        part->inverses, 0,
        static_cast<size_t>(part->layout.blocks * part->plan.block * part->plan.block) *
            word_of(part->arithmetic.storage),
        part->bulk));
    BB_RETURN_IF_FAILED(clear_planes(part));
    if (part->arithmetic.storage == BB_PANEL_HALVES) {
        BB_RETURN_IF_FAILED(bb_split_product_supported());
        BB_RETURN_IF_FAILED(describe(part));
    }
    return open_library(part);
}

} // namespace

static void describe_half_arithmetic(const bb_panel_plan *plan, bb_panel_arithmetic *out)
{
    const bool wide = plan->arithmetic == BB_VARIANT_X3;
    out->storage = BB_PANEL_HALVES;
    out->products = wide ? 3 : 1;
    out->diagonal_products = !wide && plan->diagonal_follows ? 1 : 3;
    out->forward_products = !wide && plan->sweeps != BB_POLICY_SWEEPS_SP ? 1 : 3;
    out->backward_products = !wide && plan->sweeps == BB_POLICY_SWEEPS_FOLLOW ? 1 : 3;
    out->half_tiles = plan->arithmetic == BB_VARIANT_HP2 || plan->arithmetic == BB_VARIANT_HP3;
    out->compute = plan->arithmetic == BB_VARIANT_HP3 ? CUBLAS_COMPUTE_16F : CUBLAS_COMPUTE_32F;
    out->low_plane = out->diagonal_products == 3 || plan->narrow != nullptr ||
                     (plan->sides > 0 && out->backward_products == 3);
}

bb_status bb_panel_arithmetic_of(const bb_panel_plan *plan, bb_panel_arithmetic *out)
{
    bb_panel_arithmetic a = {};
    a.compute = CUBLAS_COMPUTE_32F;
    a.diagonal = CUBLAS_COMPUTE_32F;
    a.storage = BB_PANEL_FP32;
    switch (plan->arithmetic) {
    case BB_VARIANT_DP:
        a.storage = BB_PANEL_FP64;
        a.compute = a.diagonal = CUBLAS_COMPUTE_64F;
        break;
    case BB_VARIANT_SP:
        break;
    case BB_VARIANT_TF32:
        a.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
        break;
    case BB_VARIANT_BF16:
    case BB_VARIANT_FP8:
        a.operand_plane = true;
        a.tile_scale = plan->arithmetic == BB_VARIANT_FP8;
        break;
    case BB_VARIANT_HP1:
    case BB_VARIANT_HP2:
    case BB_VARIANT_HP3:
    case BB_VARIANT_X3:
        describe_half_arithmetic(plan, &a);
        break;
    default:
        return bb_status_set(BB_INVALID, __FILE__, __LINE__, "arithmetic %d, expected a variant",
                             static_cast<int>(plan->arithmetic));
    }
    if (plan->n < 1 || plan->block < 128 || plan->block % 128 != 0 || plan->sides < 0) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "panels of %td columns for n = %td, expected a multiple of 128",
                             plan->block, plan->n);
    }
    *out = a;
    return BB_OK;
}

double bb_panel_part_bytes(const bb_panel_plan *plan, bb_index sides)
{
    bb_panel_part part = {};
    allocation list[MOST_ALLOCATIONS];
    double bytes = 0.0;
    if (bb_panel_arithmetic_of(plan, &part.arithmetic) != BB_OK) {
        return 0.0;
    }
    part.plan = *plan;
    part.sides = sides;
    part.layout = bb_triangle_layout_make(plan->n, plan->block);
    const int count = list_allocations(&part, list);
    for (int i = 0; i < count; ++i) {
        bytes += static_cast<double>(list[i].bytes);
    }
    return bytes + library_bytes;
}

// Part of the blocks below the diagonal that have a second plane: those that are rounded to fp16 as
// tiles leave it empty.
static double second_plane_share(const bb_panel_plan *plan, const bb_panel_arithmetic &arithmetic)
{
    const bb_index blocks = bb_triangle_layout_make(plan->n, plan->block).blocks;
    bb_index wide = 0;
    if (!arithmetic.low_plane || !arithmetic.half_tiles) {
        return arithmetic.low_plane ? 1.0 : 0.0;
    }
    for (bb_index i = 1; plan->narrow != nullptr && i < blocks; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            wide += plan->narrow[i * blocks + j] == 0 ? 1 : 0;
        }
    }
    return blocks > 1 ? 2.0 * static_cast<double>(wide) / static_cast<double>(blocks * (blocks - 1))
                      : 0.0;
}

double bb_panel_factor_bytes(const bb_panel_plan *plan)
{
    bb_panel_arithmetic arithmetic;
    if (bb_panel_arithmetic_of(plan, &arithmetic) != BB_OK) {
        return 0.0;
    }
    const double n = static_cast<double>(plan->n);
    const double block = static_cast<double>(plan->block);
    const double wide = static_cast<double>(word_of(arithmetic.storage));
    const double kept = arithmetic.storage == BB_PANEL_HALVES
                            ? 2.0 + 2.0 * second_plane_share(plan, arithmetic)
                            : wide;
    return 0.5 * n * std::fmax(n - block, 0.0) * kept + n * std::fmin(block, n) * wide;
}

cudaStream_t bb_panel_stream_of(const bb_panel_part *part, bb_panel_stream stream)
{
    return stream == BB_PANEL_BULK ? part->bulk
                                   : (stream == BB_PANEL_AHEAD ? part->ahead : part->chain);
}

bb_status bb_panel_part_create(bb_device *device, const bb_panel_plan *plan, bb_index gpus,
                               bb_index first_side, bb_index sides, bb_panel_part *out)
{
    bb_device_report report;
    bb_panel_arithmetic arithmetic;
    *out = bb_panel_part{};
    BB_RETURN_IF_FAILED(bb_panel_arithmetic_of(plan, &arithmetic));
    if (gpus > 1 && arithmetic.operand_plane) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "%s on %td GPUs: operands in bf16 are not sent, expected 1",
                             bb_variant_describe(plan->arithmetic)->name, gpus);
    }
    BB_RETURN_IF_FAILED(bb_device_describe(device, &report)); // makes it the current one
    BB_CUDA_TRY(cudaGetDevice(&out->ordinal));
    out->device = device;
    out->plan = *plan;
    out->gpus = gpus;
    out->first_side = first_side;
    out->sides = sides;
    out->layout = bb_triangle_layout_make(plan->n, plan->block);
    out->arithmetic = arithmetic;
    bb_status status = start(out);
    if (status != BB_OK) {
        bb_panel_part_release(out);
    }
    return status;
}

void bb_panel_part_release(bb_panel_part *part)
{
    allocation list[MOST_ALLOCATIONS];
    if (part->device == nullptr) {
        return;
    }
    (void)cudaSetDevice(part->ordinal);
    for (cublasHandle_t handle : part->handles) {
        if (handle != nullptr) {
            (void)part->library->destroy(handle);
        }
    }
    const int count = list_allocations(part, list);
    for (int i = 0; i < count; ++i) {
        bb_device_release(part->device, list[i].slot);
    }
    for (cudaStream_t stream : {part->bulk, part->ahead, part->chain}) {
        if (stream != nullptr) {
            (void)cudaStreamDestroy(stream);
        }
    }
    *part = bb_panel_part{};
}

namespace
{

// D in the order of the matrix, or of a panel's rows; ones beyond the last row.
template <typename T>
void write_scale(const bb_panel_part *part, const double *scale, bool panel, T *out)
{
    const bb_index block = part->plan.block;
    for (bb_index i = 0; i < part->layout.blocks; ++i) {
        const bb_index to = (panel ? bb_triangle_position(part->layout, i) : i) * block;
        for (bb_index r = 0; r < block; ++r) {
            const bb_index row = i * block + r;
            const bool given = scale != nullptr && row < part->plan.n;
            out[to + r] = given ? static_cast<T>(scale[row]) : T(1);
        }
    }
}

template <typename T> bb_status upload_scale(bb_panel_part *part, const double *scale)
{
    bb_status status = BB_OK;
    const bb_index count = part->layout.blocks * part->plan.block;
    void *values = nullptr;
    BB_TRY(bb_memory_allocate(count, sizeof(T), &values));
    for (int panel = 0; panel < 2; ++panel) {
        write_scale(part, scale, panel == 1, static_cast<T *>(values));
        cudaError_t error =
            cudaMemcpy(panel == 1 ? part->panel_scale : part->scale, values,
                       static_cast<size_t>(count) * sizeof(T), cudaMemcpyHostToDevice);
        BB_REQUIRE(error == cudaSuccess, BB_DEVICE, "upload of a scale: %s",
                   cudaGetErrorString(error));
    }
done:
    bb_memory_release(&values);
    return status;
}

} // namespace

bb_status bb_panel_set_scale(bb_panel_part *part, const double *scale)
{
    return part->arithmetic.storage == BB_PANEL_FP64 ? upload_scale<double>(part, scale)
                                                     : upload_scale<float>(part, scale);
}
