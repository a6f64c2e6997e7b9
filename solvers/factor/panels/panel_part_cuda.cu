// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "solvers/factor/panels/panel_part_cuda.h"

namespace
{

// Addresses of the arrays of a plan, in its order.
struct slots {
    void **array[BB_PANEL_ARRAYS];
};

slots slots_of(bb_panel_part *part)
{
    return {{&part->triangle,
             &part->triangle_lo,
             &part->operands,
             &part->largest_of_blocks,
             &part->side,
             &part->side_lo,
             &part->panels,
             &part->tiles,
             &part->diagonal_tiles[0],
             &part->diagonal_tiles[1],
             &part->sweep[0],
             &part->sweep[1],
             &part->side_panel,
             &part->side_tile,
             &part->diagonals,
             &part->inverses,
             &part->guest_diagonals,
             &part->guest_inverses,
             &part->guest_rows,
             &part->guest_rows_lo,
             &part->guest_operands,
             &part->chunks,
             &part->chunks_lo,
             &part->scratch,
             &part->split[0],
             &part->split[1],
             &part->split_inverse[0][0],
             &part->split_inverse[0][1],
             &part->split_inverse[1][0],
             &part->split_inverse[1][1],
             &part->largest,
             &part->scale,
             &part->panel_scale,
             &part->side_scale,
             &part->breakdown,
             &part->energies,
             &part->sweep_lists,
             &part->workspaces[BB_PANEL_AHEAD],
             &part->workspaces[BB_PANEL_CHAIN],
             &part->workspaces[BB_PANEL_SPLIT_HANDLE]}};
}

// Zeroes memory that is read but never written. Rows past the last one are read before they are
// written. Second planes of blocks in a single plane, entries above the diagonal of an inverse and
// rows beyond those of B are never written.
bb_status clear_arrays(bb_panel_part *part, const size_t bytes[BB_PANEL_ARRAYS])
{
    const slots held = slots_of(part);
    for (bb_panel_array array :
         {BB_PANEL_TRIANGLE, BB_PANEL_TRIANGLE_LO, BB_PANEL_OPERANDS, BB_PANEL_INVERSES,
          BB_PANEL_SIDE, BB_PANEL_SIDE_LO, BB_PANEL_SIDE_PANEL, BB_PANEL_SIDE_TILE}) {
        if (bytes[array] > 0) {
            BB_CUDA_TRY(cudaMemsetAsync(*held.array[array], 0, bytes[array], part->bulk));
        }
    }
    return BB_OK;
}

bb_status allocate_memory(bb_panel_part *part)
{
    const slots held = slots_of(part);
    size_t bytes[BB_PANEL_ARRAYS];
    double needed = 0.0;
    size_t available = 0;
    size_t total = 0;
    static_assert(sizeof(bb_breakdown_cuda) == BB_PANEL_BREAKDOWN_BYTES, "as planned");
    bb_panel_array_bytes(&part->plan, &part->arithmetic, part->layout, part->sides, bytes);
    bb_device_cuda_trim();
    BB_CUDA_TRY(cudaMemGetInfo(&available, &total));
    for (size_t one : bytes) {
        needed += static_cast<double>(one);
    }
    if (needed > static_cast<double>(available)) {
        return bb_status_set(
            BB_MEMORY, __FILE__, __LINE__,
            "GPU memory: factorization of n = %td in panels of %td with %td right-hand sides needs "
            "%.0f bytes on one of %td GPUs, but %zu of %zu are free",
            part->plan.n, part->plan.block, part->plan.sides, needed, part->layout.step, available,
            total);
    }
    for (int a = 0; a < BB_PANEL_ARRAYS; ++a) {
        BB_RETURN_IF_FAILED(bb_device_allocate(part->device, bytes[a], held.array[a]));
    }
    return clear_arrays(part, bytes);
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

// Slots for copies from other GPUs.
bb_status describe_guests(bb_panel_part *part)
{
    const bb_index block = part->plan.block;
    const bb_index multiple = part->layout.blocks * block;
    const bb_index items = block * multiple;
    void *planes = nullptr;
    if (part->guest_rows == nullptr) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(bb_memory_zeroed(2 * part->guests, sizeof(bb_halves), &planes));
    part->guest_row_planes = static_cast<bb_halves *>(planes);
    part->guest_column_planes = part->guest_row_planes + part->guests;
    for (bb_index slot = 0; slot < part->guests; ++slot) {
        __half *hi = static_cast<__half *>(part->guest_rows) + slot * items;
        __half *lo = static_cast<__half *>(part->guest_rows_lo);
        lo = lo != nullptr ? lo + slot * items : nullptr;
        BB_RETURN_IF_FAILED(
            describe_halves(hi, lo, block, multiple, &part->guest_row_planes[slot]));
        BB_RETURN_IF_FAILED(
            describe_halves(hi, lo, multiple, block, &part->guest_column_planes[slot]));
    }
    return BB_OK;
}

bb_status describe_chunks(bb_panel_part *part)
{
    const bb_index multiple = part->layout.blocks * part->plan.block;
    const bb_index rows = bb_panel_plan_chunk(&part->plan) * part->plan.block;
    for (bb_index slot = 0; part->chunks != nullptr && slot < BB_PANEL_CHUNKS_HELD; ++slot) {
        const bb_panel_part chunk = bb_panel_part_chunk(part, slot, 0);
        BB_RETURN_IF_FAILED(describe_halves(chunk.triangle, chunk.triangle_lo, rows, multiple,
                                            &part->chunk_planes[slot]));
    }
    return BB_OK;
}

bb_status describe(bb_panel_part *part)
{
    const bb_index block = part->plan.block;
    const bb_index multiple = part->layout.blocks * block;
    const bb_index held = part->layout.held * block;
    BB_RETURN_IF_FAILED(
        describe_halves(part->side, part->side_lo, part->side_rows, multiple, &part->side_planes));
    BB_RETURN_IF_FAILED(
        describe_halves(part->sweep[0], part->sweep[1], block, multiple, &part->sweep_row_planes));
    BB_RETURN_IF_FAILED(describe_halves(part->sweep[0], part->sweep[1], multiple, block,
                                        &part->sweep_column_planes));
    if (part->arithmetic.split_sides) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(
        describe_halves(part->triangle, part->triangle_lo, bb_triangle_layout_rows(part->layout),
                        bb_triangle_layout_columns(part->layout), &part->triangle_planes));
    BB_RETURN_IF_FAILED(describe_halves(part->split[0], part->split[1],
                                        held > part->side_rows ? held : part->side_rows, block,
                                        &part->panel_planes));
    for (int parity = 0; parity < 2; ++parity) {
        BB_RETURN_IF_FAILED(describe_halves(part->split_inverse[parity][0],
                                            part->split_inverse[parity][1], block, block,
                                            &part->inverse_planes[parity]));
    }
    BB_RETURN_IF_FAILED(describe_chunks(part));
    return describe_guests(part);
}

bb_status open_library(bb_panel_part *part)
{
    BB_RETURN_IF_FAILED(bb_dense_library_open(&part->library));
    for (int s = 0; s < BB_PANEL_HANDLES; ++s) {
        void *workspace = part->workspaces[s];
        const bb_panel_stream stream =
            s == BB_PANEL_SPLIT_HANDLE ? BB_PANEL_BULK : static_cast<bb_panel_stream>(s);
        BB_CUBLAS_TRY(part->library->create(&part->handles[s]));
        BB_CUBLAS_TRY(
            part->library->set_stream(part->handles[s], bb_panel_stream_of(part, stream)));
        BB_CUBLAS_TRY(part->library->set_workspace(
            part->handles[s], workspace, workspace != nullptr ? BB_PANEL_WORKSPACE_BYTES : 0));
        const bb_panel_arithmetic &kinds = part->arithmetic;
        if (kinds.half_tiles || kinds.half_diagonal ||
            kinds.half_sides) { // partial sums stay in the format of the sum
            BB_CUBLAS_TRY(part->library->set_math_mode(
                part->handles[s], CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
        }
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
    BB_CUDA_TRY(cudaStreamCreateWithPriority(&part->fetch, cudaStreamNonBlocking, greatest));
    BB_CUDA_TRY(cudaStreamCreateWithPriority(&part->store, cudaStreamNonBlocking, greatest));
    for (cudaEvent_t *event : {&part->fill_begin, &part->fill_end}) {
        BB_CUDA_TRY(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    }
    BB_RETURN_IF_FAILED(allocate_memory(part));
    if (part->arithmetic.storage == BB_PANEL_HALVES || part->arithmetic.split_sides) {
        BB_RETURN_IF_FAILED(bb_split_product_supported());
        BB_RETURN_IF_FAILED(describe(part));
    }
    return open_library(part);
}

} // namespace

cudaStream_t bb_panel_stream_of(const bb_panel_part *part, bb_panel_stream stream)
{
    switch (stream) {
    case BB_PANEL_BULK:
        return part->bulk;
    case BB_PANEL_AHEAD:
        return part->ahead;
    case BB_PANEL_CHAIN:
        return part->chain;
    default:
        return part->fetch;
    }
}

bb_panel_part bb_panel_part_chunk(const bb_panel_part *part, bb_index slot, bb_index top)
{
    const bb_index multiple = part->layout.blocks * part->plan.block;
    const bb_index items = bb_panel_plan_chunk(&part->plan) * part->plan.block * multiple;
    bb_panel_part chunk = *part;
    chunk.layout = bb_triangle_layout_strip(part->plan.n, part->plan.block, top, 0, multiple);
    chunk.triangle = static_cast<__half *>(part->chunks) + slot * items;
    chunk.triangle_lo = part->chunks_lo == nullptr
                            ? nullptr
                            : static_cast<__half *>(part->chunks_lo) + slot * items;
    chunk.triangle_planes = part->chunk_planes[slot];
    chunk.reads_guests = true;
    return chunk;
}

bb_status bb_panel_part_create(bb_device *device, const bb_panel_plan *plan, bb_index gpus,
                               bb_index gpu, bb_panel_part *out)
{
    bb_device_report report;
    bb_panel_arithmetic arithmetic;
    *out = bb_panel_part{};
    BB_RETURN_IF_FAILED(bb_panel_arithmetic_of(plan, &arithmetic));
    BB_RETURN_IF_FAILED(bb_device_describe(device, &report)); // makes it current
    BB_CUDA_TRY(cudaGetDevice(&out->ordinal));
    out->device = device;
    out->plan = *plan;
    out->width = bb_panel_plan_width(plan);
    out->guests = bb_panel_plan_guests(plan);
    out->first_side = bb_panel_plan_side(plan, gpus, gpu);
    out->sides = bb_panel_plan_side(plan, gpus, gpu + 1) - out->first_side;
    out->side_rows =
        out->sides > 0 && out->sides < BB_PANEL_LEAST_SIDES ? BB_PANEL_LEAST_SIDES : out->sides;
    out->layout = bb_panel_plan_layout(plan, gpus, gpu);
    out->arithmetic = arithmetic;
    bb_status status = start(out);
    if (status != BB_OK) {
        bb_panel_part_release(out);
    }
    return status;
}

void bb_panel_part_release(bb_panel_part *part)
{
    if (part->device == nullptr) {
        return;
    }
    (void)cudaSetDevice(part->ordinal);
    for (cublasHandle_t handle : part->handles) {
        if (handle != nullptr) {
            (void)part->library->destroy(handle);
        }
    }
    void *counts = part->heavy_blocks;
    void *planes = part->guest_row_planes;
    bb_memory_release(&counts);
    bb_memory_release(&planes);
    for (void **slot : slots_of(part).array) {
        bb_device_release(part->device, slot);
    }
    for (cudaStream_t stream : {part->bulk, part->ahead, part->chain, part->fetch, part->store}) {
        if (stream != nullptr) {
            (void)cudaStreamDestroy(stream);
        }
    }
    for (cudaEvent_t event : {part->fill_begin, part->fill_end}) {
        if (event != nullptr) {
            (void)cudaEventDestroy(event);
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
    const bb_index count = panel ? part->layout.held : part->layout.blocks;
    for (bb_index position = 0; position < count; ++position) {
        const bb_index i = panel ? bb_triangle_layout_block_at(part->layout, position) : position;
        for (bb_index r = 0; r < block; ++r) {
            const bb_index row = i * block + r;
            const bool given = scale != nullptr && row < part->plan.n;
            out[position * block + r] = given ? static_cast<T>(scale[row]) : T(1);
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
        const bb_index items = panel == 1 ? part->layout.held * part->plan.block : count;
        write_scale(part, scale, panel == 1, static_cast<T *>(values));
        cudaError_t error =
            cudaMemcpy(panel == 1 ? part->panel_scale : part->scale, values,
                       static_cast<size_t>(items) * sizeof(T), cudaMemcpyHostToDevice);
        BB_REQUIRE(error == cudaSuccess, BB_DEVICE, "cannot upload a scale: %s",
                   cudaGetErrorString(error));
    }
done:
    bb_memory_release(&values);
    return status;
}

} // namespace

bb_status bb_panel_part_set_scale(bb_panel_part *part, const double *scale)
{
    return part->arithmetic.storage == BB_PANEL_FP64 ? upload_scale<double>(part, scale)
                                                     : upload_scale<float>(part, scale);
}
