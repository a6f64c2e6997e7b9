// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "solvers/unwrap/unwrap_state.h"

#include <math.h>

enum { BRACKETS = 4, PISTON_STEPS = 2, QUIET = 2, GRAIN = 1 << 16 };

// Coarse-grid correction [rad] below which no further cycle is needed: a cycle reduces the error by
// nine tenths.
static const double small_correction = 0.02;

// Largest ratio of successive corrections at which a small correction implies a small error: 0.1 to
// 0.3 on rectangles and discs. Behind walls the first ratios are 0.7, and later ones nearly 1.
static const double fast_contraction = 0.4;

// Corrections of the size of rounding [rad].
static const double no_correction = 1e-4;

// Ratio of successive corrections above which V-cycles are abandoned; it is 0.1 on a rectangle of
// equal weights.
static const double slow_contraction = 0.7;

// Remaining error of the V-cycles [rad] that hardly changes the congruent phase.
static const double small_error = 0.25;

// Corrections [rad] above which the nearest congruent phase differs.
static const double half_turn = 3.141592653589793;

// Share of points whose multiple of 2 pi may change in an exact solution. Noise and rounding decide
// single points: 8e-4 in bf16 at noise of 0.9 rad. On masks without convergence it is 4e-3 to 1.
static const double moved_share = 1e-3, moved_always = 3.0;

static bb_status check_config(const bb_unwrap_config *config)
{
    bb_status status = BB_OK;
    for (int slot = 0; slot < BB_UNWRAP_SLOTS; ++slot) {
        const bb_format format = config->slots[slot].arithmetic;
        BB_REQUIRE(format == BB_FORMAT_FP32 || format == BB_FORMAT_FP64, BB_INVALID,
                   "arithmetic %s of slot %s is not supported; use fp32 or fp64",
                   bb_format_describe(format)->name, bb_unwrap_slot_names[slot]);
    }
done:
    return status;
}

static bb_index count_edges(const unsigned char *mask, bb_index columns, bb_index rows)
{
    bb_index edges = 0;
    for (bb_index y = 0; y < rows; ++y) {
        for (bb_index x = 0; x < columns; ++x) {
            const unsigned char *point = mask + y * columns + x;
            edges += x + 1 < columns && point[0] != 0 && point[1] != 0;
            edges += y + 1 < rows && point[0] != 0 && point[columns] != 0;
        }
    }
    return edges;
}

// Allocates host buffers for copies of the device's fields.
static bb_status create_copies(bb_unwrap *unwrap, bb_index points)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(unwrap->context);
    void *words = NULL, *found = NULL;
    BB_TRY(bb_device_host_allocate(device, (size_t)points * sizeof *unwrap->words, &words));
    unwrap->words = words;
    BB_TRY(bb_device_host_allocate(
        device, (BB_UNWRAP_LIMITS + 1) * sizeof *unwrap->found + unwrap->rejected.bytes, &found));
    unwrap->found = found;
done:
    return status;
}

// Discards copies that nobody read; they may still be in flight and do not belong to the next
// result.
static bb_status discard_fetched(bb_unwrap *unwrap)
{
    bb_status status = BB_OK;
    if (unwrap->fetched) {
        unwrap->fetched = false;
        BB_TRY(bb_device_wait(bb_kernel_context_device(unwrap->context)));
    }
done:
    return status;
}

static void release_copies(bb_unwrap *unwrap)
{
    bb_device *device = bb_kernel_context_device(unwrap->context);
    void *blocks[] = {unwrap->words, unwrap->found};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; ++i) {
        bb_device_host_release(device, &blocks[i]);
    }
}

bb_status bb_unwrap_create(struct bb_kernel_context *context, const bb_unwrap_config *config,
                           const unsigned char *mask, bb_index columns, bb_index rows,
                           bb_unwrap **out)
{
    bb_status status = BB_OK;
    bb_unwrap *unwrap = NULL;
    BB_TRY(check_config(config));
    BB_TRY(BB_ZEROED(1, &unwrap));
    unwrap->context = context;
    unwrap->config = *config;
    BB_TRY(bb_unwrap_method_limit(&config->method, &unwrap->fixed_limit));
    BB_TRY(bb_unwrap_parts_create(mask, columns, rows, &unwrap->parts));
    BB_REQUIRE(unwrap->parts.count > 0, BB_INVALID,
               "a mask of %td x %td without a point: there is no phase to unwrap", columns, rows);
    unwrap->edge_count = count_edges(mask, columns, rows);
    BB_TRY(bb_unwrap_state_create(unwrap));
    BB_TRY(create_copies(unwrap, columns * rows));
    *out = unwrap;
    unwrap = NULL;
done:
    bb_unwrap_destroy(&unwrap);
    return status;
}

void bb_unwrap_destroy(bb_unwrap **unwrap)
{
    if (*unwrap == NULL) {
        return;
    }
    bb_status_record record; // record of an earlier failure
    bb_status_save(&record);
    if (discard_fetched(*unwrap) != BB_OK) {
        bb_log_warning("copying the result of the unwrapper failed: %s", bb_status_message());
    }
    bb_status_restore(&record);
    for (int section = 0; section < BB_SECTION_COUNT; ++section) {
        bb_device_graph_destroy(&(*unwrap)->sections[section]);
    }
    bb_unwrap_state_release(*unwrap);
    bb_unwrap_parts_release(&(*unwrap)->parts);
    release_copies(*unwrap);
    BB_RELEASE(unwrap);
}

bb_need bb_unwrap_need(const bb_unwrap_config *config, bb_index columns, bb_index rows,
                       bool on_device)
{
    const double points = (double)columns * (double)rows;
    // The bytes include the margins of the grids.
    const double framed = ((double)columns + 6.0) * ((double)rows + 4.0);
    const double cycle_s = 6e-8, compile_s = 1.0; // seconds per point; and fixed seconds
    double words = 0.0;                           // bytes per point of all fields
    for (int slot = 0; slot < BB_UNWRAP_SLOTS; ++slot) {
        static const double fields[BB_UNWRAP_SLOTS] = {[BB_UNWRAP_GRADIENT] = 18.0,
                                                       [BB_UNWRAP_SMOOTHER] = 7.0,
                                                       [BB_UNWRAP_RESIDUAL] = 1.0 / 3,
                                                       [BB_UNWRAP_TRANSFER] = 2.0 / 3,
                                                       [BB_UNWRAP_CONGRUENCE] = 2.0};
        words += fields[slot] * (config->slots[slot].storage == BB_FORMAT_FP64 ? 8.0 : 4.0);
    }
    const bb_unwrap_method *method = &config->method;
    const double cycles = (double)method->cycles + (double)fmin((double)method->reweight, 4.0) *
                                                       (double)method->reweight_cycles;
    const double fields = framed * words + points * 21.0; // plus masks, parts and their order
    const bool is_double = config->slots[BB_UNWRAP_GRADIENT].storage == BB_FORMAT_FP64;
    // Parts, transfer buffers and a phase for the verification; trees during construction and two
    // fields.
    const double host = points * (28.0 + 27.0 + 2.0 * (is_double ? 8.0 : 4.0));
    return (bb_need){.host_bytes = host + (on_device ? 0.0 : fields),
                     .device_bytes = on_device ? fields : 0.0,
                     .seconds = compile_s + points * cycle_s * cycles};
}

const bb_unwrap_parts *bb_unwrap_parts_of(const bb_unwrap *unwrap)
{
    return &unwrap->parts;
}

// Arguments of the conversion between doubles on the host and words on the device.
typedef struct conversion {
    bool is_double;
    double *words;
    const double *values;
    double *phase;
    const int32_t *labels;
} conversion;

static bb_status widen(void *context, bb_index begin, bb_index end)
{
    const conversion *work = context;
    const float *floats = (const float *)work->words;
    for (bb_index p = begin; p < end; ++p) {
        const double value = work->is_double ? work->words[p] : (double)floats[p];
        work->phase[p] = work->labels[p] >= 0 ? value : NAN;
    }
    return BB_OK;
}

static bb_status narrow(void *context, bb_index begin, bb_index end)
{
    const conversion *work = context;
    float *floats = (float *)work->words;
    for (bb_index p = begin; p < end; ++p) {
        const double value = work->labels[p] >= 0 ? work->values[p] : 0.0;
        if (work->is_double) {
            work->words[p] = value;
        } else {
            floats[p] = (float)value;
        }
    }
    return BB_OK;
}

static bb_status upload(bb_unwrap *unwrap, const double *values, const bb_unwrap_field *field)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(unwrap->context);
    conversion work = {.is_double = field->format == BB_FORMAT_FP64,
                       .words = unwrap->words,
                       .values = values,
                       .labels = unwrap->parts.labels};
    BB_TRY(bb_thread_ranges(field->columns * field->rows, GRAIN, narrow, &work));
    BB_TRY(bb_device_upload(device, field->block, unwrap->words, field->bytes));
done:
    return status;
}

// Converts words to doubles, with NAN outside the mask.
static bb_status convert_words(bb_unwrap *unwrap, const bb_unwrap_field *field, double *out)
{
    conversion work = {.is_double = field->format == BB_FORMAT_FP64,
                       .words = unwrap->words,
                       .phase = out,
                       .labels = unwrap->parts.labels};
    return bb_thread_ranges(field->columns * field->rows, GRAIN, widen, &work);
}

bb_status bb_unwrap_fetch(bb_unwrap *unwrap)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(unwrap->context);
    const bb_unwrap_field *phase = &unwrap->phase, *rejected = &unwrap->rejected;
    const bb_unwrap_field *correction = &unwrap->grids.correction;
    BB_TRY(bb_device_fetch(device, unwrap->words, phase->block, phase->bytes));
    BB_TRY(bb_device_fetch(device, unwrap->found, unwrap->limits.block,
                           BB_UNWRAP_LIMITS * sizeof *unwrap->found));
    if (unwrap->grids.count > 1) {
        BB_TRY(bb_device_fetch(device, unwrap->found + BB_UNWRAP_LIMITS, correction->block,
                               correction->bytes));
    }
    BB_TRY(bb_device_fetch(device, unwrap->found + BB_UNWRAP_LIMITS + 1, rejected->block,
                           rejected->bytes));
    unwrap->fetched = true;
done:
    return status;
}

// Copies the result; waits once for all fetched fields.
static bb_status download(bb_unwrap *unwrap, double *phase)
{
    bb_status status = BB_OK;
    if (!unwrap->fetched) {
        BB_TRY(bb_unwrap_fetch(unwrap));
    }
    unwrap->fetched = false;
    BB_TRY(bb_device_wait(bb_kernel_context_device(unwrap->context)));
    BB_TRY(convert_words(unwrap, &unwrap->phase, phase));
done:
    return status;
}

// Computes gradients, the means of their neighbours, and the median of the absolute differences by
// successive bracketing.
static bb_status find_limit(bb_unwrap *unwrap)
{
    bb_status status = BB_OK;
    for (int axis = 0; axis < 2; ++axis) {
        BB_TRY(bb_unwrap_step_run(&unwrap->gradient[axis]));
        BB_TRY(bb_unwrap_step_run(&unwrap->row_sums[axis]));
        BB_TRY(bb_unwrap_step_run(&unwrap->means[axis]));
    }
    BB_TRY(bb_unwrap_step_run(&unwrap->sample));
    BB_TRY(bb_unwrap_step_run(&unwrap->open_bracket));
    for (int i = 0; i < BRACKETS; ++i) { // BRACKETS is even, so the last result is in thresholds[0]
        BB_TRY(bb_unwrap_step_run(&unwrap->tally[i % 2]));
        BB_TRY(bb_unwrap_step_run(&unwrap->total));
        BB_TRY(bb_unwrap_step_run(&unwrap->bracket[i % 2]));
    }
    BB_TRY(bb_unwrap_step_run(&unwrap->limit));
done:
    return status;
}

// Phase congruent with the wrapped one and nearest to the solution.
static bb_status compute_congruent(bb_unwrap *unwrap)
{
    bb_status status = BB_OK;
    BB_TRY(bb_unwrap_step_run(&unwrap->settle));
    BB_TRY(bb_unwrap_step_run(&unwrap->directions));
    BB_TRY(bb_unwrap_step_run(&unwrap->cosine_groups));
    BB_TRY(bb_unwrap_step_run(&unwrap->sine_groups));
    BB_TRY(bb_unwrap_step_run(&unwrap->angles));
    for (int i = 0; i < PISTON_STEPS; ++i) {
        BB_TRY(bb_unwrap_step_run(&unwrap->offset));
        BB_TRY(bb_unwrap_step_run(&unwrap->offset_groups));
        BB_TRY(bb_unwrap_step_run(&unwrap->correct));
    }
    BB_TRY(bb_unwrap_step_run(&unwrap->congruent));
done:
    return status;
}

// Prepares a solve: from the wrapped phase on the device to the first weights.
static bb_status prepare(bb_unwrap *unwrap)
{
    bb_status status = BB_OK;
    if (unwrap->wrapped.rounding != NULL) {
        BB_TRY(bb_kernel_launch_queue(unwrap->wrapped.rounding));
    }
    BB_TRY(find_limit(unwrap));
    for (int axis = 0; axis < 2 && unwrap->config.method.reweight > 0; ++axis) {
        BB_TRY(bb_unwrap_step_run(&unwrap->bases[axis])); // rejection overwrites the means
    }
    BB_TRY(bb_unwrap_step_run(&unwrap->reject[0]));
    BB_TRY(bb_unwrap_step_run(&unwrap->reject[1]));
    BB_TRY(bb_unwrap_step_run(&unwrap->share));
    BB_TRY(bb_unwrap_step_run(&unwrap->hold));
    BB_TRY(bb_unwrap_grids_clear(&unwrap->grids));
done:
    return status;
}

static bb_status load(bb_unwrap *unwrap, const bb_unwrap_step *divergence)
{
    bb_status status = BB_OK;
    BB_TRY(bb_unwrap_step_run(divergence));
    BB_TRY(bb_unwrap_grids_load(&unwrap->grids));
done:
    return status;
}

// Sections of a run, with the signature that bb_device_graph_create needs.

static bb_status queue_prepare(void *unwrap)
{
    return prepare(unwrap);
}

static bb_status queue_first_load(void *unwrap)
{
    return load(unwrap, &((bb_unwrap *)unwrap)->first_divergence);
}

static bb_status queue_load(void *unwrap)
{
    return load(unwrap, &((bb_unwrap *)unwrap)->divergence);
}

static bb_status queue_cycle(void *unwrap)
{
    return bb_unwrap_grids_cycle(&((bb_unwrap *)unwrap)->grids);
}

static bb_status queue_congruence(void *unwrap)
{
    return compute_congruent(unwrap);
}

// The first call records the graph of the section.
static bb_status run_section(bb_unwrap *unwrap, bb_unwrap_section section)
{
    static bb_status (*const work[BB_SECTION_COUNT])(void *) = {
        [BB_SECTION_PREPARE] = queue_prepare,
        [BB_SECTION_FIRST_LOAD] = queue_first_load,
        [BB_SECTION_LOAD] = queue_load,
        [BB_SECTION_CYCLE] = queue_cycle,
        [BB_SECTION_CONGRUENCE] = queue_congruence,
    };
    bb_device_graph **graph = &unwrap->sections[section];
    return *graph != NULL ? bb_device_graph_replay(*graph)
                          : bb_device_graph_create(bb_kernel_context_device(unwrap->context),
                                                   work[section], unwrap, graph);
}

// True if the last cycle reduced the error by the ratio, or only rounding is left.
static bool contracts(const bb_unwrap_contraction *found, double ratio)
{
    return found->last <= no_correction || found->last <= ratio * found->before;
}

// True for a small correction after a large one.
static bool is_done(const bb_unwrap_contraction *found)
{
    return isfinite(found->before) && found->last <= small_correction &&
           contracts(found, fast_contraction);
}

// Runs at most `cycles` V-cycles. The first least-squares solve stops at a small correction; if
// cycles do not contract, the error may be much larger than the correction.
static bb_status run_cycles(bb_unwrap *unwrap, bool is_first, bb_index cycles,
                            bb_unwrap_report *report)
{
    bb_status status = BB_OK;
    bb_unwrap_contraction *found = &unwrap->contraction;
    *found = (bb_unwrap_contraction){INFINITY, INFINITY, found->first};
    for (bb_index i = 0; i < cycles && !(is_first && is_done(found)); ++i) {
        BB_TRY(run_section(unwrap, BB_SECTION_CYCLE));
        if (is_first || i + 2 >= cycles) {
            found->before = found->last;
            BB_TRY(bb_unwrap_grids_correction(&unwrap->grids, &found->last));
            found->first = is_first && i == 0 ? found->last : found->first;
        }
        ++report->cycles;
    }
done:
    return status;
}

// True if the last correction is rounding of the solution. Residuals of one ulp of the solution
// leave corrections of up to as many ulps as the grid has points along an axis; the first
// correction has the size of the solution.
static bool is_rounding(const bb_unwrap *unwrap, const bb_unwrap_contraction *found)
{
    const bb_format storage = unwrap->config.slots[BB_UNWRAP_SMOOTHER].storage;
    const double ulp = ldexp(found->first, 1 - bb_format_describe(storage)->significand);
    return found->last <=
           2.0 * ulp * fmax((double)unwrap->parts.columns, (double)unwrap->parts.rows);
}

// True for masks with winding paths. Errors along such a path leave small corrections on coarse
// grids, which join points that the mask separates.
static bool is_winding(const bb_unwrap *unwrap)
{
    return 4 * unwrap->parts.detour > unwrap->parts.columns + unwrap->parts.rows;
}

static bool can_descend(const bb_unwrap *unwrap)
{
    return unwrap->grids.count > 1 && bb_unwrap_config_supports_cg(&unwrap->config);
}

// True if V-cycles no longer reduce the error although it is above rounding.
static bool should_descend(const bb_unwrap *unwrap, const bb_unwrap_contraction *found)
{
    return can_descend(unwrap) && !contracts(found, slow_contraction) &&
           !is_rounding(unwrap, found);
}

// True if the remaining error does not change the congruent phase. The error is extrapolated from
// the last two corrections; a single cycle shows no contraction.
static bool has_settled(const bb_unwrap *unwrap, const bb_unwrap_contraction *found)
{
    const double error = found->last * found->last / (found->before - found->last);
    return unwrap->grids.count == 1 ||
           (isfinite(found->before) && contracts(found, slow_contraction) && !is_winding(unwrap) &&
            (found->last <= no_correction || error <= small_error));
}

static bb_status create_descent(bb_unwrap *unwrap)
{
    bb_status status = BB_OK;
    bb_unwrap_descent *descent = &unwrap->descent;
    if (descent->grids == NULL) {
        status = bb_unwrap_descent_create(&unwrap->grids, &unwrap->parts, &unwrap->config, descent);
        if (status != BB_OK) {
            bb_unwrap_descent_release(descent);
            *descent = (bb_unwrap_descent){.grids = NULL};
        }
    }
    return status;
}

static bb_status descend(bb_unwrap *unwrap, const bb_unwrap_step *divergence,
                         bb_unwrap_report *report)
{
    bb_status status = BB_OK;
    BB_TRY(create_descent(unwrap));
    BB_TRY(
        bb_unwrap_descent_run(&unwrap->descent, divergence, &report->cycles, &unwrap->is_solved));
done:
    return status;
}

// Solves a least-squares problem by V-cycles. If these do not contract, or the mask winds,
// conjugate gradients take over for the rest of the run, starting from the previous solution.
static bb_status solve(bb_unwrap *unwrap, bb_unwrap_section loading, bb_index cycles,
                       bb_unwrap_report *report)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(unwrap->context);
    const bool is_first = loading == BB_SECTION_FIRST_LOAD;
    const bb_unwrap_field *solution = &unwrap->grids.u;
    BB_TRY(bb_device_wait(device));
    const double start = bb_clock_seconds();
    BB_TRY(run_section(unwrap, loading));
    if (is_first) {
        unwrap->descends = can_descend(unwrap) && is_winding(unwrap);
        // Discard trees of an earlier phase: results must not depend on it.
        unwrap->descent.bound.widest = 0.0;
        BB_TRY(bb_device_zero(device, solution->block, solution->bytes));
    }
    if (!unwrap->descends) {
        BB_TRY(run_cycles(unwrap, is_first, cycles, report));
        unwrap->descends = should_descend(unwrap, &unwrap->contraction);
        unwrap->is_solved = has_settled(unwrap, &unwrap->contraction);
    }
    if (unwrap->descends) {
        BB_TRY(descend(unwrap, is_first ? &unwrap->first_divergence : &unwrap->divergence, report));
    } else {
        BB_TRY(bb_unwrap_grids_store(&unwrap->grids));
    }
    BB_TRY(bb_device_wait(device));
    report->cycle_seconds += bb_clock_seconds() - start;
done:
    return status;
}

// Counts the jumps of a phase.
static bb_status count_jumps(bb_unwrap *unwrap, double *jumps)
{
    bb_status status = BB_OK;
    BB_TRY(bb_unwrap_step_run(&unwrap->count_jumps[0]));
    BB_TRY(bb_unwrap_step_run(&unwrap->count_jumps[1]));
    BB_TRY(bb_unwrap_step_run(&unwrap->total_jumps));
    if (jumps != NULL) {
        BB_TRY(bb_device_download(bb_kernel_context_device(unwrap->context), jumps,
                                  unwrap->jumps.block, sizeof *jumps));
    }
done:
    return status;
}

// Stores the first phase and its jumps as the best so far.
static bb_status store_first(bb_unwrap *unwrap, double *jumps)
{
    bb_status status = BB_OK;
    BB_TRY(count_jumps(unwrap, jumps));
    BB_TRY(bb_unwrap_step_run(&unwrap->keep));
    BB_TRY(bb_unwrap_step_run(&unwrap->keep_jumps));
done:
    return status;
}

// Replaces the best phase by one with fewer jumps.
static bb_status update_best(bb_unwrap *unwrap, double *jumps)
{
    bb_status status = BB_OK;
    BB_TRY(count_jumps(unwrap, jumps));
    BB_TRY(bb_unwrap_step_run(&unwrap->select));
    BB_TRY(bb_unwrap_step_run(&unwrap->lower));
done:
    return status;
}

static bb_status reweight_once(bb_unwrap *unwrap, bb_index round, double *jumps,
                               bb_unwrap_report *report)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(unwrap->context);
    bb_unwrap_step step = {.launch = NULL};
    double changed = 0.0;
    BB_TRY(bb_unwrap_state_reweight(unwrap, round, &step));
    BB_TRY(bb_unwrap_step_run(&step));
    BB_TRY(solve(unwrap, BB_SECTION_LOAD, unwrap->config.method.reweight_cycles, report));
    BB_TRY(run_section(unwrap, BB_SECTION_CONGRUENCE));
    BB_TRY(bb_unwrap_step_run(&unwrap->changes));
    BB_TRY(bb_device_download(device, &changed, unwrap->changed.block, sizeof changed));
    report->changed = (bb_index)changed;
    if (report->changed > 0) {
        BB_TRY(update_best(unwrap, jumps));
    }
    ++report->reweighted;
done:
    bb_unwrap_step_release(&step);
    return status;
}

// True if conjugate gradients failed in the last least-squares solve, too.
static bool has_failed(const bb_unwrap *unwrap)
{
    return unwrap->descends && !unwrap->is_solved;
}

static bb_status reweight(bb_unwrap *unwrap, bb_unwrap_report *report)
{
    bb_status status = BB_OK;
    const bb_index rounds = unwrap->config.method.reweight;
    double least = 0.0, last = 0.0, jumps = 0.0; // J of the best, the last and the new phase
    if (rounds > 0) {
        BB_TRY(store_first(unwrap, &least));
        last = least;
        report->converged = unwrap->is_solved;
    }
    int quiet = 0; // successive reweightings without a change
    for (bb_index i = 0; i < rounds && quiet < QUIET && !has_failed(unwrap); ++i) {
        jumps = least; // if the phase equals the best one
        BB_TRY(reweight_once(unwrap, i, &jumps, report));
        quiet = report->changed == 0 || jumps == last ? quiet + 1 : 0;
        report->converged = jumps < least ? unwrap->is_solved : report->converged;
        least = fmin(jumps, least);
        last = jumps;
    }
    if (rounds > 0) {
        BB_TRY(bb_unwrap_step_run(&unwrap->give));
        report->converged = report->converged || least == 0.0;
        report->jumps = least;
    }
done:
    return status;
}

// Computes the share of rejected edges from the downloaded row sums.
static void read_rejection(const bb_unwrap *unwrap, bb_unwrap_report *report)
{
    const double *limits = unwrap->found, *counts = unwrap->found + BB_UNWRAP_LIMITS + 1;
    double rejected = 0.0;
    for (bb_index y = 0; y < unwrap->parts.rows; ++y) {
        rejected += counts[y];
    }
    report->limit_rad = isinf(unwrap->fixed_limit) ? NAN : limits[0];
    report->scale_rad = limits[2];
    report->rejected_share = unwrap->edge_count > 0 ? rejected / (double)unwrap->edge_count : NAN;
}

bb_status bb_unwrap_run(bb_unwrap *unwrap, const double *wrapped, double *phase,
                        bb_unwrap_report *report)
{
    bb_status status = BB_OK;
    const double start = bb_clock_seconds();
    *report = (bb_unwrap_report){.jumps = NAN};
    BB_TRY(discard_fetched(unwrap));
    BB_TRY(upload(unwrap, wrapped, &unwrap->wrapped));
    BB_TRY(run_section(unwrap, BB_SECTION_PREPARE));
    BB_TRY(solve(unwrap, BB_SECTION_FIRST_LOAD, unwrap->config.method.cycles, report));
    report->converged = unwrap->is_solved;
    BB_TRY(run_section(unwrap, BB_SECTION_CONGRUENCE));
    BB_TRY(reweight(unwrap, report));
    BB_TRY(download(unwrap, phase));
    report->solve_seconds = bb_clock_seconds() - start;
    report->bytes = bb_unwrap_state_bytes(unwrap, false);
    report->fp32_bytes = bb_unwrap_state_bytes(unwrap, true);
    read_rejection(unwrap, report);
done:
    return status;
}

// Counts the points that differ from `other` by a multiple of 2 pi.
static bb_index count_moved(const bb_unwrap_parts *parts, const double *phase, const double *other)
{
    bb_index moved = 0;
    for (bb_index i = 0; i < parts->point_count; ++i) {
        const int32_t p = parts->order[i];
        moved += !(fabs(phase[p] - other[p]) <= half_turn); // true also for NaN
    }
    return moved;
}

// Solves the last least-squares problem without rounding to the formats, starting from `phase`.
static bb_status solve_exactly(bb_unwrap *unwrap, const double *phase, double *exact, bool *reached)
{
    bb_status status = BB_OK;
    bb_unwrap_descent *descent = &unwrap->descent;
    const bb_unwrap_step *divergence =
        unwrap->config.method.reweight > 0 ? &unwrap->divergence : &unwrap->first_divergence;
    bb_index steps = 0;
    BB_TRY(create_descent(unwrap));
    BB_TRY(upload(unwrap, phase, &unwrap->grids.u));
    BB_TRY(bb_unwrap_descent_solve(descent, divergence, &steps, reached));
    BB_TRY(bb_unwrap_step_run(&descent->finish));
    BB_TRY(run_section(unwrap, BB_SECTION_CONGRUENCE));
    BB_TRY(download(unwrap, exact));
done:
    return status;
}

bb_status bb_unwrap_verify(bb_unwrap *unwrap, const double *phase, bb_unwrap_report *report)
{
    bb_status status = BB_OK;
    const bb_unwrap_parts *parts = &unwrap->parts;
    const bb_index points = parts->columns * parts->rows;
    double *exact = NULL; // [points]
    const bool is_known = report->converged && bb_unwrap_config_supports_cg(&unwrap->config);
    if (report->jumps == 0.0 || is_known) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(points, &exact));
    BB_TRY(solve_exactly(unwrap, phase, exact, &report->converged));
    const double moved = (double)count_moved(parts, phase, exact);
    report->converged =
        report->converged && moved <= fmax(moved_always, moved_share * (double)parts->point_count);
done:
    BB_RELEASE(&exact);
    return status;
}

static bb_status create_reweights(bb_unwrap *unwrap)
{
    bb_status status = BB_OK;
    const bb_index count = unwrap->config.method.reweight;
    if (unwrap->reweights == NULL && count > 0) {
        BB_TRY(BB_ZEROED(count, &unwrap->reweights));
        for (bb_index i = 0; i < count; ++i) {
            BB_TRY(bb_unwrap_state_reweight(unwrap, i, &unwrap->reweights[i]));
        }
    }
done:
    return status;
}

static bb_status queue_solve(bb_unwrap *unwrap, const bb_unwrap_step *divergence, bb_index cycles)
{
    bb_status status = BB_OK;
    BB_TRY(load(unwrap, divergence));
    for (bb_index i = 0; i < cycles; ++i) {
        BB_TRY(bb_unwrap_grids_cycle(&unwrap->grids));
    }
    BB_TRY(bb_unwrap_grids_measure(&unwrap->grids));
    BB_TRY(bb_unwrap_grids_store(&unwrap->grids));
done:
    return status;
}

bb_status bb_unwrap_queue(bb_unwrap *unwrap)
{
    bb_status status = BB_OK;
    const bb_unwrap_method *method = &unwrap->config.method;
    BB_TRY(create_reweights(unwrap));
    BB_TRY(prepare(unwrap));
    BB_TRY(queue_solve(unwrap, &unwrap->first_divergence, method->cycles));
    BB_TRY(compute_congruent(unwrap));
    if (method->reweight > 0) {
        BB_TRY(store_first(unwrap, NULL));
    }
    for (bb_index i = 0; i < method->reweight; ++i) {
        BB_TRY(bb_unwrap_step_run(&unwrap->reweights[i]));
        BB_TRY(queue_solve(unwrap, &unwrap->divergence, method->reweight_cycles));
        BB_TRY(compute_congruent(unwrap));
        BB_TRY(update_best(unwrap, NULL));
    }
    if (method->reweight > 0) {
        BB_TRY(bb_unwrap_step_run(&unwrap->give));
    }
done:
    return status;
}

const bb_unwrap_field *bb_unwrap_wrapped(const bb_unwrap *unwrap)
{
    return &unwrap->wrapped;
}

bb_status bb_unwrap_read(bb_unwrap *unwrap, double *phase, bb_unwrap_report *report)
{
    bb_status status = BB_OK;
    const bb_unwrap_method *method = &unwrap->config.method;
    *report =
        (bb_unwrap_report){.bytes = bb_unwrap_state_bytes(unwrap, false),
                           .fp32_bytes = bb_unwrap_state_bytes(unwrap, true),
                           .cycles = method->cycles + method->reweight * method->reweight_cycles,
                           .reweighted = method->reweight,
                           .jumps = NAN,
                           .cycle_seconds = NAN,
                           .solve_seconds = NAN};
    BB_TRY(download(unwrap, phase));
    read_rejection(unwrap, report);
    report->converged = unwrap->grids.count == 1 || unwrap->found[BB_UNWRAP_LIMITS] <= half_turn;
done:
    return status;
}
