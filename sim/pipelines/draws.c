// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/draws.h"

#include "sim/study.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

void bb_draws_add(bb_draws *draws, const bb_outcome *outcome, double price)
{
    if (outcome->kind != BB_OUTCOME_OK) {
        if (draws->failed == 0) {
            draws->failure = *outcome;
            draws->failure_draw = draws->tried;
        }
        draws->failed += 1;
        price = NAN;
    }
    draws->prices[draws->tried++] = price;
}

void bb_draws_relate(bb_draws *draws, double start, double over)
{
    for (bb_index d = 0; d < draws->tried; ++d) {
        draws->prices[d] = (draws->prices[d] - start) / over + 0.0; // no -0
    }
}

bool bb_draws_differ(const bb_draws *draws)
{
    return draws->failed > 0 && draws->failed < draws->tried;
}

typedef struct moments {
    bb_index finished;
    double mean, deviation, worst; // NaN where there are none
} moments;

// Of the draws that finished. Failed ones are NaN; a finished one that is makes all NaN.
static moments moments_of(const bb_draws *draws)
{
    moments out = {.finished = draws->tried - draws->failed, .worst = -INFINITY};
    bb_index numbers = 0;
    double sum = 0.0;
    double squares = 0.0;
    for (bb_index d = 0; d < draws->tried; ++d) {
        if (!isnan(draws->prices[d])) {
            ++numbers;
            sum += draws->prices[d];
            out.worst = fmax(out.worst, draws->prices[d]);
        }
    }
    out.mean = sum / (double)numbers;
    for (bb_index d = 0; d < draws->tried; ++d) {
        double gap = draws->prices[d] - out.mean;
        squares += isnan(gap) ? 0.0 : gap * gap;
    }
    out.deviation = numbers > 1 ? sqrt(squares / (double)(numbers - 1)) : NAN;
    if (numbers == 0 || numbers < out.finished) {
        out.mean = out.deviation = out.worst = NAN;
    }
    return out;
}

double bb_draws_worst(const bb_draws *draws)
{
    return draws->failed > 0 ? NAN : moments_of(draws).worst;
}

double bb_draws_failure_bound(const bb_draws *draws)
{
    const double finished = (double)(draws->tried - draws->failed);
    if (draws->tried == 0) {
        return NAN;
    }
    return finished == 0.0 ? 1.0 : gsl_cdf_beta_Pinv(0.95, (double)draws->failed + 1.0, finished);
}

enum { COUNT, MEAN, DEVIATION, WORST, FAILED, BOUND, COLUMNS };

static void list_numbers(const bb_draws *draws, double out[COLUMNS])
{
    const moments prices = moments_of(draws);
    out[COUNT] = (double)draws->tried;
    out[MEAN] = prices.mean;
    out[DEVIATION] = prices.deviation;
    out[WORST] = prices.worst;
    out[FAILED] = (double)draws->failed;
    out[BOUND] = bb_draws_failure_bound(draws);
}

bb_status bb_draws_publish(bb_results *results, const char *unit, bb_index count,
                           const bb_draws *const *draws)
{
    // clang-format off
    const struct {
        const char *path, *unit, *long_name;
    } columns[COLUMNS] = {
        [COUNT] = {"results/draws", "1", "computations with roundings of their own"},
        [MEAN] = {"results/price_mean", unit, "mean price of the draws that finished"},
        [DEVIATION] = {"results/price_std", unit, "standard deviation of their price"},
        [WORST] = {"results/price_worst", unit, "their largest price"},
        [FAILED] = {"results/draws_failed", "1", "draws that failed"},
        [BOUND] = {"results/failure_bound", "1",
                   "upper bound of a draw's probability to fail, 95 % confidence, one-sided"},
    };
    // clang-format on
    bb_status status = BB_OK;
    double values[COLUMNS][BB_STUDY_PIPELINES];
    double numbers[COLUMNS];
    for (bb_index p = 0; p < count; ++p) {
        list_numbers(draws[p], numbers);
        for (int c = 0; c < COLUMNS; ++c) {
            values[c][p] = numbers[c];
        }
    }
    for (int c = 0; c < COLUMNS; ++c) {
        BB_TRY(bb_results_values(results, columns[c].path, columns[c].unit, columns[c].long_name,
                                 "pipeline", values[c]));
    }
done:
    return status;
}
