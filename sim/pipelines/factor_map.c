// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_map.h"

#include "core/memory.h"
#include "sim/input/policy_table.h"

#include <math.h>

static bb_status read_table(const char *file, const bb_policy_facts *facts, bb_index n,
                            bb_policy_table *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(file != NULL, BB_INVALID, "policy table: expected the key table, a file");
    BB_TRY(bb_policy_table_read(file, out));
    BB_REQUIRE(out->tile_rows == facts->tile_rows, BB_INVALID,
               "table '%s' has %td tile rows, expected %td: %td measurements in tiles of %td", file,
               out->tile_rows, facts->tile_rows, n, facts->tile_size);
done:
    return status;
}

bb_status bb_factor_map_create(const bb_factor_problem *problem, const bb_policy_config *policy,
                               bb_variant arithmetic, bb_policy_map **out)
{
    bb_status status = BB_OK;
    double *norms = NULL;
    bb_policy_table table = {0};
    bb_index n = problem->matrix->rows;
    bb_index size = problem->solver->tile < n ? problem->solver->tile : n;
    bb_policy_facts facts = {.tile_rows = (n + size - 1) / size,
                             .tile_size = size,
                             .norm = NAN,
                             .noise_floor = problem->noise_floor};
    *out = NULL;
    if (bb_policy_needs_norm(policy) || bb_policy_needs_tile_norms(policy)) {
        BB_TRY(BB_ALLOCATE(facts.tile_rows * (facts.tile_rows + 1) / 2, &norms));
        BB_TRY(bb_tile_norms(problem->matrix, problem->scale, size, norms));
        facts.tile_norms = norms;
        facts.norm = bb_tile_norms_sum(facts.tile_rows, norms);
    }
    if (policy->kind == (int)BB_POLICY_TABLE) {
        BB_TRY(read_table(policy->table, &facts, n, &table));
        facts.table = table.variants;
    }
    BB_TRY(bb_policy_map_create(policy, arithmetic, &facts, out));
done:
    bb_policy_table_release(&table);
    BB_RELEASE(&norms);
    return status;
}
