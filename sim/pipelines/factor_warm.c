// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_warm.h"

#include "core/memory.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_map.h"

#include <math.h>

enum { LARGEST_TILE = 1024, TILES = 6, ROWS = 8, KEPT = 64 };

bb_factor_kernels bb_factor_kernels_of(const bb_factor_pipeline *pipeline)
{
    bb_factor_kernels out = {.diagonal = pipeline->policy.diagonal, .sweeps = pipeline->sweeps};
    out.count =
        bb_factor_map_variants(&pipeline->policy, (bb_variant)pipeline->arithmetic, out.variants);
    return out;
}

bool bb_factor_kernels_same(const bb_factor_kernels *a, const bb_factor_kernels *b)
{
    bool same = a->count == b->count && a->diagonal == b->diagonal && a->sweeps == b->sweeps;
    for (int v = 0; same && v < a->count; ++v) {
        same = a->variants[v] == b->variants[v];
    }
    return same;
}

// Factors and solves the identity. A policy is replaced by a table in which all its variants have
// tiles off the diagonal.
static bb_status factor_identity(const bb_factor_solver_config *solver,
                                 const bb_factor_pipeline *pipeline,
                                 const bb_factor_kernels *kernels)
{
    bb_status status = BB_OK;
    bb_factor_solver_config small = *solver;
    bb_factor_pipeline plain = *pipeline;
    bb_policy_map *map = NULL;
    bb_variant table[TILES * (TILES + 1) / 2];
    double *r = NULL;
    bb_outcome outcome = {0};
    bb_factor_device_times times;
    small.tile = solver->tile < LARGEST_TILE ? solver->tile : LARGEST_TILE;
    plain.policy =
        (bb_policy_config){.kind = BB_POLICY_UNIFORM, .diagonal = pipeline->policy.diagonal};
    if (kernels->count > 1) {
        plain.sweeps = BB_POLICY_SWEEPS_SP;
        plain.policy.kind = BB_POLICY_TABLE;
        plain.policy.inside = (int)kernels->variants[0]; // replaces the variant read from a file
    }
    for (bb_index row = 0; row < TILES; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            table[row * (row + 1) / 2 + column] =
                kernels->variants[(row - column) % kernels->count];
        }
    }
    const bb_index n = TILES * small.tile;
    const bb_matrix_source matrix = bb_matrix_source_identity(n, n);
    const bb_matrix_source rows = bb_matrix_source_identity(ROWS, n);
    const bb_matrix_source *const sides[] = {&rows};
    const bb_factor_problem problem = {
        .solver = &small, .matrix = &matrix, .target_count = 1, .sides = sides, .noise_floor = NAN};
    const bb_policy_facts facts = {
        .tile_rows = TILES, .tile_size = small.tile, .noise_floor = NAN, .table = table};
    BB_TRY(bb_policy_map_create(&plain.policy, (bb_variant)plain.arithmetic, &facts, &map));
    BB_TRY(bb_factor_device_solve(&problem, &plain, map, &r, &outcome, &times));
done:
    bb_policy_map_destroy(&map);
    BB_RELEASE(&r);
    return status;
}

bb_status bb_factor_warm(const bb_factor_solver_config *solver, const bb_factor_pipeline *pipeline)
{
    static bb_factor_kernels warm[KEPT];
    static int count;
    bb_status status = BB_OK;
    const bb_factor_kernels kernels = bb_factor_kernels_of(pipeline);
    for (int i = 0; i < count; ++i) {
        if (bb_factor_kernels_same(&warm[i], &kernels)) {
            return BB_OK;
        }
    }
    BB_TRY(factor_identity(solver, pipeline, &kernels));
    if (count < KEPT) {
        warm[count++] = kernels;
    }
done:
    return status;
}
