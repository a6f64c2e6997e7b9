// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/draws.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

void bb_draws_add(bb_draws *draws, const bb_outcome *outcome, double loss)
{
    if (outcome->kind != BB_OUTCOME_OK) {
        if (draws->failed == 0) {
            draws->failure = *outcome;
            draws->failure_draw = draws->tried;
        }
        draws->failed += 1;
        loss = NAN;
    }
    draws->losses[draws->tried++] = loss;
}

void bb_draws_relate(bb_draws *draws, double start, double over)
{
    for (bb_index d = 0; d < draws->tried; ++d) {
        draws->losses[d] = (draws->losses[d] - start) / over + 0.0; // no -0
    }
}

bool bb_draws_differ(const bb_draws *draws)
{
    return draws->failed > 0 && draws->failed < draws->tried;
}

double bb_draws_failure_bound(const bb_draws *draws)
{
    const double finished = (double)(draws->tried - draws->failed);
    if (draws->tried == 0) {
        return NAN;
    }
    return finished == 0.0 ? 1.0 : gsl_cdf_beta_Pinv(0.95, (double)draws->failed + 1.0, finished);
}

bb_draws_summary bb_draws_summarise(const bb_draws *draws)
{
    bb_draws_summary out = {.tried = (double)draws->tried,
                            .failed = (double)draws->failed,
                            .worst = -INFINITY,
                            .failure_bound = bb_draws_failure_bound(draws)};
    bb_index numbers = 0;
    double sum = 0.0;
    double squares = 0.0;
    for (bb_index d = 0; d < draws->tried; ++d) {
        if (!isnan(draws->losses[d])) {
            ++numbers;
            sum += draws->losses[d];
            out.worst = fmax(out.worst, draws->losses[d]);
        }
    }
    out.mean = sum / (double)numbers;
    for (bb_index d = 0; d < draws->tried; ++d) {
        double gap = draws->losses[d] - out.mean;
        squares += isnan(gap) ? 0.0 : gap * gap;
    }
    out.deviation = numbers > 1 ? sqrt(squares / (double)(numbers - 1)) : NAN;
    if (numbers == 0 || numbers < draws->tried - draws->failed) {
        out.mean = out.deviation = out.worst = NAN;
    }
    return out;
}

double bb_draws_worst(const bb_draws *draws)
{
    return draws->failed > 0 ? NAN : bb_draws_summarise(draws).worst;
}
