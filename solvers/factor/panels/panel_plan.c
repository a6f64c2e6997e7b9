// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/panels/panel_plan.h"

#include <math.h>

static const size_t half_bytes = 2;
static const double library_bytes = 2.0e8; // three cuBLAS handles, measured on an H200

// Number of blocks below the diagonal that are stored in one plane of fp16.
static bb_index count_half_blocks(const bb_panel_plan *plan)
{
    const bb_index blocks = bb_triangle_layout_make(plan->n, plan->block).blocks;
    bb_index count = 0;
    for (bb_index i = 1; i < blocks; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            const bb_variant variant = (bb_variant)plan->variants[i * blocks + j];
            count += bb_variant_describe(variant)->output == BB_FORMAT_FP16;
        }
    }
    return count;
}

// True if one of the variants that blocks may have satisfies the predicate.
static bool may_have(const bb_panel_plan *plan, bool (*is_alike)(const bb_variant_info *info))
{
    bool found = plan->given == 0 && is_alike(bb_variant_describe(plan->arithmetic));
    for (int v = 0; v < (int)BB_VARIANT_COUNT; ++v) {
        found = found || ((plan->given >> v & 1U) != 0 && is_alike(bb_variant_describe(v)));
    }
    return found;
}

static bool is_wide(const bb_variant_info *info)
{
    return info->products == 3;
}

static bool is_rounded(const bb_variant_info *info)
{
    return info->output == BB_FORMAT_FP16;
}

// True if a block below the diagonal uses three products.
static bool has_wide_block(const bb_panel_plan *plan)
{
    const bb_index blocks = bb_triangle_layout_make(plan->n, plan->block).blocks;
    for (bb_index i = 1; plan->variants != NULL && i < blocks; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            const bb_variant variant = (bb_variant)plan->variants[i * blocks + j];
            if (bb_variant_describe(variant)->products == 3) {
                return true;
            }
        }
    }
    return plan->variants == NULL && may_have(plan, is_wide);
}

static bool in_halves(unsigned variant)
{
    return variant < BB_VARIANT_COUNT &&
           bb_variant_describe((bb_variant)variant)->panels == BB_VARIANT_PANELS_HALVES;
}

static bb_status check_variants(const bb_panel_plan *plan)
{
    bb_status status = BB_OK;
    const bb_index blocks = bb_triangle_layout_make(plan->n, plan->block).blocks;
    for (bb_index i = 1; plan->variants != NULL && i < blocks; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            const unsigned variant = plan->variants[i * blocks + j];
            BB_REQUIRE(in_halves(variant) && in_halves(plan->arithmetic), BB_INVALID,
                       "block (%td, %td): variant %u cannot be mixed with %s; use hp1, hp2, hp3 "
                       "and x3 only",
                       i, j, variant, bb_variant_names[plan->arithmetic]);
        }
    }
done:
    return status;
}

static void describe_half_arithmetic(const bb_panel_plan *plan, bb_panel_arithmetic *out)
{
    const bb_variant_info *info = bb_variant_describe(plan->arithmetic);
    const bool wide = info->products == 3;
    const bool half = info->output == BB_FORMAT_FP16;
    out->storage = BB_PANEL_HALVES;
    out->products = info->products;
    out->diagonal_products = !wide && plan->diagonal_follows ? 1 : 3;
    out->light_sweeps = !wide && plan->sweeps == BB_POLICY_SWEEPS_LIGHT;
    out->backward_products = !wide && plan->sweeps == BB_POLICY_SWEEPS_FOLLOW ? 1 : 3;
    out->forward_products =
        !wide && plan->sweeps == BB_POLICY_SWEEPS_FORWARD ? 1 : out->backward_products;
    out->half_tiles =
        plan->variants != NULL ? count_half_blocks(plan) > 0 : may_have(plan, is_rounded);
    out->half_diagonal = half && out->diagonal_products == 1;
    out->half_sides = half && out->forward_products == 1;
    out->compute =
        info->accumulator == BB_FORMAT_FP16 ? BB_PANEL_COMPUTE_FP16 : BB_PANEL_COMPUTE_FP32;
    out->low_plane = out->diagonal_products == 3 || plan->variants != NULL || plan->given != 0 ||
                     (plan->sides > 0 && out->backward_products == 3);
    out->low_rows = has_wide_block(plan) || (plan->sides > 0 && out->backward_products == 3);
    out->low_chunks = has_wide_block(plan);
    out->keeps_inverses = plan->sides > 0 && info->products == 1;
}

// The current panels are the panels of one run, and a chunk consists of whole panels.
static bb_status check_swap(const bb_panel_plan *plan, const bb_panel_arithmetic *arithmetic)
{
    bb_status status = BB_OK;
    const bb_index chunk = bb_panel_plan_run(plan) / 4;
    BB_REQUIRE(!plan->swapped || arithmetic->storage == BB_PANEL_HALVES, BB_UNSUPPORTED,
               "L of %s in host memory is not supported: use hp1, hp2, hp3 or x3, or a GPU with "
               "enough memory",
               bb_variant_names[plan->arithmetic]);
    BB_REQUIRE(!plan->swapped || bb_panel_plan_run(plan) % (4 * plan->block) == 0, BB_UNSUPPORTED,
               "L in host memory with panels of %td columns: use a power of two up to %td, or a "
               "GPU with enough memory",
               plan->block, chunk);
done:
    return status;
}

bb_status bb_panel_arithmetic_of(const bb_panel_plan *plan, bb_panel_arithmetic *out)
{
    bb_status status = BB_OK;
    bb_panel_arithmetic a = {.storage = BB_PANEL_FP32};
    BB_REQUIRE((unsigned)plan->arithmetic < BB_VARIANT_COUNT, BB_INVALID,
               "arithmetic %d is not a variant", (int)plan->arithmetic);
    BB_REQUIRE(plan->n >= 1 && plan->block >= 128 && plan->block % 128 == 0 && plan->sides >= 0,
               BB_INVALID, "panels of %td columns for n = %td: use a multiple of 128", plan->block,
               plan->n);
    BB_REQUIRE(plan->run >= 0 && plan->run % 64 == 0, BB_INVALID,
               "runs with a depth of %td: use a multiple of 64, or 0", plan->run);
    BB_TRY(check_variants(plan));
    const bb_variant_info *info = bb_variant_describe(plan->arithmetic);
    switch (info->panels) {
    case BB_VARIANT_PANELS_FP64:
        a.storage = BB_PANEL_FP64;
        a.compute = a.diagonal = BB_PANEL_COMPUTE_FP64;
        break;
    case BB_VARIANT_PANELS_FP32:
        break;
    case BB_VARIANT_PANELS_NARROWED: // tf32 is narrowed by cuBLAS, the others have a plane of
                                     // operands
        a.operand_plane = info->operand != BB_FORMAT_TF32;
        a.tile_scale = info->operand == BB_FORMAT_E4M3;
        a.compute = a.operand_plane ? BB_PANEL_COMPUTE_FP32 : BB_PANEL_COMPUTE_TF32;
        a.split_sides = plan->unit_diagonal;
        a.forward_products = a.backward_products = 3;
        break;
    case BB_VARIANT_PANELS_HALVES:
        describe_half_arithmetic(plan, &a);
        break;
    }
    BB_TRY(check_swap(plan, &a));
    *out = a;
done:
    return status;
}

bb_index bb_panel_plan_side(const bb_panel_plan *plan, bb_index gpus, bb_index gpu)
{
    return plan->sides * gpu / gpus;
}

// Three slots with sides: a block row is in use until the rows of B have been swept by it, while
// the next one is read and the one after it is copied.
bb_index bb_panel_plan_guests(const bb_panel_plan *plan)
{
    const bb_index guests = plan->sides > 0 ? 3 : 2;
    return plan->swapped ? bb_panel_plan_width(plan) : guests;
}

bb_index bb_panel_plan_run(const bb_panel_plan *plan)
{
    return plan->run > 0 ? plan->run : BB_PANEL_RUN;
}

bb_index bb_panel_plan_width(const bb_panel_plan *plan)
{
    return plan->swapped ? bb_panel_plan_run(plan) / plan->block : 2;
}

bb_index bb_panel_plan_chunk(const bb_panel_plan *plan)
{
    return bb_panel_plan_run(plan) / 4 / plan->block;
}

bb_triangle_layout bb_panel_plan_layout(const bb_panel_plan *plan, bb_index gpus, bb_index gpu)
{
    return plan->swapped
               ? bb_triangle_layout_strip(plan->n, plan->block, 0, 0, bb_panel_plan_run(plan))
               : bb_triangle_layout_share(plan->n, plan->block, gpu, gpus);
}

double bb_panel_plan_swap_bytes(const bb_panel_plan *plan)
{
    const bb_triangle_layout layout = bb_triangle_layout_make(plan->n, plan->block);
    return plan->swapped ? (double)half_bytes * (double)bb_triangle_layout_rows(layout) *
                               (double)bb_triangle_layout_columns(layout)
                         : 0.0;
}

// Remote blocks copied from other GPUs.
static void count_guests(const bb_panel_plan *plan, const bb_panel_arithmetic *arithmetic,
                         size_t multiple, size_t word, size_t out[BB_PANEL_ARRAYS])
{
    const bool halves = arithmetic->storage == BB_PANEL_HALVES;
    const size_t block = (size_t)plan->block;
    const size_t row = (size_t)bb_panel_plan_guests(plan) * block * multiple;
    const bool values = plan->sides > 0 || !arithmetic->operand_plane;
    const bool substitutes = plan->sides > 0 && !arithmetic->keeps_inverses;
    out[BB_PANEL_GUEST_DIAGONALS] = substitutes ? 2 * block * block * word : 0;
    out[BB_PANEL_GUEST_INVERSES] = 2 * block * block * word;
    out[BB_PANEL_GUEST_ROWS] = values ? row * (halves ? half_bytes : word) : 0;
    out[BB_PANEL_GUEST_ROWS_LO] = arithmetic->low_rows ? row * half_bytes : 0;
    out[BB_PANEL_GUEST_OPERANDS] = arithmetic->operand_plane ? row * half_bytes : 0;
}

// Blocks copied from the host.
static void count_swap(const bb_panel_plan *plan, const bb_panel_arithmetic *arithmetic,
                       size_t multiple, size_t out[BB_PANEL_ARRAYS])
{
    const size_t rows = (size_t)bb_panel_plan_guests(plan) * (size_t)plan->block;
    const size_t chunks =
        (size_t)BB_PANEL_CHUNKS_HELD * (size_t)(bb_panel_plan_chunk(plan) * plan->block);
    out[BB_PANEL_GUEST_ROWS] = rows * multiple * half_bytes;
    out[BB_PANEL_GUEST_ROWS_LO] = arithmetic->low_plane ? rows * multiple * half_bytes : 0;
    out[BB_PANEL_CHUNKS] = chunks * multiple * half_bytes;
    out[BB_PANEL_CHUNKS_LO] = arithmetic->low_chunks ? chunks * multiple * half_bytes : 0;
}

void bb_panel_array_bytes(const bb_panel_plan *plan, const bb_panel_arithmetic *arithmetic,
                          bb_triangle_layout layout, bb_index sides, size_t out[BB_PANEL_ARRAYS])
{
    const bool halves = arithmetic->storage == BB_PANEL_HALVES;
    const size_t block = (size_t)plan->block;
    const size_t multiple = (size_t)layout.blocks * block;
    const size_t held = (size_t)layout.held * block;
    const bb_index padded = sides > BB_PANEL_LEAST_SIDES ? sides : BB_PANEL_LEAST_SIDES;
    const size_t own = (size_t)(sides > 0 ? padded : 0);
    const size_t word = arithmetic->storage == BB_PANEL_FP64 ? sizeof(double) : sizeof(float);
    const size_t kept = halves ? half_bytes : word;
    const size_t half = halves ? half_bytes : 0; // bytes per half value, 0 without half planes
    const size_t triangle =
        (size_t)bb_triangle_layout_rows(layout) * (size_t)bb_triangle_layout_columns(layout);
    const size_t rows = held > own ? held : own;
    const bool splits = halves || arithmetic->split_sides;
    const size_t width = (size_t)bb_panel_plan_width(plan);
    const size_t all = (size_t)(layout.blocks * layout.blocks);
    const size_t inverses = arithmetic->keeps_inverses || layout.held < 2 ? held : 2 * block;
    for (int a = 0; a < (int)BB_PANEL_ARRAYS; ++a) {
        out[a] = 0;
    }
    out[BB_PANEL_TRIANGLE] = triangle * kept;
    out[BB_PANEL_TRIANGLE_LO] = arithmetic->low_plane ? triangle * kept : 0;
    out[BB_PANEL_OPERANDS] = arithmetic->operand_plane ? triangle * half_bytes : 0;
    out[BB_PANEL_LARGEST_OF_BLOCKS] =
        arithmetic->tile_scale ? (size_t)layout.held * sizeof(float) : 0;
    out[BB_PANEL_SIDE] = own * multiple * (splits ? half_bytes : word);
    out[BB_PANEL_SIDE_LO] = splits ? own * multiple * half_bytes : 0;
    out[BB_PANEL_SWEEP] = arithmetic->split_sides && own > 0 ? block * multiple * half_bytes : 0;
    out[BB_PANEL_SWEEP_LO] = out[BB_PANEL_SWEEP];
    out[BB_PANEL_PANELS] = width * held * block * word;
    out[BB_PANEL_TILES] = arithmetic->half_tiles ? width * held * block * half_bytes : 0;
    out[BB_PANEL_DIAGONAL_TILE] = arithmetic->half_diagonal ? block * block * half_bytes : 0;
    out[BB_PANEL_DIAGONAL_TILE_NEXT] = out[BB_PANEL_DIAGONAL_TILE];
    out[BB_PANEL_SIDE_PANEL] = own * block * word;
    out[BB_PANEL_SIDE_TILE] = arithmetic->half_sides ? own * block * half_bytes : 0;
    out[BB_PANEL_DIAGONALS] = held * block * word;
    out[BB_PANEL_INVERSES] = inverses * block * word;
    if (layout.step > 1) {
        count_guests(plan, arithmetic, multiple, word, out);
    }
    if (plan->swapped) {
        count_swap(plan, arithmetic, multiple, out);
    }
    out[BB_PANEL_SCRATCH] = block * block * word;
    out[BB_PANEL_SPLIT] = out[BB_PANEL_SPLIT_LO] = rows * block * half;
    out[BB_PANEL_EVEN_INVERSE] = out[BB_PANEL_EVEN_INVERSE_LO] = block * block * half;
    out[BB_PANEL_ODD_INVERSE] = out[BB_PANEL_ODD_INVERSE_LO] = block * block * half;
    out[BB_PANEL_LARGEST] = 2 * sizeof(float);
    out[BB_PANEL_SCALE] = multiple * word;
    out[BB_PANEL_PANEL_SCALE] = held * word;
    out[BB_PANEL_SIDE_SCALE] = splits ? own * sizeof(float) : 0;
    out[BB_PANEL_BREAKDOWN] = BB_PANEL_BREAKDOWN_BYTES;
    out[BB_PANEL_ENERGIES] = arithmetic->light_sweeps ? all * sizeof(double) : 0;
    out[BB_PANEL_SWEEP_LISTS] = arithmetic->light_sweeps ? 2 * all * sizeof(int) : 0;
    out[BB_PANEL_WORKSPACE_AHEAD] = out[BB_PANEL_WORKSPACE_CHAIN] = BB_PANEL_WORKSPACE_BYTES;
    out[BB_PANEL_WORKSPACE_SPLIT] = BB_PANEL_WORKSPACE_BYTES;
}

// Seconds per entry of R copied to the host.
static const double transfer_seconds = 3.0e-9;

// Seconds per byte of first touch and pinning: 15.5 s for 80 GB on a host with an H200.
static const double locking_seconds = 1.9e-10;

static double seconds_of(const bb_panel_plan *plan)
{
    const double n = (double)plan->n;
    const double sides = (double)plan->sides;
    double shares[BB_VARIANT_COUNT] = {0.0};
    shares[plan->arithmetic] = 1.0;
    const double flops = n * n * n / 3.0 + 2.0 * n * n * sides;
    return flops * bb_variant_relative_cost(shares) / BB_NEED_DEVICE_RATE +
           transfer_seconds * n * sides;
}

// Device memory of one GPU among several.
static double bytes_of(const bb_panel_plan *plan, const bb_panel_arithmetic *arithmetic,
                       bb_index gpus, bb_index gpu)
{
    size_t arrays[BB_PANEL_ARRAYS];
    double bytes = library_bytes;
    const bb_triangle_layout layout = bb_panel_plan_layout(plan, gpus, gpu);
    const bb_index sides =
        bb_panel_plan_side(plan, gpus, gpu + 1) - bb_panel_plan_side(plan, gpus, gpu);
    bb_panel_array_bytes(plan, arithmetic, layout, sides, arrays);
    for (int a = 0; a < (int)BB_PANEL_ARRAYS; ++a) {
        bytes += (double)arrays[a];
    }
    return bytes;
}

bb_need bb_panel_plan_need(const bb_panel_plan *plan, bb_index gpus)
{
    bb_panel_arithmetic arithmetic = {0};
    double bytes = 0.0;
    if (bb_panel_arithmetic_of(plan, &arithmetic) != BB_OK) {
        return (bb_need){0};
    }
    for (bb_index gpu = 0; gpu < gpus; ++gpu) {
        bytes = fmax(bytes, bytes_of(plan, &arithmetic, gpus, gpu));
    }
    const double host_bytes = (arithmetic.low_plane ? 2.0 : 1.0) * bb_panel_plan_swap_bytes(plan);
    return (bb_need){.host_bytes = host_bytes,
                     .device_bytes = bytes,
                     .seconds = seconds_of(plan) + locking_seconds * host_bytes};
}

void bb_panel_plan_place(bb_panel_plan *plan, bb_index gpus, double limit)
{
    bb_panel_plan swapped = *plan;
    bb_panel_arithmetic arithmetic;
    swapped.swapped = true;
    if (limit == 0.0 || gpus > 1 || bb_panel_plan_need(plan, gpus).device_bytes <= limit) {
        return;
    }
    if (bb_panel_arithmetic_of(&swapped, &arithmetic) != BB_OK) {
        bb_status_clear(); // the error of an impossible plan
        return;
    }
    plan->swapped = bb_panel_plan_need(&swapped, gpus).device_bytes <
                    bb_panel_plan_need(plan, gpus).device_bytes;
}

bb_status bb_panel_plan_check_host(const bb_panel_plan *plan, double host_bytes)
{
    bb_status status = BB_OK;
    const double needed = bb_panel_plan_need(plan, 1).host_bytes;
    BB_REQUIRE(
        needed <= host_bytes, BB_MEMORY,
        "host memory: L of n = %td needs %.1f GB of pinned memory, but this machine has %.1f GB",
        plan->n, 1e-9 * needed, 1e-9 * host_bytes);
done:
    return status;
}

// Share of the blocks below the diagonal with a second plane; blocks rounded to fp16 like tiles
// leave it empty.
static double second_plane_share(const bb_panel_plan *plan, const bb_panel_arithmetic *arithmetic)
{
    const bb_index blocks = bb_triangle_layout_make(plan->n, plan->block).blocks;
    const bb_index below = blocks * (blocks - 1) / 2;
    if (!arithmetic->low_plane || !arithmetic->half_tiles) {
        return arithmetic->low_plane ? 1.0 : 0.0;
    }
    const bb_index wide = plan->variants != NULL ? below - count_half_blocks(plan) : 0;
    return below > 0 ? (double)wide / (double)below : 0.0;
}

double bb_panel_plan_factor_bytes(const bb_panel_plan *plan)
{
    bb_panel_arithmetic arithmetic = {0};
    if (bb_panel_arithmetic_of(plan, &arithmetic) != BB_OK) {
        return 0.0;
    }
    const double n = (double)plan->n;
    const double block = (double)plan->block;
    const double wide = arithmetic.storage == BB_PANEL_FP64 ? 8.0 : 4.0;
    const double planes = 2.0 + 2.0 * second_plane_share(plan, &arithmetic);
    const double kept = arithmetic.storage == BB_PANEL_HALVES ? planes : wide;
    return 0.5 * n * fmax(n - block, 0.0) * kept + n * fmin(block, n) * wide;
}
