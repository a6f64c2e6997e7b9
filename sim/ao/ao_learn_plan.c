// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_learn_plan.h"

#include "physics/ao/frames/frame_sampler.h"
#include "physics/ao/frames/learn_frames.h"
#include "physics/ao/learn/learn_block.h"

#include <math.h>

// Seconds of one core: a table of D, an evaluation of D and a value of a covariance in their
// blocks, and a product of slopes.
static const double seconds_per_table = 1.2e-2;
static const double seconds_per_distance = 4.0e-9;
static const double seconds_per_entry = 5.0e-9;
static const double seconds_per_product = 4.0e-10;
static const double reflection_rate = 1.0e9; // operations of Householder's on tall blocks

// Sizes of one linear problem.
typedef struct extent {
    double n, layers, sources, truth_layers;
    double most_columns;           // of the problem that says the uncertainty of L0
    double entries, direct;        // of the upper half, those that no table serves
    double table_bytes;            // of one layer
    double rows;                   // values behind the triangle
    double most_rows, most_values; // of a block, those that it is reduced from
} extent;

static extent measure(const bb_ao_learn_config *learn, const bb_atmosphere *atmosphere,
                      const bb_sensor_array *guides)
{
    const bb_slope_covariance_cost price = bb_slope_covariance_price(guides, guides);
    const bool fitted = learn->outer_scale_range_m.count > 0;
    extent span = {.n = (double)guides->measurement_count,
                   .layers = (double)learn->heights_m.count,
                   .sources = learn->source == (int)BB_AO_LEARN_FRAMES ? BB_LEARN_BATCHES : 1.0,
                   .truth_layers = (double)atmosphere->layer_count,
                   .entries = 0.5 * price.entries,
                   .direct = 0.5 * price.direct_entries,
                   .table_bytes = price.table_bytes};
    span.layers = span.layers > 0.0 ? span.layers : span.truth_layers;
    span.most_columns = (fitted ? 3.0 : 1.0) * span.layers + span.sources;
    for (bb_index b = 0; b < bb_learn_block_count(guides); ++b) {
        const bb_learn_block block = bb_learn_block_at(guides, b);
        const double rows = (double)bb_learn_block_values(&block);
        span.rows += rows;
        span.most_rows = fmax(span.most_rows, rows);
        span.most_values = fmax(span.most_values, (double)bb_learn_block_scratch(&block));
    }
    return span;
}

// Outer scales at which all layers are made, those of a derivative included: a first judgement, the
// search, the conclusion.
static double count_trials(const bb_ao_learn_config *learn)
{
    const double *range = learn->outer_scale_range_m.items;
    const double tolerance = 1e-5;                          // of the search, in log L0
    const double shrinking = -log(0.5 * (sqrt(5.0) - 1.0)); // of a step
    if (learn->outer_scale_range_m.count < 2 || !(range[1] > range[0])) {
        return 2.0;
    }
    return 6.0 + ceil(log(fmax(1.0, log(range[1] / range[0]) / tolerance)) / shrinking);
}

static bb_status measure_frames(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                                const bb_sensor_array *guides, bb_frame_sampler_extent *out)
{
    bb_status status = BB_OK;
    const double batch = ceil((double)study->learn.frames / BB_LEARN_BATCHES);
    *out = (bb_frame_sampler_extent){.frames = batch * BB_LEARN_BATCHES,
                                     .layers = (double)atmosphere->layer_count};
    BB_TRY(bb_screen_size_for(&study->monte_carlo, atmosphere, 1, &guides, &out->screen));
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        out->lines += (double)guides->sensors[s].lenslets;
    }
done:
    return status;
}

// Of the batches' covariances, drawn before the fit and held through it.
static bb_status add_frames(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                            const bb_sensor_array *guides, double threads, bb_ao_learn_need *need)
{
    bb_status status = BB_OK;
    bb_frame_sampler_extent frames;
    BB_TRY(measure_frames(study, atmosphere, guides, &frames));
    const double n = (double)guides->measurement_count;
    const double covariances = 8.0 * BB_LEARN_BATCHES * n * n;
    const double slopes = 8.0 * n * frames.frames / BB_LEARN_BATCHES;
    const double drawing = slopes + bb_frame_sampler_bytes(&frames, threads);
    need->bytes = covariances + fmax(need->bytes, drawing);
    need->seconds +=
        (bb_frame_sampler_seconds(&frames) + seconds_per_product * frames.frames * n * n) / threads;
done:
    return status;
}

bb_status bb_ao_learn_plan(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                           const bb_sensor_array *guides, double threads, bb_ao_learn_need *out)
{
    bb_status status = BB_OK;
    const bb_ao_learn_config *learn = &study->learn;
    if (learn->source == (int)BB_AO_LEARN_OFF) {
        *out = (bb_ao_learn_need){0};
        goto done;
    }
    const extent span = measure(learn, atmosphere, guides);
    const double columns = span.layers + span.sources;
    const double blocks = 8.0 * (span.most_columns + span.most_rows) * span.most_columns;
    const double scratch = 8.0 * span.most_values * fmin(threads, span.most_columns);
    const double tables = (span.most_columns - span.sources) * span.table_bytes;
    bb_ao_learn_need need = {.layers = span.layers,
                             .trials = count_trials(learn),
                             .bytes = blocks + scratch + tables,
                             .solves_again = learn->apply};
    // A layer's column evaluates D once an entry; an analytic measurement's, once a layer.
    const bool analytic = learn->source == (int)BB_AO_LEARN_PROFILE;
    const double distances = span.layers + (analytic ? span.truth_layers : 0.0);
    const double filling =
        span.layers * seconds_per_table +
        distances * (span.direct + span.table_bytes / 8.0) * seconds_per_distance +
        columns * span.entries * seconds_per_entry;
    const double reflecting = 2.0 * span.rows * columns * columns / reflection_rate;
    need.seconds = need.trials * (filling / fmin(threads, columns) + reflecting);
    if (learn->source == (int)BB_AO_LEARN_FRAMES) {
        BB_TRY(add_frames(study, atmosphere, guides, threads, &need));
    }
    *out = need;
done:
    return status;
}
