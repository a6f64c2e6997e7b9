// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_report.h"

#include "core/memory.h"
#include "sim/study.h"

#include <math.h>
#include <stdio.h>

bb_factor_report bb_factor_report_start(void)
{
    bb_factor_report facts = {.tolerance = NAN,
                              .certificate = NAN,
                              .saturated = NAN,
                              .cost = NAN,
                              .escalations = NAN,
                              .iterations_mean = NAN,
                              .iterations_most = NAN,
                              .break_even = NAN};
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        facts.tile_share[v] = NAN;
        facts.product_share[v] = NAN;
    }
    return facts;
}

enum { NUMBERS = 8 };

// clang-format off
static const struct {
    const char *name, *long_name;
    size_t offset;
} numbers[NUMBERS] = {
    {"policy_tolerance", "bound on the relative perturbation that the policy's rule was given",
     offsetof(bb_factor_report, tolerance)},
    {"certificate",
     "bound on norm of A - L L^T over norm of A from rounding the products' operands",
     offsetof(bb_factor_report, certificate)},
    {"saturated_values", "operands of the factorization that were clipped to the format's range",
     offsetof(bb_factor_report, saturated)},
    {"relative_cost", "time of the tiles' updates at nominal rates over that in sp",
     offsetof(bb_factor_report, cost)},
    {"escalations", "factorizations after the first, each more precise than the one that failed",
     offsetof(bb_factor_report, escalations)},
    {"iterations_mean", "iterations of the refinement, mean over right-hand sides",
     offsetof(bb_factor_report, iterations_mean)},
    {"iterations_most", "iterations of the refinement, the most of a right-hand side",
     offsetof(bb_factor_report, iterations_most)},
    {"iterations_break_even", "iterations at which a direct solve with x3 takes as long",
     offsetof(bb_factor_report, break_even)},
};
// clang-format on

static bb_status publish_shares(bb_results *results, bb_index count,
                                const bb_factor_report *const *facts)
{
    bb_status status = BB_OK;
    double tiles[BB_STUDY_PIPELINES * BB_VARIANT_COUNT];
    double products[BB_STUDY_PIPELINES * BB_VARIANT_COUNT];
    for (bb_index i = 0; i < count * BB_VARIANT_COUNT; ++i) {
        tiles[i] = facts[i / BB_VARIANT_COUNT]->tile_share[i % BB_VARIANT_COUNT];
        products[i] = facts[i / BB_VARIANT_COUNT]->product_share[i % BB_VARIANT_COUNT];
    }
    BB_TRY(bb_results_text_axis(results, "results/variant", "variant of the matrix product",
                                BB_VARIANT_COUNT, bb_variant_names));
    BB_TRY(bb_results_values(results, "results/tile_share", "1",
                             "part of the lower tiles that the policy gives a variant",
                             "pipeline, variant", tiles));
    BB_TRY(bb_results_values(results, "results/product_share", "1",
                             "part of the operations of the tiles' updates", "pipeline, variant",
                             products));
done:
    return status;
}

bb_status bb_factor_report_publish(bb_results *results, bb_index count,
                                   const bb_factor_report *const *facts)
{
    bb_status status = BB_OK;
    double values[BB_STUDY_PIPELINES];
    char path[64];
    BB_REQUIRE(count <= BB_STUDY_PIPELINES, BB_INTERNAL, "%td pipelines, expected at most %d",
               count, BB_STUDY_PIPELINES);
    BB_TRY(publish_shares(results, count, facts));
    for (int i = 0; i < NUMBERS; ++i) {
        for (bb_index p = 0; p < count; ++p) {
            const char *base = (const char *)facts[p];
            values[p] = *(const double *)(const void *)(base + numbers[i].offset);
        }
        (void)snprintf(path, sizeof path, "results/%s", numbers[i].name);
        BB_TRY(bb_results_values(results, path, "1", numbers[i].long_name, "pipeline", values));
    }
done:
    return status;
}
