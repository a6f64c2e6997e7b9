// SPDX-License-Identifier: Apache-2.0
//
// Certificates of a wafer study: run-time bounds on the error of each displacement of a pipeline,
// from norms of rows and temperatures, compared with the actual error.
//
// Bound of a slit point and light step: coding (precision/row_certificate.h) + rounding of the
// pipeline's product + rounding of the reference's product. Error: |u - u_ref|.
#include "core/memory.h"
#include "core/thread.h"
#include "sim/wafer/wafer_work.h"
#include "solvers/operator/coded_operator.h"

#include <math.h>

// Contribution of a light step to a tally, without the histogram.
typedef struct step_tally {
    double bound, coding, error, unbounded, violations;
} step_tally;

enum { UNCOUNTED = -1 };

// Adds a displacement and returns the histogram bin of bound / error; -1 if there is none.
static int16_t add(step_tally *tally, double coding, double rounding, double error)
{
    const double bound = coding + rounding;
    if (!isfinite(bound)) {
        tally->unbounded += 1.0;
        return UNCOUNTED;
    }
    tally->bound = fmax(tally->bound, bound);
    tally->coding = fmax(tally->coding, coding);
    tally->error = fmax(tally->error, error);
    if (!(error <= bound)) { // true for NaN, too
        tally->violations += 1.0;
    } else if (error > 0.0) {
        double place = BB_CERTIFICATE_PER_OCTAVE * log2(bound / error);
        return (int16_t)fmin(place, BB_CERTIFICATE_BINS - 1);
    }
    return UNCOUNTED;
}

void bb_certificate_tally_merge(bb_certificate_tally *tally, const bb_certificate_tally *more)
{
    tally->bound = fmax(tally->bound, more->bound);
    tally->coding = fmax(tally->coding, more->coding);
    tally->error = fmax(tally->error, more->error);
    tally->unbounded += more->unbounded;
    tally->violations += more->violations;
    for (int i = 0; i < BB_CERTIFICATE_BINS; ++i) {
        tally->counts[i] += more->counts[i];
    }
}

// Median of bound / error, to 1.1 %, over displacements with an error; NaN if there are none.
static double looseness_of(const bb_certificate_tally *tally)
{
    double total = 0.0;
    double below = 0.0;
    for (int i = 0; i < BB_CERTIFICATE_BINS; ++i) {
        total += tally->counts[i];
    }
    for (int i = 0; i < BB_CERTIFICATE_BINS; ++i) {
        below += tally->counts[i];
        if (total > 0.0 && 2.0 * below >= total) {
            return exp2((i + 0.5) / BB_CERTIFICATE_PER_OCTAVE);
        }
    }
    return NAN;
}

static bb_sum_rounding rounding_of(const bb_product_pipeline *pipeline, bb_index columns)
{
    const bb_gemv_arithmetic arithmetic = {(bb_format)pipeline->multiply,
                                           (bb_format)pipeline->accumulate};
    return bb_coded_operator_rounding(&pipeline->storage, arithmetic, pipeline->accumulate_run,
                                      columns);
}

typedef struct check {
    const bb_wafer_certificate *certificate;
    bb_sum_rounding rounding, exact; // summation errors of the pipeline and of the reference
    step_tally *tallies;             // [steps]
    int16_t *bins;                   // [steps][points]
} check;

static bb_status check_step(void *context, bb_index step)
{
    const check *work = context;
    const bb_wafer_certificate *certificate = work->certificate;
    const bb_vector_norms *x = &certificate->inputs[step];
    for (bb_index i = 0; i < certificate->points; ++i) {
        const bb_index at = step * certificate->points + i;
        const bb_index row = certificate->first_row[step] + i;
        const bb_row_certificate *coded = &certificate->rows[row];
        const double rounding =
            bb_row_certificate_rounding(coded, x, &work->rounding) +
            bb_row_certificate_rounding(&certificate->reference_rows[row], x, &work->exact);
        work->bins[at] = add(&work->tallies[step], bb_row_certificate_coding(coded, x), rounding,
                             fabs(certificate->windows[at] - certificate->expected[at]));
    }
    return BB_OK;
}

// Maxima and integer counts give the same result in any order of steps.
bb_status bb_wafer_certificate_check(const bb_wafer_certificate *certificate,
                                     bb_certificate_tally *tally)
{
    bb_status status = BB_OK;
    const bb_index steps = certificate->steps;
    check work = {.certificate = certificate,
                  .rounding = rounding_of(certificate->pipeline, certificate->columns),
                  .exact = rounding_of(certificate->reference, certificate->columns)};
    BB_TRY(BB_ZEROED(steps, &work.tallies));
    BB_TRY(BB_ALLOCATE(steps * certificate->points, &work.bins));
    BB_TRY(bb_thread_for(steps, check_step, &work));
    for (bb_index step = 0; step < steps; ++step) {
        const step_tally *part = &work.tallies[step];
        tally->bound = fmax(tally->bound, part->bound);
        tally->coding = fmax(tally->coding, part->coding);
        tally->error = fmax(tally->error, part->error);
        tally->unbounded += part->unbounded;
        tally->violations += part->violations;
    }
    for (bb_index i = 0; i < steps * certificate->points; ++i) {
        if (work.bins[i] != UNCOUNTED) {
            tally->counts[work.bins[i]] += 1.0;
        }
    }
done:
    BB_RELEASE(&work.tallies);
    BB_RELEASE(&work.bins);
    return status;
}

// Results of a pipeline and an axis; lengths in m.
typedef struct row {
    double bound, coding, error, looseness, violations, unbounded;
} row;

static const bb_output rows[] = {
    {"certified_bound_nm", "pipeline, axis", "nm",
     "largest certified bound on the error of a slit point's displacement in a light step",
     .note = "docs/manual/precision.md, section 4.1", BB_MEMBER(row, bound), .scale = 1e9},
    {"certified_coding_nm", "pipeline, axis", "nm", "largest part of a bound due to storage",
     BB_MEMBER(row, coding), .scale = 1e9},
    {"certified_error_nm", "pipeline, axis", "nm",
     "largest error of a slit point's displacement in a light step", BB_MEMBER(row, error),
     .scale = 1e9},
    {"certificate_looseness", "pipeline, axis", "1",
     "median of bound over error, over slit points and light steps with an error",
     .note = "NaN without errors", BB_MEMBER(row, looseness)},
    {"certificate_violations", "pipeline, axis", "1", "errors above their certified bound",
     .note = "expected 0", BB_MEMBER(row, violations)},
    {"certificate_unbounded", "pipeline, axis", "1",
     "displacements without a bound: rows or products that are not finite",
     BB_MEMBER(row, unbounded)},
};
static const bb_output_table outputs = {"/results, wafer and product: storage errors", NULL,
                                        "results", "pipeline, axis", BB_OUTPUT_ROWS(rows)};

static bb_status publish(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_work *work = all;
    const bb_list *axes = &work->study.response.axes;
    const bb_index count = work->study.pipelines.count * axes->count;
    row *records = NULL; // [pipelines][axes]
    BB_TRY(BB_ALLOCATE(count, &records));
    for (bb_index i = 0; i < count; ++i) {
        const bb_certificate_tally *tally =
            &work->evaluations[i / axes->count]
                 .certificate[((const int *)axes->items)[i % axes->count]];
        records[i] = (row){tally->bound,        tally->coding,     tally->error,
                           looseness_of(tally), tally->violations, tally->unbounded};
    }
    BB_TRY(
        bb_output_table_publish_records(&outputs, records, sizeof *records, count, NULL, results));
done:
    BB_RELEASE(&records);
    return status;
}

const bb_part bb_wafer_certificate_part = {
    .name = "certificate", .run = publish, .outputs = BB_OUTPUTS(&outputs)};
