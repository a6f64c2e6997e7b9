// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"
#include "core/memory.h"
#include "core/thread.h"
#include "lib/library.h"
#include "lib/options.h"
#include "solvers/unwrap/unwrap_quality.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { GRAIN = 1 << 14, GROUPS = 2 };

static const double pi = 3.14159265358979323846;
static const char work_name[] = "unwrapping a phase";
static const unsigned offered = 1U << BB_DEVICE_CPU | 1U << BB_DEVICE_CUDA | 1U << BB_DEVICE_OPENCL;

struct bb_unwrapper {
    bb_index rows, columns;
    bb_arena arena; // texts of the options
    bb_unwrap_parts parts;
    bb_device *device;          // this and the following are NULL for a line
    bb_kernel_context *context; // kernels of the plan
    bb_unwrap *unwrap;
    double *wrapped; // [rows][columns] phase in [-pi, pi]
    bool has_run;
};

// Parsed options.
typedef struct unwrapper_config {
    bb_unwrap_method method;
    int arithmetic, storage; // bb_format; storage -1: as the arithmetic
    int slots[BB_UNWRAP_SLOTS];
} unwrapper_config;

static const char *const arithmetic_names[] = {"fp64", "fp32", NULL}; // in bb_format's order

// clang-format off
#define SLOT_KEY(word, slot)                                                                       \
    {.name = (word), .kind = BB_KEY_CHOICE, .choices = bb_format_names, .optional = true,          \
     .offset = offsetof(unwrapper_config, slots) + (slot) * sizeof(int)}

static const bb_key keys[] = {
    {.name = "arithmetic", .kind = BB_KEY_CHOICE, .choices = arithmetic_names,
     .default_text = "fp32", .offset = offsetof(unwrapper_config, arithmetic)},
    {.name = "storage", .kind = BB_KEY_CHOICE, .choices = bb_format_names, .optional = true,
     .offset = offsetof(unwrapper_config, storage)},
    SLOT_KEY("gradient", BB_UNWRAP_GRADIENT),
    SLOT_KEY("smoother", BB_UNWRAP_SMOOTHER),
    SLOT_KEY("residual", BB_UNWRAP_RESIDUAL),
    SLOT_KEY("transfer", BB_UNWRAP_TRANSFER),
    SLOT_KEY("congruence", BB_UNWRAP_CONGRUENCE),
};
// clang-format on
static const bb_schema schema = BB_SCHEMA("unwrap", unwrapper_config, keys);

static bb_status read_options(const char *text, bb_arena *arena, bb_unwrap_config *out)
{
    bb_status status = BB_OK;
    unwrapper_config config;
    const bb_option_group groups[GROUPS] = {
        {.prefix = "", .schema = &schema, .record = &config},
        {.prefix = "", .schema = &bb_unwrap_method_schema, .record = &config.method},
    };
    const bb_options options = {
        .subject = "unwrapping", .first = "arithmetic", .groups = groups, .count = GROUPS};
    BB_TRY(bb_options_read(&options, text, arena));
    BB_TRY(bb_unwrap_method_check(&config.method));
    out->method = config.method;
    for (int slot = 0; slot < BB_UNWRAP_SLOTS; ++slot) {
        const int stored = config.slots[slot] >= 0 ? config.slots[slot]
                           : config.storage >= 0   ? config.storage
                                                   : config.arithmetic;
        out->slots[slot] = (bb_unwrap_numbers){(bb_format)config.arithmetic, (bb_format)stored};
    }
done:
    return status;
}

static bool is_line(const bb_unwrapper *self)
{
    return self->rows == 1 || self->columns == 1;
}

static bb_status create_parts(bb_unwrapper *self, const unsigned char *mask,
                              const bb_unwrap_config *config, const char *device)
{
    bb_status status = BB_OK;
    BB_TRY(bb_library_open_device(device, offered, work_name, NULL, &self->device));
    if (is_line(self)) {
        BB_TRY(bb_unwrap_parts_create(mask, self->columns, self->rows, &self->parts));
        BB_REQUIRE(self->parts.count > 0, BB_INVALID, "mask: no valid point; set some to 1");
        goto done;
    }
    BB_TRY(bb_kernel_context_create(self->device, &self->context));
    BB_TRY(bb_unwrap_create(self->context, config, mask, self->columns, self->rows, &self->unwrap));
    BB_TRY(BB_ALLOCATE(self->rows * self->columns, &self->wrapped));
done:
    return status;
}

bb_status bb_unwrapper_create(bb_index rows, bb_index columns, const unsigned char *mask,
                              const char *options, const char *device, bb_unwrapper **out)
{
    bb_status status = BB_OK;
    bb_unwrapper *self = NULL;
    bb_unwrap_config config;
    unsigned char *all = NULL;
    BB_REQUIRE_POINTER(out);
    *out = NULL;
    BB_TRY(bb_library_prepare());
    BB_REQUIRE(rows > 0 && columns > 0 && rows <= INT32_MAX / columns, BB_INVALID,
               "phase of %td x %td points: expected 1 to %d points", rows, columns, INT32_MAX);
    BB_TRY(BB_ZEROED(1, &self));
    self->rows = rows;
    self->columns = columns;
    BB_TRY(read_options(options, &self->arena, &config));
    if (mask == NULL) {
        BB_TRY(BB_ALLOCATE(rows * columns, &all));
        memset(all, 1, (size_t)(rows * columns));
    }
    BB_TRY(create_parts(self, mask == NULL ? all : mask, &config, device));
    *out = self;
    self = NULL;
done:
    BB_RELEASE(&all);
    bb_unwrapper_destroy(&self);
    return status;
}

void bb_unwrapper_destroy(bb_unwrapper **unwrapper)
{
    if (unwrapper == NULL || *unwrapper == NULL) {
        return;
    }
    bb_unwrapper *self = *unwrapper;
    bb_unwrap_destroy(&self->unwrap);
    bb_kernel_context_destroy(&self->context);
    bb_device_close(&self->device);
    bb_unwrap_parts_release(&self->parts);
    bb_arena_release(&self->arena);
    BB_RELEASE(&self->wrapped);
    BB_RELEASE(unwrapper);
}

static const bb_unwrap_parts *parts_of(const bb_unwrapper *self)
{
    return self->unwrap != NULL ? bb_unwrap_parts_of(self->unwrap) : &self->parts;
}

bb_status bb_unwrapper_parts(const bb_unwrapper *unwrapper, int *labels, bb_index *count)
{
    bb_status status = BB_OK;
    BB_REQUIRE_POINTER(unwrapper);
    BB_REQUIRE_POINTER(count);
    const bb_unwrap_parts *parts = parts_of(unwrapper);
    if (labels != NULL) {
        memcpy(labels, parts->labels,
               (size_t)(unwrapper->rows * unwrapper->columns) * sizeof *labels);
    }
    *count = parts->count;
done:
    return status;
}

// Conversion of a phase before and after a run.
typedef struct conversion {
    const int32_t *labels;
    const double *given;     // [points] as passed
    double *copy;            // [points] receives the phase in [-pi, pi]
    const double *wrapped;   // [points] in [-pi, pi]: as passed, or the copy
    double *phase;           // [points]
    atomic_bool is_outside;  // some phase is outside [-pi, pi]
    atomic_ptrdiff_t bad;    // any point that is not finite, -1: none
    atomic_ptrdiff_t failed; // any point without a phase, -1: none
} conversion;

static bb_status examine(void *context, bb_index begin, bb_index end)
{
    conversion *work = context;
    bool is_odd = false; // outside [-pi, pi] or not finite
    for (bb_index p = begin; p < end; ++p) {
        is_odd |= work->labels[p] >= 0 && !(fabs(work->given[p]) <= pi);
    }
    for (bb_index p = begin; is_odd && p < end; ++p) {
        if (work->labels[p] >= 0 && !isfinite(work->given[p])) {
            work->bad = p;
        }
    }
    if (is_odd) {
        work->is_outside = true;
    }
    return BB_OK;
}

static bb_status wrap(void *context, bb_index begin, bb_index end)
{
    conversion *work = context;
    for (bb_index p = begin; p < end; ++p) {
        const double value = work->labels[p] >= 0 ? work->given[p] : 0.0;
        work->copy[p] = fabs(value) <= pi ? value : remainder(value, 2.0 * pi);
    }
    return BB_OK;
}

// Adds the multiple of 2 pi of the result to the given phase in double, because the result is
// rounded to its format.
static bb_status make_congruent(void *context, bb_index begin, bb_index end)
{
    conversion *work = context;
    const double shift = 0x1.8p52; // adding it rounds to an integer, faster than rint
    bool is_finite = true;
    for (bb_index p = begin; p < end; ++p) {
        const double cycles = (work->phase[p] - work->wrapped[p]) * (0.5 / pi) + shift - shift;
        const bool is_inside = work->labels[p] >= 0;
        is_finite &= !is_inside || fabs(cycles) < INFINITY;
        work->phase[p] = is_inside ? work->wrapped[p] + 2.0 * pi * cycles : work->phase[p];
    }
    for (bb_index p = begin; !is_finite && p < end; ++p) {
        if (work->labels[p] >= 0 && !isfinite(work->phase[p])) {
            work->failed = p;
        }
    }
    return BB_OK;
}

// Unwraps along the line: the first point of each part keeps its phase, and each following one
// differs from its neighbour by the wrapped difference (Itoh).
static void unwrap_line(const bb_unwrapper *self, const double *wrapped, double *phase)
{
    const int32_t *labels = self->parts.labels;
    double before = 0.0;
    double cycles = 0.0;
    for (bb_index p = 0; p < self->rows * self->columns; ++p) {
        const double value = wrapped[p];
        if (labels[p] < 0) {
            phase[p] = NAN;
            continue;
        }
        const bool starts = p == 0 || labels[p - 1] != labels[p];
        cycles = starts ? 0.0 : cycles - rint((value - before) / (2.0 * pi));
        before = value;
        phase[p] = value + 2.0 * pi * cycles;
    }
}

static void copy_report(const bb_unwrap_report *from, bb_unwrapping_report *out)
{
    out->jumps = from->jumps;
    out->rejected_share = from->rejected_share;
    out->limit_rad = from->limit_rad;
    out->cycles = from->cycles;
    out->reweighted = from->reweighted;
    out->bytes = from->bytes;
    out->seconds = from->solve_seconds;
    if (!from->converged) {
        bb_outcome_set(&out->outcome, BB_OUTCOME_NOT_CONVERGED,
                       "the least-squares solve did not converge: check the mask and the formats");
    }
}

static void note_non_finite(const bb_unwrapper *self, bb_index point, bb_outcome *outcome)
{
    if (point >= 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "phase of row %td, column %td",
                       point / self->columns, point % self->columns);
    }
}

static bb_status run_grid(bb_unwrapper *self, conversion *work, bb_unwrapping_report *report)
{
    bb_status status = BB_OK;
    bb_unwrap_report found = {0};
    const bb_index points = self->rows * self->columns;
    BB_TRY(bb_unwrap_run(self->unwrap, work->wrapped, work->phase, &found));
    BB_TRY(bb_unwrap_verify(self->unwrap, work->phase, &found));
    self->has_run = true;
    BB_TRY(bb_thread_ranges(points, GRAIN, make_congruent, work));
    note_non_finite(self, work->failed, &report->outcome);
    copy_report(&found, report);
done:
    return status;
}

static bb_unwrapping_report start_report(void)
{
    return (bb_unwrapping_report){
        .jumps = NAN, .rejected_share = NAN, .limit_rad = NAN, .seconds = NAN};
}

bb_status bb_unwrapper_run(bb_unwrapper *unwrapper, const double *wrapped, double *phase,
                           bb_unwrapping_report *report)
{
    bb_status status = BB_OK;
    const double begin = bb_clock_seconds();
    BB_REQUIRE_POINTER(unwrapper);
    BB_REQUIRE_POINTER(wrapped);
    BB_REQUIRE_POINTER(phase);
    BB_TRY(bb_library_prepare());
    bb_unwrapping_report found = start_report();
    conversion work = {.labels = parts_of(unwrapper)->labels,
                       .given = wrapped,
                       .copy = unwrapper->wrapped,
                       .wrapped = wrapped,
                       .phase = phase,
                       .bad = -1,
                       .failed = -1};
    const bb_index points = unwrapper->rows * unwrapper->columns;
    BB_TRY(bb_thread_ranges(points, GRAIN, examine, &work));
    bb_index bad = work.bad < 0 ? -1 : 0;
    while (bad >= 0 && (work.labels[bad] < 0 || isfinite(wrapped[bad]))) {
        ++bad; // the first one, whichever thread found one
    }
    BB_REQUIRE(bad < 0, BB_INVALID,
               "wrapped phase of row %td, column %td is %g: expected a finite value, or 0 in the "
               "mask",
               bad / unwrapper->columns, bad % unwrapper->columns, wrapped[bad]);
    if (unwrapper->unwrap == NULL) {
        unwrap_line(unwrapper, wrapped, phase);
    } else {
        if (work.is_outside || phase == wrapped) {
            BB_TRY(bb_thread_ranges(points, GRAIN, wrap, &work));
            work.wrapped = work.copy;
        }
        BB_TRY(run_grid(unwrapper, &work, &found));
    }
    found.seconds = bb_clock_seconds() - begin;
    if (report != NULL) {
        *report = found;
    }
done:
    return status;
}

static bb_status require_grid(const bb_unwrapper *self, const char *function)
{
    bb_status status = BB_OK;
    BB_REQUIRE(self != NULL, BB_INVALID, "%s: unwrapper is NULL; pass an address", function);
    BB_REQUIRE(self->unwrap != NULL, BB_UNSUPPORTED,
               "%s: an image of one row or column has no grid; use bb_unwrapper_run", function);
done:
    return status;
}

bb_status bb_unwrapper_quality(bb_unwrapper *unwrapper, double *quality)
{
    bb_status status = BB_OK;
    BB_TRY(require_grid(unwrapper, __func__));
    BB_REQUIRE_POINTER(quality);
    BB_REQUIRE(unwrapper->has_run, BB_INVALID,
               "bb_unwrapper_quality: no run yet; call bb_unwrapper_run first");
    BB_TRY(bb_unwrap_quality_map(unwrapper->unwrap, quality));
done:
    return status;
}

bb_status bb_unwrapper_input(bb_unwrapper *unwrapper, void **address, int *value_bytes)
{
    bb_status status = BB_OK;
    BB_TRY(require_grid(unwrapper, __func__));
    BB_REQUIRE_POINTER(address);
    BB_REQUIRE_POINTER(value_bytes);
    BB_REQUIRE(bb_device_kind_of(unwrapper->device) != BB_DEVICE_OPENCL, BB_UNSUPPORTED,
               "bb_unwrapper_input: memory of opencl has no address; use bb_unwrapper_run");
    const bb_unwrap_field *field = bb_unwrap_wrapped(unwrapper->unwrap);
    *address = field->block;
    *value_bytes = field->format == BB_FORMAT_FP64 ? (int)sizeof(double) : (int)sizeof(float);
done:
    return status;
}

bb_status bb_unwrapper_queue(bb_unwrapper *unwrapper)
{
    bb_status status = BB_OK;
    BB_TRY(require_grid(unwrapper, __func__));
    BB_TRY(bb_library_prepare());
    BB_TRY(bb_unwrap_queue(unwrapper->unwrap));
    unwrapper->has_run = true;
done:
    return status;
}

bb_status bb_unwrapper_read(bb_unwrapper *unwrapper, double *phase, bb_unwrapping_report *report)
{
    bb_status status = BB_OK;
    bb_unwrap_report found = {0};
    BB_TRY(require_grid(unwrapper, __func__));
    BB_REQUIRE_POINTER(phase);
    BB_REQUIRE(unwrapper->has_run, BB_INVALID,
               "bb_unwrapper_read: nothing is queued; call bb_unwrapper_queue first");
    BB_TRY(bb_unwrap_read(unwrapper->unwrap, phase, &found));
    if (report != NULL) {
        *report = start_report();
        copy_report(&found, report);
    }
done:
    return status;
}
