// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_map.h"

#include "core/memory.h"
#include "sim/input/policy_table.h"

#include <math.h>

bb_status bb_factor_map_of_table(const bb_policy_config *policy, bb_index n, bb_index size,
                                 bb_variant arithmetic, bb_policy_map **out)
{
    bb_status status = BB_OK;
    bb_policy_table table = {0};
    bb_policy_facts facts = {
        .tile_rows = (n + size - 1) / size, .tile_size = size, .norm = NAN, .noise_floor = NAN};
    *out = NULL;
    BB_REQUIRE(policy->table != NULL, BB_INVALID,
               "policy table: key table is missing, expected a file");
    BB_TRY(bb_policy_table_read(policy->table, &table));
    BB_REQUIRE(table.tile_rows == facts.tile_rows, BB_INVALID,
               "table '%s' has %td tile rows, expected %td: %td measurements in tiles of %td",
               policy->table, table.tile_rows, facts.tile_rows, n, size);
    facts.table = table.variants;
    BB_TRY(bb_policy_map_create(policy, arithmetic, &facts, out));
done:
    bb_policy_table_release(&table);
    return status;
}

bb_status bb_factor_map_norms(const bb_factor_problem *problem, double **out)
{
    bb_status status = BB_OK;
    double *norms = NULL;
    const bb_index n = problem->matrix->rows;
    const bb_index size = problem->solver->tile < n ? problem->solver->tile : n;
    const bb_index rows = (n + size - 1) / size;
    *out = NULL;
    BB_TRY(BB_ALLOCATE(rows * (rows + 1) / 2, &norms));
    BB_TRY(bb_tile_norms(problem->matrix, problem->scale, size, norms));
    *out = norms;
    norms = NULL;
done:
    BB_RELEASE(&norms);
    return status;
}

bb_status bb_factor_map_create(const bb_factor_problem *problem, const bb_policy_config *policy,
                               bb_variant arithmetic, bb_policy_map **out)
{
    bb_status status = BB_OK;
    double *norms = NULL;
    bb_index n = problem->matrix->rows;
    bb_index size = problem->solver->tile < n ? problem->solver->tile : n;
    bb_policy_facts facts = {.tile_rows = (n + size - 1) / size,
                             .tile_size = size,
                             .norm = NAN,
                             .noise_floor = problem->noise_floor};
    *out = NULL;
    if (bb_policy_describe(policy)->by_table) {
        BB_TRY(bb_factor_map_of_table(policy, n, size, arithmetic, out));
        goto done;
    }
    if (bb_policy_describe(policy)->by_tolerance || bb_policy_describe(policy)->by_tile_norms) {
        if (problem->tile_norms == NULL) {
            BB_TRY(bb_factor_map_norms(problem, &norms));
        }
        facts.tile_norms = norms != NULL ? norms : problem->tile_norms;
        facts.norm = bb_tile_norms_sum(facts.tile_rows, facts.tile_norms);
    }
    BB_TRY(bb_policy_map_create(policy, arithmetic, &facts, out));
done:
    BB_RELEASE(&norms);
    return status;
}

// True if a table contains a variant.
static bool contains(const bb_policy_table *table, bb_variant variant)
{
    const bb_index count = table->tile_rows * (table->tile_rows + 1) / 2;
    bb_index t = 0;
    while (t < count && table->variants[t] != variant) {
        ++t;
    }
    return t < count;
}

int bb_factor_map_variants(const bb_policy_config *policy, bb_variant arithmetic,
                           bb_variant out[BB_VARIANT_COUNT])
{
    bb_policy_table table = {0};
    int count = 0;
    if (!bb_policy_describe(policy)->by_table || policy->table == NULL ||
        bb_policy_table_read(policy->table, &table) != BB_OK) {
        bb_status_clear();
        return bb_policy_variants(policy, arithmetic, out);
    }
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        if (v != (int)arithmetic && contains(&table, (bb_variant)v)) {
            out[count++] = (bb_variant)v;
        }
    }
    out[count++] = arithmetic;
    bb_policy_table_release(&table);
    return count;
}
