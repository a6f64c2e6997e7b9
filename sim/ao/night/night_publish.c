// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/night/night_publish.h"

#include "core/memory.h"
#include "sim/ao/ao_whole.h"
#include "sim/evaluation.h"

#include <math.h>

static const char title[] = "/night, ao with a `night.source`";

static const bb_output profile_rows[] = {
    {"pipeline", "pipeline", NULL, .long_name = "name of the pipeline"},
    {"policy", "policy", NULL, .long_name = "what reconstructors are made of"},
    {"time", "time", "min", .long_name = "scored sample, from the night's start"},
    {"layer", "layer", "1", .long_name = "index of the layer"},
    {"height", "layer", "m", .long_name = "height of the layer at zenith", .coordinate = true},
    {"outer_scale", "layer", "m", .long_name = "outer scale of the layer"},
    {"strength", "time, layer", "m^(-5/3)",
     .long_name = "r0^(-5/3) of the layer at 500 nm and zenith"},
    {"r0", "time", "m", .long_name = "r0 at 500 nm and zenith, of all layers"},
    {"strehl_moment", "pipeline, time", "1",
     .long_name = "Strehl ratio with the reconstructor of the moment",
     .note = "of the true profile"},
    {"precision_loss", "pipeline", "1",
     .long_name = "mean loss of the reconstructor of the moment to the reference's of the moment"},
};

const bb_output_table bb_night_publish_profiles = {
    .title = title, .group = "night", BB_OUTPUT_ROWS(profile_rows)};

// clang-format off
#define SCORES(is_measured)                                                                        \
    {"latency", "pipeline", "s", .long_name = "from a profile to the reconstructor in use",        \
     .measured = (is_measured)},                                                                   \
    {"strehl", "pipeline, policy, time", "1",                                                      \
     .long_name = "Strehl ratio with the reconstructor in use", .measured = (is_measured)},        \
    {"staleness_loss", "pipeline, policy", "1",                                                    \
     .long_name = "mean loss of the reconstructor in use to the pipeline's own of the moment",     \
     .note = "with precision_loss the loss to the reference's of the moment",                     \
     .measured = (is_measured)},                                                                   \
    {"worst_staleness_loss", "pipeline, policy", "1",                                              \
     .long_name = "largest of those over the samples", .measured = (is_measured)},                 \
    {"failed", "pipeline, policy", "1",                                                            \
     .long_name = "samples that have no Strehl ratio, which means leave out",                      \
     .measured = (is_measured)}

#define AGES(is_measured)                                                                          \
    {"age", "age", "min", .long_name = "age of the data beyond the latency"},                      \
    {"aged_loss", "pipeline, policy, age", "1",                                                    \
     .long_name = "mean staleness loss with data of this age at every sample",                     \
     .measured = (is_measured)},                                                                   \
    {"worst_aged_loss", "pipeline, policy, age", "1",                                              \
     .long_name = "largest of those over the samples", .measured = (is_measured)}

static const bb_output given_rows[] = {SCORES(false)};
static const bb_output measured_rows[] = {SCORES(true)};
static const bb_output given_ages[] = {AGES(false)};
static const bb_output measured_ages[] = {AGES(true)};
// clang-format on

const bb_output_table bb_night_publish_given = {.title = title,
                                                .when = "With `night.latency_s`:",
                                                .group = "night",
                                                BB_OUTPUT_ROWS(given_rows)};
const bb_output_table bb_night_publish_given_ages = {
    .title = title,
    .when = "With `night.latency_s` and `night.ages_minutes`:",
    .group = "night",
    BB_OUTPUT_ROWS(given_ages)};
const bb_output_table bb_night_publish_measured = {
    .title = title,
    .when = "Without `night.latency_s`, which is measured then:",
    .group = "night",
    BB_OUTPUT_ROWS(measured_rows)};
const bb_output_table bb_night_publish_measured_ages = {
    .title = title,
    .when = "Without `night.latency_s`, and with `night.ages_minutes`:",
    .group = "night",
    BB_OUTPUT_ROWS(measured_ages)};

// Losses over the samples that have both Strehl ratios.
typedef struct losses {
    double mean, worst, failed;
} losses;

static losses compare(const double *best, const double *strehl, bb_index samples)
{
    losses found = {0.0, -INFINITY, 0.0};
    double count = 0.0;
    for (bb_index k = 0; k < samples; ++k) {
        const double loss = best[k] - strehl[k];
        if (isnan(loss)) {
            found.failed += 1.0;
        } else {
            found.mean += loss;
            found.worst = fmax(found.worst, loss);
            count += 1.0;
        }
    }
    found.mean = count > 0.0 ? found.mean / count : NAN;
    found.worst = count > 0.0 ? found.worst : NAN;
    return found;
}

static bb_status publish_layers(const bb_profile_series *series, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_table *table = &bb_night_publish_profiles;
    BB_TRY(bb_output_table_add_axis(table, "layer", series->layer_count, NULL, NULL, results));
    BB_TRY(bb_output_table_add(table, "height", series->height_m, NULL, results));
    BB_TRY(bb_output_table_add(table, "outer_scale", series->outer_scale_m, NULL, results));
done:
    return status;
}

static bb_status publish_profiles(const bb_ao_study *study, const bb_profile_series *series,
                                  bb_index samples, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_table *table = &bb_night_publish_profiles;
    const bb_index first = bb_night_config_first_scored(&study->night);
    const bb_index layers = series->layer_count;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    const char *names[BB_STUDY_PIPELINES];
    const char *policies[BB_NIGHT_POLICY_COUNT];
    double *minutes = NULL;  // [samples]
    double *r0_m = NULL;     // [samples]
    double *strength = NULL; // [samples][layers]
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        names[p] = pipelines[p].name;
    }
    for (bb_index q = 0; q < study->night.policies.count; ++q) {
        policies[q] = bb_night_policy_names[((const int *)study->night.policies.items)[q]];
    }
    BB_TRY(BB_ALLOCATE(samples, &minutes));
    BB_TRY(BB_ALLOCATE(samples, &r0_m));
    BB_TRY(BB_ALLOCATE(samples * layers, &strength));
    for (bb_index k = 0; k < samples; ++k) {
        const double time_s = bb_night_schedule_time(&study->night, first + k);
        double total = 0.0;
        bb_profile_series_at(series, time_s, strength + k * layers, NULL);
        for (bb_index l = 0; l < layers; ++l) {
            total += strength[k * layers + l];
        }
        minutes[k] = time_s / 60.0;
        r0_m[k] = pow(total, -3.0 / 5.0);
    }
    BB_TRY(
        bb_output_table_add_axis(table, "pipeline", study->pipelines.count, names, NULL, results));
    BB_TRY(bb_output_table_add_axis(table, "policy", study->night.policies.count, policies, NULL,
                                    results));
    BB_TRY(bb_output_table_add_axis(table, "time", samples, minutes, NULL, results));
    BB_TRY(publish_layers(series, results));
    BB_TRY(bb_output_table_add(table, "strength", strength, NULL, results));
    BB_TRY(bb_output_table_add(table, "r0", r0_m, NULL, results));
done:
    BB_RELEASE(&minutes);
    BB_RELEASE(&r0_m);
    BB_RELEASE(&strength);
    return status;
}

// Numbers over pipelines and policies.
static bb_status publish_losses(const bb_output_table *table, const bb_night_scores *scores,
                                bb_index reference, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index samples = scores->samples;
    const bb_index rows = scores->pipelines * scores->policies;
    double *precision = NULL; // [pipelines]
    double *stale = NULL;     // [3][pipelines][policies] mean, worst, failed
    BB_TRY(BB_ALLOCATE(scores->pipelines, &precision));
    BB_TRY(BB_ALLOCATE(3 * rows, &stale));
    for (bb_index p = 0; p < scores->pipelines; ++p) {
        const double *moment = scores->moment + p * samples;
        precision[p] = compare(scores->moment + reference * samples, moment, samples).mean;
        for (bb_index row = p * scores->policies; row < (p + 1) * scores->policies; ++row) {
            const losses found = compare(moment, scores->strehl + row * samples, samples);
            stale[row] = found.mean;
            stale[rows + row] = found.worst;
            stale[2 * rows + row] = found.failed;
        }
    }
    BB_TRY(bb_output_table_add(&bb_night_publish_profiles, "precision_loss", precision, NULL,
                               results));
    BB_TRY(bb_output_table_add(table, "staleness_loss", stale, NULL, results));
    BB_TRY(bb_output_table_add(table, "worst_staleness_loss", stale + rows, NULL, results));
    BB_TRY(bb_output_table_add(table, "failed", stale + 2 * rows, NULL, results));
done:
    BB_RELEASE(&precision);
    BB_RELEASE(&stale);
    return status;
}

static bb_status publish_ages(const bb_output_table *table, const bb_night_config *config,
                              const bb_night_scores *scores, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index samples = scores->samples;
    const bb_index each = scores->policies * scores->ages;
    const bb_index rows = scores->pipelines * each;
    double *aged = NULL; // [2][pipelines][policies][ages] mean, worst
    if (scores->ages == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(2 * rows, &aged));
    for (bb_index row = 0; row < rows; ++row) {
        const double *moment = scores->moment + row / each * samples;
        const losses found = compare(moment, scores->aged + row * samples, samples);
        aged[row] = found.mean;
        aged[rows + row] = found.worst;
    }
    BB_TRY(bb_output_table_add_axis(table, "age", scores->ages, config->ages_minutes.items, NULL,
                                    results));
    BB_TRY(bb_output_table_add(table, "aged_loss", aged, NULL, results));
    BB_TRY(bb_output_table_add(table, "worst_aged_loss", aged + rows, NULL, results));
done:
    BB_RELEASE(&aged);
    return status;
}

bb_status bb_night_publish(const bb_ao_study *study, const bb_profile_series *series,
                           const double *latency_s, const bb_night_scores *scores,
                           bb_results *results)
{
    bb_status status = BB_OK;
    const bool measured = study->night.latency_s.count == 0;
    const bb_output_table *table = measured ? &bb_night_publish_measured : &bb_night_publish_given;
    const bb_index reference = bb_factor_pipelines_reference(&study->pipelines);
    BB_TRY(publish_profiles(study, series, scores->samples, results));
    BB_TRY(bb_output_table_add(table, "latency", latency_s, NULL, results));
    BB_TRY(bb_output_table_add(&bb_night_publish_profiles, "strehl_moment", scores->moment, NULL,
                               results));
    BB_TRY(bb_output_table_add(table, "strehl", scores->strehl, NULL, results));
    BB_TRY(bb_results_note(results, "night/strehl", "definition",
                           bb_ao_whole_definition(study, false)));
    BB_TRY(bb_results_note(results, "night/strehl_moment", "definition",
                           bb_ao_whole_definition(study, false)));
    BB_TRY(publish_losses(table, scores, reference, results));
    BB_TRY(publish_ages(measured ? &bb_night_publish_measured_ages : &bb_night_publish_given_ages,
                        &study->night, scores, results));
done:
    return status;
}
