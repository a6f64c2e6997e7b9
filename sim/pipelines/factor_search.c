// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_search.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_map.h"
#include "solvers/factor/tiles/tile_matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { REST_BYTES = 48 };
enum { TOLERANCES = 41, PER_DECADE = 8 }; // mixtures on the CPU

// A tile off the diagonal.
typedef struct tile {
    double norm, operations;
} tile;

static int compare(const void *a, const void *b)
{
    const double first = ((const tile *)a)->norm;
    const double second = ((const tile *)b)->norm;
    return (first > second) - (first < second);
}

// Tolerance at which the rule of precision/policy.c narrows the first `narrow` tiles.
static double separate(const tile *tiles, bb_index count, bb_index narrow, double unit)
{
    const double last = tiles[narrow - 1].norm;
    return unit * (narrow < count ? sqrt(last) * sqrt(tiles[narrow].norm) : 2.0 * last);
}

// Chooses tolerances of mixtures by the fraction of narrow operations. Tiles with the same norm are
// narrowed together.
static void place_mixtures(const tile *tiles, bb_index count, double unit,
                           bb_factor_candidates *out)
{
    double total = 0.0;
    bb_index previous = -1;
    for (bb_index t = 0; t < count; ++t) {
        total += tiles[t].operations;
    }
    for (int step = 0; step < BB_FACTOR_MIXTURES; ++step) {
        const double maximum = total * (double)(BB_FACTOR_MIXTURES - step) / BB_FACTOR_MIXTURES;
        double narrowed = 0.0;
        bb_index narrow = 0;
        for (bb_index t = 0; t < count && narrowed + tiles[t].operations <= maximum; ++t) {
            narrowed += tiles[t].operations;
            narrow = t + 1 == count || tiles[t].norm < tiles[t + 1].norm ? t + 1 : narrow;
        }
        if (narrow > 0 && narrow != previous) {
            out->tolerances[out->mixtures++] = separate(tiles, count, narrow, unit);
            previous = narrow;
        }
    }
}

static bb_status create_by_tile(const bb_factor_problem *problem, bb_variant arithmetic,
                                bb_factor_candidates *out)
{
    bb_status status = BB_OK;
    tile *tiles = NULL;
    const bb_index n = problem->matrix->rows;
    const bb_index size = problem->solver->tile < n ? problem->solver->tile : n;
    const bb_index rows = (n + size - 1) / size;
    bb_index count = 0;
    BB_REQUIRE(problem->tile_norms != NULL, BB_INTERNAL,
               "candidates by tile: the norms of the candidates are missing");
    BB_TRY(BB_ALLOCATE(rows * (rows + 1) / 2, &tiles));
    for (bb_index i = 0; i < rows; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            tiles[count++] =
                (tile){problem->tile_norms[i * (i + 1) / 2 + j], 2.0 * (double)j + 1.0};
        }
    }
    qsort(tiles, (size_t)count, sizeof *tiles, compare);
    const double norm = bb_tile_norms_sum(rows, problem->tile_norms);
    place_mixtures(tiles, count, (double)rows * bb_variant_unit_roundoff(arithmetic) / norm, out);
done:
    BB_RELEASE(&tiles);
    return status;
}

bb_status bb_factor_candidates_make(const bb_factor_problem *problem,
                                    const bb_factor_pipeline *pipeline, bb_device_kind device,
                                    bb_factor_candidates *out)
{
    bb_status status = BB_OK;
    *out = (bb_factor_candidates){.by_tile = device == BB_DEVICE_CUDA};
    if (out->by_tile) {
        BB_TRY(create_by_tile(problem, (bb_variant)pipeline->arithmetic, out));
    } else {
        for (int t = 0; t < TOLERANCES; ++t) {
            out->tolerances[out->mixtures++] = pow(10.0, -1.0 - (double)t / PER_DECADE);
        }
    }
done:
    return status;
}

// Mixture of the pipeline's variant and `inside`.
bb_factor_pipeline bb_factor_candidates_mixture(const bb_factor_candidates *candidates,
                                                const bb_factor_pipeline *pipeline, int mixture,
                                                char name[BB_FACTOR_CANDIDATE_NAME])
{
    bb_factor_pipeline out = *pipeline;
    bb_policy_config *policy = &out.policy;
    out.max_loss = NAN;
    out.escalate = false; // a candidate that fails is rejected
    policy->inside = pipeline->search.inside;
    policy->rounding = pipeline->search.rounding;
    policy->diagonal = candidates->by_tile ? BB_POLICY_FOLLOW_SP : BB_POLICY_FOLLOW;
    policy->tolerance = candidates->tolerances[mixture];
    if (candidates->by_tile) {
        out.sweeps = BB_POLICY_SWEEPS_SP;
        policy->inside = (int)bb_variant_describe((bb_variant)policy->inside)->in_halves;
    }
    policy->kind = BB_POLICY_PRODUCT;
    const bool by_product =
        !candidates->by_tile && bb_policy_products_fit(policy, (bb_variant)out.arithmetic);
    policy->kind = by_product ? BB_POLICY_PRODUCT : BB_POLICY_TILE_NORM;
    (void)snprintf(name, BB_FACTOR_CANDIDATE_NAME, "%s, else %s, by %s",
                   bb_variant_names[out.arithmetic], bb_variant_names[policy->inside],
                   by_product ? "product" : "tile_norm");
    return out;
}

bb_factor_pipeline bb_factor_candidates_uniform(const bb_factor_pipeline *pipeline,
                                                bb_variant variant, bb_device_kind device)
{
    bb_factor_pipeline out = *pipeline;
    const bb_variant_info *info = bb_variant_describe(variant);
    // With separate narrow operands, a device computes diagonal tiles and sweeps in fp32.
    const bool apart = device == BB_DEVICE_CUDA && info->panels == BB_VARIANT_PANELS_NARROWED;
    out.max_loss = NAN;
    out.arithmetic = (int)variant;
    out.escalate = false;
    out.policy.kind = BB_POLICY_UNIFORM;
    out.policy.diagonal = apart ? BB_POLICY_FOLLOW_SP : BB_POLICY_FOLLOW;
    out.sweeps = apart || info->output == BB_FORMAT_FP64 ? (int)BB_POLICY_SWEEPS_SP : out.sweeps;
    return out;
}

static double cost_of(bb_variant variant)
{
    double shares[BB_VARIANT_COUNT] = {0.0};
    shares[variant] = 1.0;
    return bb_variant_relative_cost(shares);
}

// True if `a` is cheaper than `b`, or at equal cost more precise, or else earlier in the list of
// variants.
static bool precedes(bb_variant a, bb_variant b)
{
    const double costs = cost_of(a) - cost_of(b);
    const double errors = bb_variant_unit_roundoff(a) - bb_variant_unit_roundoff(b);
    if (costs != 0.0) {
        return costs < 0.0;
    }
    return errors != 0.0 ? errors < 0.0 : a < b;
}

// True if a variant is a candidate when the study lists none.
static bool is_usual(const bb_factor_pipeline *pipeline, bb_variant variant)
{
    const double cost = cost_of(variant);
    if ((int)variant == pipeline->arithmetic || bb_variant_describe(variant)->next == variant) {
        return true;
    }
    if (cost > cost_of(BB_VARIANT_DP)) {
        return false;
    }
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        if (v != (int)variant && cost_of((bb_variant)v) == cost &&
            precedes((bb_variant)v, variant)) {
            return false;
        }
    }
    return cost >= cost_of((bb_variant)pipeline->arithmetic) ||
           (int)variant == pipeline->search.inside;
}

static bool is_listed(const bb_list *variants, bb_variant variant)
{
    const int *items = variants->items;
    bb_index i = 0;
    while (i < variants->count && items[i] != (int)variant) {
        ++i;
    }
    return i < variants->count;
}

int bb_factor_candidates_variants(const bb_factor_pipeline *pipeline,
                                  bb_variant out[BB_VARIANT_COUNT])
{
    const bb_list *listed = &pipeline->search.variants;
    int count = 0;
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        const bb_variant variant = (bb_variant)v;
        if (listed->count > 0 ? !is_listed(listed, variant) : !is_usual(pipeline, variant)) {
            continue;
        }
        int place = count++;
        for (; place > 0 && precedes(variant, out[place - 1]); --place) {
            out[place] = out[place - 1];
        }
        out[place] = variant;
    }
    return count;
}

// Largest cost of a mixture's cheaper variant relative to the other's.
static const double mixture_cost_limit = 0.9;
// Largest cost of the variant after the accepted one, relative to it, to be mixed as well.
static const double next_cost_limit = 1.25;

double bb_factor_search_add_draw(const bb_factor_search_task *task, const bb_evaluation *drawn,
                                 const bb_factor_loss *loss, bb_draws *draws)
{
    bb_outcome outcome = drawn->outcome;
    if (outcome.kind == BB_OUTCOME_OK && isnan(loss->drawn)) {
        bb_outcome_set(&outcome, BB_OUTCOME_NON_FINITE, "%s", task->quantity);
    }
    bb_draws_add(draws, &outcome, loss->drawn);
    return outcome.kind == BB_OUTCOME_OK ? loss->loss : (double)NAN;
}

// State of a search: the current candidate, and the destination of the result.
typedef struct searching {
    const bb_factor_search_task *task;
    const bb_factor_pipeline *pipeline;
    bb_factor_problem problem; // problem with its tile norms
    bb_index targets;
    bb_device_kind device;
    bb_evaluation tried;      // draw 0 of the candidate
    bb_factor_pipeline level; // current candidate
    double **r;               // [targets] reconstructors of the candidate
    double **drawn;           // [targets] reconstructors of another draw
    bb_evaluation *found;
    double **found_r;
    bb_factor_pipeline *found_level; // NULL: not requested
} searching;

static void release(double **r, bb_index targets)
{
    for (bb_index t = 0; r != NULL && t < targets; ++t) {
        BB_RELEASE(&r[t]);
    }
}

// Factors and scores one draw into `r`, and adds it to the draws of the candidate.
static bb_status solve_draw(searching *work, const bb_factor_pipeline *level, bb_index draw,
                            double **r, bb_evaluation *solved, bb_draws *draws, double *loss)
{
    bb_status status = BB_OK;
    bb_factor_problem problem = work->problem;
    bb_factor_loss found = {NAN, NAN};
    *solved = bb_evaluation_start(work->pipeline->name);
    solved->device = work->device;
    problem.draw = draw;
    BB_TRY(bb_factor_problem_solve(&problem, level, r, solved));
    if (solved->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(work->task->score(work->task->context, r, solved, &found));
    }
    *loss = bb_factor_search_add_draw(work->task, solved, &found, draws);
done:
    return status;
}

static bb_status evaluate(void *context, const void *pipeline, bb_index draw, double *loss)
{
    bb_status status = BB_OK;
    searching *work = context;
    bb_evaluation solved;
    if (draw == 0) {
        bb_draws draws = {0};
        release(work->r, work->targets);
        work->level = *(const bb_factor_pipeline *)pipeline;
        BB_TRY(solve_draw(work, &work->level, draw, work->r, &work->tried, &draws, loss));
        work->tried.draws = draws;
    } else {
        BB_TRY(
            solve_draw(work, &work->level, draw, work->drawn, &solved, &work->tried.draws, loss));
    }
done:
    release(work->drawn, work->targets);
    return status;
}

static double cost(void *context)
{
    const searching *work = context;
    return work->tried.factor.cost;
}

static void adopt(void *context)
{
    searching *work = context;
    *work->found = work->tried;
    if (work->found_level != NULL) {
        *work->found_level = work->level;
    }
    for (bb_index t = 0; t < work->targets; ++t) {
        BB_RELEASE(&work->found_r[t]);
        work->found_r[t] = work->r[t];
        work->r[t] = NULL;
    }
}

// True if the device runs a candidate.
static bool is_possible(const searching *work, const bb_factor_pipeline *level)
{
    bool possible = true;
    if (work->device == BB_DEVICE_CUDA) {
        possible = bb_factor_device_check(work->problem.solver, level) == BB_OK;
        bb_status_clear();
    }
    return possible;
}

// Mixtures of two variants, and the current candidate.
typedef struct mixtures {
    bb_factor_pipeline pair;
    bb_factor_candidates candidates;
    bb_factor_pipeline level;
    char name[BB_FACTOR_CANDIDATE_NAME];
} mixtures;

static double tolerance_of(const bb_factor_pipeline *level)
{
    return bb_policy_describe(&level->policy)->is_uniform ? NAN : level->policy.tolerance;
}

static void make_mixture(void *context, int step, bb_search_candidate *out)
{
    mixtures *all = context;
    all->level = bb_factor_candidates_mixture(&all->candidates, &all->pair, step, all->name);
    *out = (bb_search_candidate){all->name, tolerance_of(&all->level), &all->level};
}

static bb_status search_mixtures(searching *work, bb_search *search, bb_variant narrow,
                                 bb_variant wide)
{
    bb_status status = BB_OK;
    mixtures all = {.pair = *work->pipeline};
    bb_search_ladder ladder = {.context = &all, .make = make_mixture};
    all.pair.arithmetic = (int)narrow;
    all.pair.search.inside = (int)wide;
    if (is_possible(work, &all.pair)) {
        BB_TRY(bb_factor_candidates_make(&work->problem, &all.pair, work->device, &all.candidates));
        ladder.steps = all.candidates.mixtures;
        BB_TRY(bb_search_run_ladder(search, &ladder));
    }
done:
    return status;
}

// Tries uniform variants, cheapest first, until one is accepted: then variants[*wide - 1]. `failed`
// lists the rejected ones before it.
static bb_status search_variants(searching *work, bb_search *search, const bb_variant *variants,
                                 int count, bb_variant *failed, int *failures, int *wide)
{
    bb_status status = BB_OK;
    for (*wide = *failures = 0; *wide < count && !search->found; ++*wide) {
        const bb_variant variant = variants[*wide];
        const bb_factor_pipeline level =
            bb_factor_candidates_uniform(work->pipeline, variant, work->device);
        const bb_search_candidate candidate = {bb_variant_names[variant], tolerance_of(&level),
                                               &level};
        bool accepted = false;
        if (is_possible(work, &level)) {
            BB_TRY(bb_search_try(search, &candidate, &accepted));
            failed[*failures] = variant;
            *failures += accepted ? 0 : 1;
        }
    }
done:
    return status;
}

// Finds the cheapest accepted uniform variant, then tries mixtures of it with cheaper, rejected
// variants: the cheapest of them, and the most expensive of at most half its cost. Products in hp2
// and hp3 do not mix with others, but those of another variant of similar cost may.
static bb_status search_candidates(searching *work, bb_search *search)
{
    bb_status status = BB_OK;
    bb_variant variants[BB_VARIANT_COUNT];
    bb_variant failed[BB_VARIANT_COUNT];
    const int count = bb_factor_candidates_variants(work->pipeline, variants);
    int failures = 0;
    int wide = 0;
    BB_TRY(search_variants(work, search, variants, count, failed, &failures, &wide));
    if (!search->found || failures == 0) {
        goto done;
    }
    const bb_variant enough = variants[wide - 1];
    int second = failures - 1;
    while (second > 0 && cost_of(failed[second]) > 0.5 * cost_of(enough)) {
        --second;
    }
    for (int k = 0; k <= second; k += second > 0 ? second : 1) {
        if (cost_of(failed[k]) < mixture_cost_limit * cost_of(enough)) {
            BB_TRY(search_mixtures(work, search, failed[k], enough));
        }
    }
    if (wide < count && cost_of(variants[wide]) < next_cost_limit * cost_of(enough) &&
        cost_of(failed[0]) < mixture_cost_limit * cost_of(enough)) {
        BB_TRY(search_mixtures(work, search, failed[0], variants[wide]));
    }
done:
    return status;
}

bb_search bb_factor_search_start(const bb_factor_search_task *task)
{
    const bb_factor_pipeline *pipeline = &task->pipelines[task->pipeline];
    return (bb_search){.trials = task->trials,
                       .pipeline = task->pipeline,
                       .name = pipeline->name,
                       .max_loss = pipeline->max_loss,
                       .draws = pipeline->draws};
}

bb_status bb_factor_search_run(const bb_factor_search_task *task, bb_evaluation *evaluation,
                               double **r, bb_factor_pipeline *level)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipeline = &task->pipelines[task->pipeline];
    searching work = {.task = task,
                      .pipeline = pipeline,
                      .problem = *task->problem,
                      .targets = task->problem->target_count,
                      .device = evaluation->device,
                      .found = evaluation,
                      .found_r = r,
                      .found_level = level};
    bb_search search = bb_factor_search_start(task);
    char rest[REST_BYTES];
    search.context = &work;
    search.evaluate = evaluate;
    search.cost = cost;
    search.adopt = adopt;
    if (work.problem.outcome.kind != BB_OUTCOME_OK) {
        evaluation->outcome = work.problem.outcome;
        goto done;
    }
    if (work.device == BB_DEVICE_CUDA && *task->tile_norms == NULL) {
        BB_TRY(bb_factor_map_norms(&work.problem, task->tile_norms));
    }
    work.problem.tile_norms = *task->tile_norms;
    BB_TRY(BB_ZEROED(work.targets, &work.r));
    BB_TRY(BB_ZEROED(work.targets, &work.drawn));
    BB_TRY(search_candidates(&work, &search));
    (void)snprintf(rest, sizeof rest, ", nominal cost %.3f of sp",
                   search.found ? search.best.cost : search.nearest.cost);
    bb_search_report(&search, "", rest, &evaluation->outcome);
done:
    release(work.r, work.targets);
    BB_RELEASE(&work.r);
    BB_RELEASE(&work.drawn);
    return status;
}

static const bb_output outputs[] = {
    {"arithmetic", "trial", NULL, "arithmetic of the trial", .note = "for ao and reconstructor",
     .member = offsetof(bb_search_row, candidate)},
    {"tolerance", "trial", "1", "tolerance of the rule, NaN without a rule",
     .note = "`tile_norm` on a GPU; for ao and reconstructor",
     .member = offsetof(bb_search_row, tolerance)},
    {"relative_cost", "trial", "1", "time of the updates at nominal rates, relative to sp",
     .note = "for ao and reconstructor", .member = offsetof(bb_search_row, cost)},
};

const bb_output_table bb_factor_search_outputs = BB_SEARCH_TABLE(outputs);
