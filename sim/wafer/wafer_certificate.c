// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_certificate.h"

#include "core/memory.h"
#include "solvers/operator/product_rounding.h"

#include <math.h>

void bb_certificate_tally_add(bb_certificate_tally *tally, double coding, double rounding,
                              double error)
{
    const double bound = coding + rounding;
    if (!isfinite(bound)) {
        tally->unbounded += 1.0;
        return;
    }
    tally->bound = fmax(tally->bound, bound);
    tally->coding = fmax(tally->coding, coding);
    tally->error = fmax(tally->error, error);
    if (!(error <= bound)) { // NaN too
        tally->violations += 1.0;
    } else if (error > 0.0) {
        double place = BB_CERTIFICATE_PER_OCTAVE * log2(bound / error);
        tally->counts[(int)fmin(place, BB_CERTIFICATE_BINS - 1)] += 1.0;
    }
}

double bb_certificate_tally_looseness(const bb_certificate_tally *tally)
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
    return bb_product_rounding(&pipeline->storage, arithmetic, pipeline->accumulate_run, columns);
}

void bb_wafer_certificate_check(const bb_wafer_certificate *certificate, bb_index step,
                                bb_index row, bb_index points, const double *window,
                                const double *expected, bb_certificate_tally *tally)
{
    const bb_sum_rounding sum_rounding = rounding_of(certificate->pipeline, certificate->columns);
    const bb_sum_rounding exact = rounding_of(certificate->reference, certificate->columns);
    const bb_vector_norms *x = &certificate->inputs[step];
    for (bb_index i = 0; i < points; ++i) {
        const bb_row_certificate *coded = &certificate->rows[row + i];
        double rounding =
            bb_row_certificate_rounding(coded, x, &sum_rounding) +
            bb_row_certificate_rounding(&certificate->reference_rows[row + i], x, &exact);
        bb_certificate_tally_add(tally, bb_row_certificate_coding(coded, x), rounding,
                                 fabs(window[i] - expected[i]));
    }
}

enum { BOUND, CODING, ERROR, LOOSENESS, VIOLATIONS, UNBOUNDED, MEASURES };

// clang-format off
static const struct {
    const char *path, *unit, *long_name;
} measures[MEASURES] = {
    [BOUND] = {"results/certified_bound_nm", "nm",
               "largest certified bound on the error of a slit point's displacement in a light step"},
    [CODING] = {"results/certified_coding_nm", "nm",
                "largest part of it that storage is to blame for"},
    [ERROR] = {"results/certified_error_nm", "nm",
               "largest error of a slit point's displacement in a light step"},
    [LOOSENESS] = {"results/certificate_looseness", "1",
                   "median of bound over error, slit points and light steps with an error"},
    [VIOLATIONS] = {"results/certificate_violations", "1", "errors above their certified bound"},
    [UNBOUNDED] = {"results/certificate_unbounded", "1",
                   "displacements without a bound: rows or products that are not finite"},
};
// clang-format on

static double measure(const bb_certificate_tally *tally, int which)
{
    switch (which) {
    case BOUND:
        return 1e9 * tally->bound;
    case CODING:
        return 1e9 * tally->coding;
    case ERROR:
        return 1e9 * tally->error;
    case LOOSENESS:
        return bb_certificate_tally_looseness(tally);
    case VIOLATIONS:
        return tally->violations;
    default:
        return tally->unbounded;
    }
}

bb_status bb_wafer_certificate_publish(bb_results *results, bb_index pipelines, bb_index axes,
                                       const bb_certificate_tally *const *tallies)
{
    bb_status status = BB_OK;
    double *values = NULL; // [pipelines][axes]
    BB_TRY(BB_ALLOCATE(pipelines * axes, &values));
    for (int m = 0; m < MEASURES; ++m) {
        for (bb_index i = 0; i < pipelines * axes; ++i) {
            values[i] = measure(tallies[i], m);
        }
        BB_TRY(bb_results_values(results, measures[m].path, measures[m].unit, measures[m].long_name,
                                 "pipeline, axis", values));
    }
done:
    BB_RELEASE(&values);
    return status;
}
