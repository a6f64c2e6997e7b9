// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_device.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/input/policy_table.h"
#include "sim/pipelines/factor_engine.h"
#include "sim/pipelines/factor_map.h"
#include "sim/pipelines/factor_panels.h"
#include "solvers/factor/tiles/tile_matrix.h"

#include <math.h>
#include <stdio.h>

// CUDA functions, NULL in builds without CUDA.
static const struct {
    bb_status (*check)(const bb_panel_plan *plan);
    bb_status (*solve)(const bb_factor_problem *problem, const bb_panel_plan *plan,
                       const bb_policy_map *map, double **r, bb_outcome *outcome,
                       bb_factor_device_times *times);
    bb_status (*score)(bb_index gpus, bb_device *const *devices, const bb_matrix_source *cmm,
                       bb_index count, const bb_residual_task *tasks);
} panels = {BB_CUDA_TWIN(bb_panel_plan_check), BB_CUDA_TWIN(bb_factor_panels_solve),
            BB_CUDA_TWIN(bb_residual_covariance_device)};
static const char absent[] = "factorization by panels: this build has no CUDA";

// Automatic tiles are those of the example studies timed on a GPU.
enum { STEP = 128, LARGEST_AUTO = 1024, TILES_AUTO = 20 };

bb_index bb_factor_device_tile(const bb_factor_solver_config *solver, bb_index n)
{
    bb_index tile = STEP;
    while (tile < LARGEST_AUTO && 2 * tile * TILES_AUTO <= n) {
        tile *= 2;
    }
    return solver->tile == BB_INTEGER_UNSET ? tile : (solver->tile + STEP - 1) / STEP * STEP;
}

bb_index bb_factor_device_block(const bb_factor_solver_config *solver, bb_index n)
{
    const bb_index tile = bb_factor_device_tile(solver, n);
    return tile < n ? tile : (n + STEP - 1) / STEP * STEP;
}

void bb_factor_device_resolve_tile(const bb_list *pipelines, int study_device, bb_index n,
                                   bb_factor_solver_config *solver)
{
    const bb_factor_pipeline *items = pipelines->items;
    const bb_index written = solver->tile;
    bool on_device = false;
    for (bb_index p = 0; p < pipelines->count; ++p) {
        on_device = on_device || bb_factor_device_supports(solver, &items[p], study_device);
    }
    solver->tile = on_device                     ? bb_factor_device_tile(solver, n)
                   : written == BB_INTEGER_UNSET ? (bb_index)STEP
                                                 : written;
    solver->spectrum.size = written == BB_INTEGER_UNSET ? solver->tile : written;
}

// Adds a line to the plan, or logs a warning.
static bb_status print_line(const char *text, bb_plan *lines)
{
    if (lines != NULL) {
        return bb_plan_add(lines, "tile", "%s", text);
    }
    bb_log_warning("%s", text);
    return BB_OK;
}

bb_status bb_factor_device_print_single(const bb_list *pipelines, bb_index tile, bb_index n,
                                        bb_plan *lines)
{
    const bb_factor_pipeline *items = pipelines->items;
    char text[200];
    const bb_index tile_rows = bb_tile_plan_tile_rows(n, tile);
    bool is_unused = false;
    for (bb_index p = 0; p < pipelines->count; ++p) {
        const bb_variant_panels kind = bb_variant_describe((bb_variant)items[p].arithmetic)->panels;
        const bool narrows = kind == BB_VARIANT_PANELS_NARROWED || kind == BB_VARIANT_PANELS_HALVES;
        const bb_index unused = items[p].policy.diagonal == (int)BB_POLICY_FOLLOW ? 1 : 2;
        is_unused = is_unused || (narrows && tile_rows <= unused);
    }
    if (!is_unused) {
        return BB_OK;
    }
    (void)snprintf(text, sizeof text,
                   "%td measurements fit in %s of %td: narrow arithmetic applies to products into "
                   "other tiles than those of the diagonal, so all is fp32; set solver.tile, at "
                   "most %td",
                   n, tile_rows == 1 ? "one tile" : "two tiles", tile,
                   n / 4 > 8 ? n / 4 : (bb_index)8);
    return print_line(text, lines);
}

bb_status bb_factor_device_print_tile(const bb_factor_solver_config *written,
                                      const bb_factor_solver_config *resolved, bb_plan *lines)
{
    char text[160];
    if (written->tile == BB_INTEGER_UNSET || written->tile == resolved->tile) {
        return BB_OK;
    }
    (void)snprintf(
        text, sizeof text,
        "solver.tile = %td: CUDA needs a multiple of %d; using %td, also for bands and policies",
        written->tile, (int)STEP, resolved->tile);
    return print_line(text, lines);
}

static bool splits(int variant)
{
    return bb_variant_describe((bb_variant)variant)->panels == BB_VARIANT_PANELS_HALVES;
}

static bool has_policy(const bb_factor_pipeline *pipeline)
{
    return !bb_policy_describe(&pipeline->policy)->is_uniform;
}

// Variants with operands separate from the fp32 L.
static bool narrows(int variant)
{
    return bb_variant_describe((bb_variant)variant)->panels == BB_VARIANT_PANELS_NARROWED;
}

// Checks the variants of tiles: those mixed by a policy, and with light sweeps those computed in
// fp32.
static bb_status check_given(const bb_factor_pipeline *pipeline)
{
    bb_status status = BB_OK;
    bb_variant given[BB_VARIANT_COUNT];
    const int count =
        bb_factor_map_variants(&pipeline->policy, (bb_variant)pipeline->arithmetic, given);
    const bool light = pipeline->sweeps == (int)BB_POLICY_SWEEPS_LIGHT;
    for (int v = 0; v < count; ++v) {
        BB_REQUIRE(!has_policy(pipeline) || bb_variant_mixes(given[v]), BB_UNSUPPORTED,
                   "policy with %s on cuda, expected sp, hp1, hp2, hp3 or x3",
                   bb_variant_names[given[v]]);
        BB_REQUIRE(!light || bb_variant_describe(given[v])->output != BB_FORMAT_FP16,
                   BB_UNSUPPORTED, "on cuda light sweeps need hp1 arithmetic, got %s",
                   bb_variant_names[given[v]]);
    }
done:
    return status;
}

// On a device all diagonal tiles need the same variant. Those of a table are read, and a rule by
// norms that could give two is refused before the norms are known. A table that cannot be read is
// reported by its reader.
static bb_status check_diagonal(const bb_factor_pipeline *pipeline)
{
    bb_status status = BB_OK;
    bb_policy_table table = {0};
    bb_variant given[BB_VARIANT_COUNT];
    const bb_policy_config *policy = &pipeline->policy;
    const bb_policy_row *rule = bb_policy_describe(policy);
    const bool reads = rule->by_table && policy->table != NULL;
    if (policy->diagonal != (int)BB_POLICY_FOLLOW || !(reads || rule->by_tile_norms)) {
        return BB_OK;
    }
    if (reads && bb_policy_table_read(policy->table, &table) != BB_OK) {
        bb_status_clear();
    }
    for (bb_index i = 1; i < table.tile_rows; ++i) {
        const bb_variant first = table.variants[0];
        const bb_variant diagonal_variant = table.variants[(i + 1) * (i + 2) / 2 - 1];
        BB_REQUIRE(
            bb_variant_describe(diagonal_variant)->in_halves ==
                bb_variant_describe(first)->in_halves,
            BB_UNSUPPORTED,
            "diagonal tile %td is %s, tile 0 is %s: on cuda all diagonal tiles need one variant", i,
            bb_variant_names[diagonal_variant], bb_variant_names[first]);
    }
    const int count =
        reads ? 0 : bb_factor_map_variants(policy, (bb_variant)pipeline->arithmetic, given);
    for (int v = 1; v < count; ++v) {
        BB_REQUIRE(bb_variant_describe(given[v])->in_halves ==
                       bb_variant_describe(given[0])->in_halves,
                   BB_UNSUPPORTED,
                   "policy %s may give diagonal tiles %s or %s, but on cuda all need one variant; "
                   "set policy.diagonal to sp",
                   rule->name, bb_variant_names[given[0]], bb_variant_names[given[v]]);
    }
done:
    bb_policy_table_release(&table);
    return status;
}

bb_status bb_factor_device_check(const bb_factor_solver_config *solver,
                                 const bb_factor_pipeline *asked)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline planned = bb_factor_pipeline_planned(asked);
    const bb_factor_pipeline *pipeline = &planned;
    const bb_policy_config *policy = &pipeline->policy;
    const bb_policy_row *rule = bb_policy_describe(policy);
    BB_REQUIRE(!bb_factor_engine_is_spread(solver), BB_UNSUPPORTED,
               "processes share a factorization on the cpu only, expected device cpu or "
               "solver.engine own");
    BB_REQUIRE(!rule->by_table || solver->tile == bb_factor_device_tile(solver, 1) ||
                   solver->tile == BB_INTEGER_UNSET,
               BB_UNSUPPORTED,
               "policy.table is for tiles of solver.tile = %td, cuda needs a multiple of %d: "
               "create the table for tiles of %td",
               solver->tile, (int)STEP, bb_factor_device_tile(solver, 1));
    BB_REQUIRE(rule->missing[BB_DEVICE_CUDA] == NULL, BB_UNSUPPORTED, "%s",
               rule->missing[BB_DEVICE_CUDA]);
    BB_REQUIRE(!has_policy(pipeline) || splits(pipeline->arithmetic), BB_UNSUPPORTED,
               "on cuda a policy needs hp1, hp2, hp3 or x3 arithmetic, got %s",
               bb_variant_names[pipeline->arithmetic]);
    BB_REQUIRE(!has_policy(pipeline) || bb_factor_pipeline_finds_arithmetic(pipeline) ||
                   pipeline->sweeps == (int)BB_POLICY_SWEEPS_SP,
               BB_UNSUPPORTED, "on cuda a policy needs sweeps sp");
    bool follows =
        policy->diagonal == (int)BB_POLICY_FOLLOW || pipeline->sweeps != (int)BB_POLICY_SWEEPS_SP;
    BB_REQUIRE(!narrows(pipeline->arithmetic) || !follows, BB_UNSUPPORTED,
               "on cuda the diagonal and the sweeps of %s must be sp",
               bb_variant_names[pipeline->arithmetic]);
    BB_TRY(check_given(pipeline));
    BB_TRY(check_diagonal(pipeline));
    BB_REQUIRE(pipeline->accumulate_from == (int)BB_ACCUMULATE_FROM_ZERO, BB_UNSUPPORTED,
               "accumulate_from c is emulated on the cpu only");
    BB_REQUIRE(solver->tile <= 32768, BB_UNSUPPORTED,
               "on cuda solver.tile = %td, expected at most 32768", solver->tile);
    BB_REQUIRE(pipeline->refine.method == (int)BB_REFINE_NONE, BB_UNSUPPORTED,
               "refinement has no cuda kernels");
done:
    return status;
}

bb_status bb_factor_devices_check(const bb_list *pipelines, const bb_factor_solver_config *solver,
                                  int study_device, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *items = pipelines->items;
    bb_device_gaps gaps = {.count = 0};
    char path[64];
    BB_TRY(bb_device_choice_check("device", study_device, config, problems));
    for (bb_index p = 0; p < pipelines->count && p < BB_STUDY_PIPELINES; ++p) {
        (void)snprintf(path, sizeof path, "pipelines.%td.device", p);
        BB_TRY(bb_device_choice_check(path, items[p].device, config, problems));
        gaps.names[gaps.count] = items[p].name;
        if (bb_device_choice_wish(study_device, items[p].device) == (int)BB_DEVICE_CUDA &&
            bb_factor_device_check(solver, &items[p]) != BB_OK) {
            (void)snprintf(gaps.reasons[gaps.count], sizeof gaps.reasons[0],
                           "%s; device auto selects the cpu", bb_status_message());
            bb_status_clear();
        }
        ++gaps.count;
    }
    BB_TRY(bb_device_choice_refuse(&gaps, config, problems));
done:
    return status;
}

static bb_panel_plan plan_of(const bb_factor_solver_config *solver,
                             const bb_factor_pipeline *pipeline, bb_index n, bb_index rows)
{
    bool follows = pipeline->policy.diagonal == (int)BB_POLICY_FOLLOW && !has_policy(pipeline);
    return (bb_panel_plan){.n = n,
                           .block = bb_factor_device_block(solver, n),
                           .sides = rows,
                           .arithmetic = (bb_variant)pipeline->arithmetic,
                           .diagonal_follows = follows,
                           .sweeps = (bb_policy_sweeps)pipeline->sweeps,
                           .sweep_energy = pipeline->sweep_energy,
                           .unit_diagonal = solver->scale == (int)BB_FACTOR_SCALE_UNIT_DIAGONAL};
}

bb_status bb_factor_device_choose(const bb_device_offer *offer, int study_device,
                                  const bb_factor_solver_config *solver,
                                  const bb_factor_pipeline *pipeline, bb_device_kind *out)
{
    bb_status status = BB_OK;
    bb_device_offer device_offer = *offer;
    if (bb_device_choice_wish(study_device, pipeline->device) == (int)BB_DEVICE_AUTO) {
        const bb_panel_plan plan = plan_of(solver, pipeline, 1, 0);
        const bool can = bb_factor_device_check(solver, pipeline) == BB_OK &&
                         bb_device_count(BB_DEVICE_CUDA, NULL, 0) > 0 && panels.check != NULL &&
                         panels.check(&plan) == BB_OK;
        device_offer.kinds &= can ? ~0U : ~BB_DEVICE_OFFER(BB_DEVICE_CUDA);
        bb_status_clear();
    }
    BB_TRY(bb_device_choice_make(&device_offer, study_device, pipeline->device, out));
    if (*out == BB_DEVICE_CUDA) {
        BB_TRY(bb_factor_device_check(solver, pipeline));
    }
done:
    return status;
}

// Factorizations that a pipeline may run, with L on the GPU or the host by the memory limit.
typedef struct plan_list {
    bb_panel_plan items[2 * BB_VARIANT_COUNT + 3];
    int count;
} plan_list;

static void add_plan(const bb_factor_solver_config *solver, bb_panel_plan plan, plan_list *list)
{
    bb_panel_plan_place(&plan, solver->gpus, 1e9 * solver->memory_limit_gb);
    list->items[list->count++] = plan;
}

// Adds a plan with a map of all variants that a policy may assign.
static void add_mixed(const bb_factor_solver_config *solver, bb_panel_plan plan, int count,
                      const bb_variant *given, plan_list *list)
{
    for (int v = 0; v < count; ++v) {
        const bb_variant computed = bb_variant_describe(given[v])->in_halves;
        plan.given |= 1U << computed;
        if (bb_variant_describe(computed)->products == 1) {
            plan.arithmetic = computed; // as in a run
        }
    }
    add_plan(solver, plan, list);
}

static plan_list list_plans(const bb_factor_solver_config *solver, const bb_factor_pipeline *asked,
                            bb_index n, bb_index rows)
{
    const bb_factor_pipeline planned = bb_factor_pipeline_planned(asked);
    const bb_factor_pipeline *pipeline = &planned;
    const bool searches = bb_factor_pipeline_finds_arithmetic(pipeline);
    bb_panel_plan plan = plan_of(solver, pipeline, n, rows);
    bb_variant given[BB_VARIANT_COUNT];
    const int count =
        bb_factor_map_variants(&pipeline->policy, (bb_variant)pipeline->arithmetic, given);
    plan_list list = {.count = 0};
    add_plan(solver, plan, &list);
    for (int v = 0; has_policy(pipeline) && v < count; ++v) {
        plan.arithmetic = bb_variant_describe(given[v])->in_halves;
        plan.diagonal_follows = false;
        add_plan(solver, plan, &list);
        plan.diagonal_follows = pipeline->policy.diagonal == (int)BB_POLICY_FOLLOW || searches;
        add_plan(solver, plan, &list);
    }
    if (has_policy(pipeline) && count > 1) {
        add_mixed(solver, plan, count, given, &list);
    }
    if (pipeline->escalate || searches) {
        plan.arithmetic = BB_VARIANT_DP;
        add_plan(solver, plan, &list);
    }
    return list;
}

// Largest memory of all plans of a pipeline, with the time of the first.
static bb_need factor_need(const bb_factor_solver_config *solver,
                           const bb_factor_pipeline *pipeline, bb_index n, bb_index rows)
{
    const plan_list list = list_plans(solver, pipeline, n, rows);
    bb_need need = bb_panel_plan_need(&list.items[0], solver->gpus);
    for (int i = 1; i < list.count; ++i) {
        const bb_need other = bb_panel_plan_need(&list.items[i], solver->gpus);
        need = bb_need_in_turn(need, bb_need_resident(other));
    }
    return need;
}

bb_need bb_factor_device_need(const bb_factor_solver_config *solver,
                              const bb_factor_pipeline *pipeline, bb_index n, bb_index rows)
{
    const bb_need need = factor_need(solver, pipeline, n, rows);
    // The results are on the first GPU.
    const bb_need results = {.device_bytes = sizeof(double) * (double)rows * (double)n};
    return need.device_bytes > 0.0 ? bb_need_together(need, results) : need;
}

// Largest device memory of a pipeline's plans, GB, by the location of L; 0: none there.
typedef struct placed_need {
    double swapped;         // L in host memory
    double host, unswapped; // largest such L, and the device memory with it on the GPU
    double fixed;           // above the limit with L on the GPU, where the plan cannot move it
    double kept, elsewhere; // above the limit with L on the GPU, because this needs less than L in
                            // host memory
} placed_need;

static placed_need sort_plans(const plan_list *list, const bb_factor_solver_config *solver)
{
    placed_need out = {0};
    for (int i = 0; i < list->count; ++i) {
        bb_panel_plan other = list->items[i];
        other.swapped = !other.swapped;
        const bb_need need = bb_panel_plan_need(&list->items[i], solver->gpus);
        const bb_need with_other = bb_panel_plan_need(&other, solver->gpus);
        bb_status_clear(); // clears errors of impossible plans
        const double taken = 1e-9 * need.device_bytes;
        const bool swaps = solver->gpus == 1 && with_other.device_bytes > 0.0;
        if (list->items[i].swapped) {
            const bool larger = 1e-9 * need.host_bytes > out.host;
            out.host = larger ? 1e-9 * need.host_bytes : out.host;
            out.unswapped = larger ? 1e-9 * with_other.device_bytes : out.unswapped;
            out.swapped = fmax(out.swapped, taken);
        } else if (taken > solver->memory_limit_gb && !swaps) {
            out.fixed = fmax(out.fixed, taken);
        } else if (taken > solver->memory_limit_gb) {
            out.elsewhere = taken > out.kept ? 1e-9 * with_other.device_bytes : out.elsewhere;
            out.kept = fmax(out.kept, taken);
        }
    }
    return out;
}

bb_status bb_factor_device_print_limit(const bb_factor_solver_config *solver,
                                       const bb_factor_pipeline *pipeline, bb_index n,
                                       bb_index rows, bb_plan *lines)
{
    bb_status status = BB_OK;
    const double limit = solver->memory_limit_gb;
    if (limit == 0.0) {
        goto done;
    }
    const plan_list list = list_plans(solver, pipeline, n, rows);
    const placed_need placed = sort_plans(&list, solver);
    if (placed.host > 0.0) {
        BB_TRY(
            bb_plan_add(lines, pipeline->name,
                        "L of %.1f GB in host memory: %.1f GB of GPU memory instead of %.1f%s",
                        placed.host, placed.swapped, placed.unswapped,
                        placed.swapped > limit ? "; still more than solver.memory_limit_gb" : ""));
    }
    if (placed.kept > 0.0) {
        BB_TRY(bb_plan_add(lines, pipeline->name,
                           "%.1f GB of GPU memory, more than solver.memory_limit_gb; with L in "
                           "host memory it would be %.1f",
                           placed.kept, placed.elsewhere));
    }
    if (placed.fixed > 0.0) {
        BB_TRY(bb_plan_add(
            lines, pipeline->name,
            "%.1f GB of GPU memory, more than solver.memory_limit_gb: L can only be in host memory "
            "with hp1, hp2, hp3 or x3 on one GPU, and solver.tile a power of two up to %d",
            placed.fixed, (int)BB_PANEL_RUN / 4));
    }
done:
    return status;
}

bool bb_factor_device_supports(const bb_factor_solver_config *solver,
                               const bb_factor_pipeline *pipeline, int study_device)
{
    const int wish = bb_device_choice_wish(study_device, pipeline->device);
    const bb_panel_plan plan = plan_of(solver, pipeline, 1, 0);
    const bool can = bb_factor_device_check(solver, pipeline) == BB_OK;
    const bool chosen =
        wish == (int)BB_DEVICE_CUDA ||
        (wish == (int)BB_DEVICE_AUTO && bb_device_count(BB_DEVICE_CUDA, NULL, 0) > 0 &&
         panels.check != NULL && panels.check(&plan) == BB_OK);
    bb_status_clear();
    return can && chosen;
}

bb_status bb_factor_device_solve(const bb_factor_problem *problem,
                                 const bb_factor_pipeline *pipeline, const bb_policy_map *map,
                                 double **r, bb_outcome *outcome, bb_factor_device_times *times)
{
    bb_status status = BB_OK;
    *times = (bb_factor_device_times){0};
    const bb_panel_plan plan =
        plan_of(problem->solver, pipeline, problem->matrix->rows, bb_factor_problem_sides(problem));
    BB_TRY(bb_factor_device_check(problem->solver, pipeline));
    BB_REQUIRE(panels.solve != NULL, BB_UNSUPPORTED, "%s", absent);
    BB_TRY(panels.solve(problem, &plan, map, r, outcome, times));
done:
    return status;
}

// Variant computed on a device: x3 replaces sp in factorizations with planes of fp16.
static bb_variant computed_as(bb_variant variant, const bb_factor_pipeline *pipeline)
{
    const bb_variant_info *info = bb_variant_describe((bb_variant)pipeline->arithmetic);
    return info->panels == BB_VARIANT_PANELS_HALVES ? bb_variant_describe(variant)->in_halves
                                                    : variant;
}

// Counts products by variant from a map. A tile of column j has j products.
static void note_map(const bb_policy_map *map, const bb_factor_pipeline *pipeline,
                     bb_factor_report *report)
{
    double total = 0.0;
    bb_policy_map_shares(map, report->tile_share);
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        const bb_variant computed = computed_as((bb_variant)v, pipeline);
        if ((int)computed != v) {
            report->tile_share[computed] += report->tile_share[v];
            report->tile_share[v] = 0.0;
        }
    }
    report->tolerance = map->tolerance;
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        report->product_share[v] = 0.0;
    }
    for (bb_index i = 0; i < map->tile_rows; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            double products = (i == j ? 1.0 : 2.0) * (double)j + (i == j ? 1.0 / 3.0 : 1.0);
            report->product_share[computed_as(bb_policy_map_at(map, i, j), pipeline)] += products;
            total += products;
        }
    }
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        report->product_share[v] /= total;
    }
    report->cost = bb_variant_relative_cost(report->product_share);
}

// Sets the bytes of L copied, where L was copied.
static void note_traffic(const bb_factor_solver_config *solver, const bb_factor_device_times *times,
                         bb_factor_report *report)
{
    const bb_panel_traffic *traffic = &times->traffic;
    report->host_to_device_bytes = times->swapped ? traffic->host_to_device_bytes : NAN;
    report->device_to_host_bytes = times->swapped ? traffic->device_to_host_bytes : NAN;
    report->device_to_device_bytes = solver->gpus > 1 ? traffic->device_to_device_bytes : NAN;
}

bb_status bb_factor_device_run(const bb_factor_problem *problem, const bb_factor_problem *drawn,
                               const bb_factor_pipeline *pipeline, double **r,
                               bb_evaluation *evaluation, bb_factor_effort *spent)
{
    bb_status status = BB_OK;
    bb_policy_map *map = NULL;
    bb_factor_device_times times;
    BB_TRY(
        bb_factor_map_create(problem, &pipeline->policy, (bb_variant)pipeline->arithmetic, &map));
    BB_TRY(bb_factor_device_solve(drawn, pipeline, map, r, &evaluation->outcome, &times));
    note_map(map, pipeline, &evaluation->factor);
    note_traffic(problem->solver, &times, &evaluation->factor);
    spent->bytes += times.operator_bytes;
    spent->encode_seconds += times.fill_s;
    spent->solve_seconds += times.solve_s;
    spent->flops += evaluation->outcome.kind == BB_OUTCOME_OK ? evaluation->flops_dense : 0.0;
done:
    bb_policy_map_destroy(&map);
    return status;
}

// Opens the first `gpus` CUDA devices.
static bb_status open_devices(bb_index gpus, bb_device **devices)
{
    bb_status status = BB_OK;
    for (bb_index g = 0; g < gpus; ++g) {
        BB_TRY(bb_device_open(BB_DEVICE_CUDA, g, &devices[g]));
    }
done:
    return status;
}

// Closes the devices, the first one last, so that its GPU stays current.
static void close_devices(bb_device **devices)
{
    for (bb_index g = BB_RESIDUAL_GPUS - 1; g >= 0; --g) {
        bb_device_close(&devices[g]);
    }
}

bb_status bb_factor_device_score(const bb_matrix_source *cmm, bb_index gpus, bb_index count,
                                 const bb_residual_task *tasks)
{
    bb_status status = BB_OK;
    bb_device *devices[BB_RESIDUAL_GPUS] = {NULL};
    if (gpus == 0) {
        return bb_residual_covariance(cmm, count, tasks);
    }
    BB_REQUIRE(panels.score != NULL, BB_UNSUPPORTED, "%s", absent);
    BB_TRY(open_devices(gpus, devices));
    BB_TRY(panels.score(gpus, devices, cmm, count, tasks));
done:
    close_devices(devices);
    return status;
}

struct bb_factor_device_scorer {
    bb_device *devices[BB_RESIDUAL_GPUS];
    bb_residual_scorer *residuals;
};

// CUDA functions, NULL in builds without CUDA.
static const struct {
    bb_status (*create)(bb_index gpus, bb_device *const *devices, const bb_matrix_source *cmm,
                        bb_residual_scorer **out);
    bb_status (*add_part)(bb_residual_scorer *scorer, const bb_low_rank *part);
    bb_status (*keep)(bb_residual_scorer *scorer, double reserve_bytes);
    void (*destroy)(bb_residual_scorer **scorer);
    bb_status (*score)(bb_residual_scorer *scorer, bb_index count, const bb_residual_task *tasks);
    bb_status (*congruence)(bb_residual_scorer *scorer, bb_index rows, bb_index columns,
                            const double *weights, const double *symmetric, double *out);
    bb_status (*multiply)(bb_residual_scorer *scorer, bb_index rows, const bb_row_product *product,
                          const void *resident);
    bb_status (*pairs)(bb_residual_scorer *scorer, const bb_residual_pairs *task);
    bb_status (*noise)(bb_residual_scorer *scorer, const bb_csr *noise,
                       const bb_residual_task *task, double *out);
} residuals = {
    BB_CUDA_TWIN(bb_residual_scorer_create),       BB_CUDA_TWIN(bb_residual_scorer_add_part),
    BB_CUDA_TWIN(bb_residual_scorer_cache_panels), BB_CUDA_TWIN(bb_residual_scorer_destroy),
    BB_CUDA_TWIN(bb_residual_scorer_score),        BB_CUDA_TWIN(bb_residual_scorer_congruence),
    BB_CUDA_TWIN(bb_residual_scorer_multiply),     BB_CUDA_TWIN(bb_residual_scorer_pairs),
    BB_CUDA_TWIN(bb_residual_scorer_noise)};

static const char no_residuals[] = "residuals on a device: this build has no CUDA";

bb_status bb_factor_device_scorer_open(bb_index gpus, const bb_matrix_source *cmm,
                                       const bb_low_rank *part, double reserve_bytes,
                                       bb_factor_device_scorer **out)
{
    bb_status status = BB_OK;
    bb_factor_device_scorer *scorer = NULL;
    *out = NULL;
    BB_REQUIRE(residuals.create != NULL, BB_UNSUPPORTED, "%s", no_residuals);
    BB_TRY(BB_ZEROED(1, &scorer));
    BB_TRY(open_devices(gpus, scorer->devices));
    BB_TRY(residuals.create(gpus, scorer->devices, cmm, &scorer->residuals));
    if (part != NULL) {
        BB_TRY(residuals.add_part(scorer->residuals, part));
    }
    BB_TRY(residuals.keep(scorer->residuals, reserve_bytes));
    *out = scorer;
    scorer = NULL;
done:
    bb_factor_device_scorer_close(&scorer);
    return status;
}

void bb_factor_device_scorer_close(bb_factor_device_scorer **scorer)
{
    if (*scorer == NULL) {
        return;
    }
    if ((*scorer)->residuals != NULL && residuals.destroy != NULL) {
        residuals.destroy(&(*scorer)->residuals);
    }
    close_devices((*scorer)->devices);
    BB_RELEASE(scorer);
}

bb_residual_scorer *bb_factor_device_scorer_residuals(bb_factor_device_scorer *scorer)
{
    return scorer != NULL ? scorer->residuals : NULL;
}

bb_status bb_factor_device_scorer_score(bb_factor_device_scorer *scorer, bb_index count,
                                        const bb_residual_task *tasks)
{
    bb_status status = BB_OK;
    BB_REQUIRE(residuals.score != NULL, BB_UNSUPPORTED, "%s", no_residuals);
    BB_TRY(residuals.score(scorer->residuals, count, tasks));
done:
    return status;
}

bb_status bb_factor_device_scorer_congruence(void *scorer, bb_index rows, bb_index columns,
                                             const double *weights, const double *symmetric,
                                             double *out)
{
    bb_status status = BB_OK;
    const bb_factor_device_scorer *self = scorer;
    BB_REQUIRE(residuals.congruence != NULL, BB_UNSUPPORTED, "%s", no_residuals);
    BB_TRY(residuals.congruence(self->residuals, rows, columns, weights, symmetric, out));
done:
    return status;
}

bb_status bb_factor_device_scorer_multiply(void *scorer, bb_index rows,
                                           const bb_row_product *product, const void *resident)
{
    bb_status status = BB_OK;
    const bb_factor_device_scorer *self = scorer;
    BB_REQUIRE(residuals.multiply != NULL, BB_UNSUPPORTED, "%s", no_residuals);
    BB_TRY(residuals.multiply(self->residuals, rows, product, resident));
done:
    return status;
}

bb_status bb_factor_device_scorer_pairs(bb_factor_device_scorer *scorer,
                                        const bb_residual_pairs *task)
{
    bb_status status = BB_OK;
    BB_REQUIRE(residuals.pairs != NULL, BB_UNSUPPORTED, "%s", no_residuals);
    BB_TRY(residuals.pairs(scorer->residuals, task));
done:
    return status;
}

bb_status bb_factor_device_scorer_noise(bb_factor_device_scorer *scorer, const bb_csr *noise,
                                        const bb_residual_task *task, double *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(residuals.noise != NULL, BB_UNSUPPORTED, "%s", no_residuals);
    BB_TRY(residuals.noise(scorer->residuals, noise, task, out));
done:
    return status;
}
