// SPDX-License-Identifier: Apache-2.0
#include "lib/factorization.h"

#include "core/clock.h"
#include "core/memory.h"
#include "lib/options.h"
#include "lib/symmetry.h"
#include "precision/draw.h"
#include "precision/scaling.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GROUPS = 3 };

// Automatic tiles. Only products into tiles below the diagonal are in the chosen arithmetic, so a
// matrix of one or two tiles would have none.
enum { LEAST = 8, LARGEST = 128, TILES_AUTO = 8 };

static const char *const scale_names[] = {"unit_diagonal", "none", NULL};
static const char *const from_names[] = {"zero", "c", NULL};

// clang-format off
static const bb_key keys[] = {
    {.name = "arithmetic", .kind = BB_KEY_CHOICE, .choices = bb_variant_names,
     .default_text = "dp", .offset = offsetof(bb_factor_config, arithmetic)},
    {.name = "tile", .kind = BB_KEY_INTEGER, .minimum = 8.0, .maximum = 65536.0,
     .default_text = "auto", .word = "auto", .offset = offsetof(bb_factor_config, tile)},
    {.name = "scale", .kind = BB_KEY_CHOICE, .choices = scale_names,
     .default_text = "unit_diagonal", .offset = offsetof(bb_factor_config, scale)},
    {.name = "dither", .kind = BB_KEY_DOUBLE, .minimum = 0.0, .maximum = 0.5,
     .default_text = "0.04", .offset = offsetof(bb_factor_config, dither)},
    {.name = "seed", .kind = BB_KEY_INTEGER, .minimum = 0.0, .maximum = 9e15,
     .default_text = "1", .offset = offsetof(bb_factor_config, seed)},
    {.name = "noise_floor", .kind = BB_KEY_DOUBLE, .minimum = 0.0, .maximum = 1e300,
     .exclusive_minimum = true, .optional = true,
     .offset = offsetof(bb_factor_config, noise_floor)},
    {.name = "accumulate_k", .kind = BB_KEY_INTEGER, .minimum = 1.0, .maximum = 4096.0,
     .default_text = "4", .offset = offsetof(bb_factor_config, accumulate_k)},
    {.name = "accumulate_from", .kind = BB_KEY_CHOICE, .choices = from_names,
     .default_text = "zero", .offset = offsetof(bb_factor_config, accumulate_from)},
    {.name = "sweeps", .kind = BB_KEY_CHOICE, .choices = bb_policy_sweeps_names,
     .default_text = "sp", .offset = offsetof(bb_factor_config, sweeps)},
    {.name = "sweep_energy", .kind = BB_KEY_DOUBLE, .minimum = 0.0, .maximum = 1.0,
     .default_text = "0.003", .offset = offsetof(bb_factor_config, sweep_energy)},
};
// clang-format on
static const bb_schema schema = BB_SCHEMA("factorization", bb_factor_config, keys);

static bool is_own_key_used(const void *record, const char *key)
{
    const bb_factor_config *config = record;
    if (strcmp(key, "sweep_energy") == 0) {
        return config->sweeps == (int)BB_POLICY_SWEEPS_LIGHT;
    }
    if (strcmp(key, "dither") == 0 || strcmp(key, "seed") == 0) {
        return config->scale == 0;
    }
    if (strcmp(key, "noise_floor") == 0) {
        return bb_policy_describe(&config->policy)->by_tolerance && isnan(config->policy.tolerance);
    }
    return true;
}

// A key that only some policies use, or that one policy requires.
static bool is_policy_key_used(const void *record, const char *key)
{
    const bb_policy_config *policy = record;
    bool is_general = true;
    for (int kind = 0; kind < (int)BB_POLICY_COUNT; ++kind) {
        const bb_policy_kind of = (bb_policy_kind)kind;
        const bool uses = bb_policy_uses_key(of, key) || bb_policy_requires(of, key);
        if (uses && kind == policy->kind) {
            return true;
        }
        is_general = is_general && !uses;
    }
    return is_general;
}

static bool is_refine_key_used(const void *record, const char *key)
{
    const bb_refine_config *refine = record;
    return strcmp(key, "method") == 0 || refine->method != (int)BB_REFINE_NONE;
}

static bb_status check_policy(const bb_factor_config *config)
{
    bb_status status = BB_OK;
    const bb_policy_config *policy = &config->policy;
    const bb_policy_kind kind = (bb_policy_kind)policy->kind;
    const char *name = bb_policy_kind_names[kind];
    BB_REQUIRE(!bb_policy_describe(policy)->by_table, BB_UNSUPPORTED,
               "policy %s: the library reads no files; use another policy", name);
    BB_TRY(bb_policy_check(policy, (bb_variant)config->arithmetic));
done:
    return status;
}

static bb_status read_options(const char *text, bb_arena *arena, bb_factor_config *out)
{
    bb_status status = BB_OK;
    const bb_option_group groups[GROUPS] = {
        {"", NULL, &schema, out, is_own_key_used},
        {"policy", "kind", &bb_policy_schema, &out->policy, is_policy_key_used},
        {"refine", "method", &bb_refine_schema, &out->refine, is_refine_key_used},
    };
    const bb_options options = {
        .subject = "factorization", .first = "arithmetic", .groups = groups, .count = GROUPS};
    BB_TRY(bb_options_read(&options, text, arena));
    BB_TRY(check_policy(out));
done:
    return status;
}

// Makes D; a diagonal that cannot be scaled is an outcome.
static bb_status make_scale(bb_factorization *self)
{
    bb_status status = BB_OK;
    const bb_index n = self->report.n;
    bb_outcome *outcome = &self->report.outcome;
    double *diagonal = NULL;
    if (self->config.scale != 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(n, &diagonal));
    BB_TRY(BB_ALLOCATE(n, &self->scale));
    BB_TRY(bb_matrix_source_diagonal(&self->matrix, diagonal));
    for (bb_index i = 0; i < n; ++i) {
        if (!(diagonal[i] > 0.0 && isfinite(diagonal[i]))) {
            bb_outcome_set(outcome,
                           isfinite(diagonal[i]) ? BB_OUTCOME_NOT_SPD : BB_OUTCOME_NON_FINITE,
                           "diagonal %td: %g, expected a positive finite value", i, diagonal[i]);
            goto done;
        }
    }
    BB_TRY(bb_scaling_unit_diagonal(diagonal, n, self->scale));
    if (self->config.dither > 0.0) {
        bb_draw_scale((uint64_t)self->config.seed, BB_STREAM_DITHER, 0, 1.0 - self->config.dither,
                      n, self->scale);
    }
done:
    BB_RELEASE(&diagonal);
    return status;
}

// Resolves the policy, with norms of tiles and the noise floor of D A D if it needs them.
static bb_status make_map(bb_factorization *self)
{
    bb_status status = BB_OK;
    const bb_policy_row *rule = bb_policy_describe(&self->config.policy);
    const bb_index n = self->report.n;
    const bb_index size = self->report.tile < n ? self->report.tile : n;
    bb_policy_facts facts = {.tile_rows = bb_tile_plan_tile_rows(n, size),
                             .tile_size = size,
                             .norm = NAN,
                             .noise_floor = self->config.noise_floor};
    double *norms = NULL;
    double least = 1.0;
    for (bb_index i = 0; self->scale != NULL && i < n; ++i) {
        least = i == 0 ? self->scale[i] : fmin(least, self->scale[i]);
    }
    facts.noise_floor *= least * least;
    if (rule->by_tolerance || rule->by_tile_norms) {
        BB_TRY(BB_ALLOCATE(facts.tile_rows * (facts.tile_rows + 1) / 2, &norms));
        BB_TRY(bb_tile_norms(&self->matrix, self->scale, size, norms));
        facts.tile_norms = norms;
        facts.norm = bb_tile_norms_sum(facts.tile_rows, norms);
    }
    BB_TRY(bb_policy_map_create(&self->config.policy, (bb_variant)self->config.arithmetic, &facts,
                                &self->map));
    self->report.tolerance = self->map->tolerance;
done:
    BB_RELEASE(&norms);
    return status;
}

static void note_work(bb_factorization *self)
{
    const bb_tile_work *work = &self->factor->work;
    double shares[BB_VARIANT_COUNT];
    double flops = 0.0;
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        flops += work->flops[v];
    }
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        shares[v] = work->flops[v] / flops;
    }
    self->report.relative_cost = flops > 0.0 ? bb_variant_relative_cost(shares) : NAN;
    self->report.certificate = work->certificate;
    self->report.saturated = work->saturated;
}

static bb_status factor(bb_factorization *self)
{
    bb_status status = BB_OK;
    const bb_factor_config *config = &self->config;
    uint64_t digest = 0;
    BB_TRY(make_map(self));
    const bb_tile_plan plan = {.tile_size = self->report.tile,
                               .arithmetic = (bb_variant)config->arithmetic,
                               .policy = config->policy,
                               .map = self->map,
                               .sweeps = (bb_policy_sweeps)config->sweeps,
                               .sweep_energy = config->sweep_energy,
                               .sums_from_c = config->accumulate_from == 1};
    BB_TRY(bb_tile_matrix_create(&self->matrix, self->scale, &plan, &self->factor));
    self->report.bytes = (double)bb_tile_matrix_bytes(self->factor);
    BB_TRY(bb_tile_cholesky_factor(self->factor, config->accumulate_k, &self->report.outcome));
    if (self->report.outcome.kind != BB_OUTCOME_OK) {
        bb_tile_matrix_destroy(&self->factor);
        goto done;
    }
    note_work(self);
    BB_TRY(bb_tile_matrix_digest(self->factor, &digest));
    (void)snprintf(self->report.digest, sizeof self->report.digest, "%016" PRIx64, digest);
done:
    return status;
}

static bb_index automatic_tile(bb_index n)
{
    bb_index tile = LARGEST;
    while (tile > LEAST && tile * TILES_AUTO > n) {
        tile /= 2;
    }
    return tile;
}

bb_status bb_factorization_begin(bb_index n, const double *matrix, const char *options,
                                 bb_factorization **out)
{
    bb_status status = BB_OK;
    bb_factorization *self = NULL;
    BB_REQUIRE_POINTER(matrix);
    BB_TRY(bb_library_prepare());
    BB_REQUIRE(n > 0 && n <= INT32_MAX, BB_INVALID, "matrix of %td rows: expected 1 to %d", n,
               INT32_MAX);
    BB_TRY(BB_ZEROED(1, &self));
    BB_TRY(read_options(options, &self->arena, &self->config));
    self->view = bb_view_matrix((double *)(uintptr_t)matrix, n, n);
    self->matrix = bb_matrix_source_dense(&self->view, "matrix", "1");
    self->matrix.symmetric = true;
    self->report = (bb_factorization_report){
        .n = n,
        .tile = self->config.tile == BB_INTEGER_UNSET ? automatic_tile(n) : self->config.tile,
        .bytes = NAN,
        .certificate = NAN,
        .tolerance = NAN,
        .relative_cost = NAN,
        .seconds = NAN};
    BB_TRY(bb_symmetry_check(matrix, n, "matrix", &self->norm, &self->report.outcome));
    BB_TRY(make_scale(self));
    *out = self;
    self = NULL;
done:
    bb_factorization_destroy(&self);
    return status;
}

bb_status bb_factorization_create(bb_index n, const double *matrix, const char *options,
                                  bb_factorization **out)
{
    bb_status status = BB_OK;
    bb_factorization *self = NULL;
    const double start = bb_clock_seconds();
    BB_REQUIRE_POINTER(out);
    *out = NULL;
    BB_TRY(bb_factorization_begin(n, matrix, options, &self));
    BB_TRY(self->report.outcome.kind == BB_OUTCOME_OK ? factor(self) : BB_OK);
    self->report.seconds = bb_clock_seconds() - start;
    *out = self;
    self = NULL;
done:
    bb_factorization_destroy(&self);
    return status;
}

void bb_factorization_destroy(bb_factorization **factorization)
{
    if (factorization == NULL || *factorization == NULL) {
        return;
    }
    bb_factorization *self = *factorization;
    bb_tile_matrix_destroy(&self->factor);
    bb_policy_map_destroy(&self->map);
    bb_arena_release(&self->arena);
    BB_RELEASE(&self->scale);
    BB_RELEASE(factorization);
}

bb_status bb_factorization_describe(const bb_factorization *factorization,
                                    bb_factorization_report *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE_POINTER(factorization);
    BB_REQUIRE_POINTER(out);
    *out = factorization->report;
done:
    return status;
}

static void copy_tile(const bb_tile *tile, bb_index n, double *out)
{
    for (bb_index i = 0; i < tile->rows; ++i) {
        for (bb_index j = 0; j < tile->columns; ++j) {
            const bb_index at = i * tile->columns + j;
            out[i * n + j] = tile->f64 != NULL ? tile->f64[at] : (double)tile->f32[at];
        }
    }
}

bb_status bb_factorization_lower(const bb_factorization *factorization, double *out, double *scale)
{
    bb_status status = BB_OK;
    BB_REQUIRE_POINTER(factorization);
    BB_REQUIRE_POINTER(out);
    const bb_tile_matrix *factor = factorization->factor;
    BB_REQUIRE(factor != NULL, BB_INVALID, "bb_factorization_lower: there is no factor, %s: %s",
               bb_outcome_name(factorization->report.outcome.kind),
               factorization->report.outcome.detail);
    const bb_index n = factor->n;
    for (bb_index i = 0; i < factor->tile_rows; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            copy_tile(bb_tile_matrix_at(factor, i, j), n,
                      out + i * factor->tile_size * n + j * factor->tile_size);
        }
    }
    for (bb_index i = 0; i < n; ++i) {
        memset(out + i * n + i + 1, 0, (size_t)(n - 1 - i) * sizeof *out);
        if (scale != NULL) {
            scale[i] = factorization->scale == NULL ? 1.0 : factorization->scale[i];
        }
    }
done:
    return status;
}
