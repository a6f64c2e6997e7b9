// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/night/night_config.h"

#include "core/memory.h"
#include "physics/ao/atmosphere.h"
#include "sim/ao/ao_study.h"

#include <math.h>
#include <stdio.h>

static const char *const source_names[] = {"off", "walk", "drift", "file", NULL};
static const char *const mean_names[] = {"past", "scored", NULL};

const char *const bb_night_policy_names[] = {"snapshot", "mean", "shrink", NULL};

enum { MOST_SAMPLES = 10000 };

// clang-format off
static const bb_key layer_keys[] = {
    {.name = "time_s", .kind = BB_KEY_DOUBLE, .unit = "s", .minimum = 0.0, .maximum = 1.0e6,
     .offset = offsetof(bb_night_layer_config, time_s), .meaning = "Time from the start of the night."},
    {.name = "height_m", .kind = BB_KEY_DOUBLE, .unit = "m", .minimum = 0.0, .maximum = 100.0e3,
     .offset = offsetof(bb_night_layer_config, height_m),
     .meaning = "Height of the layer above the pupil, at zenith."},
    {.name = "strength", .kind = BB_KEY_DOUBLE, .unit = "m^(-5/3)", .minimum = 0.0,
     .maximum = 1.0e6, .offset = offsetof(bb_night_layer_config, strength),
     .meaning = "r0^(-5/3) of the layer at 500 nm and zenith."},
    {.name = "wind_m_per_s", .kind = BB_KEY_DOUBLE, .unit = "m/s", .minimum = 0.0, .maximum = 200.0,
     .optional = true, .offset = offsetof(bb_night_layer_config, wind_m_per_s),
     .meaning = "Wind of the layer; error_terms.frame_delay_ms needs it."},
    {.name = "outer_scale_m", .kind = BB_KEY_DOUBLE, .unit = "m", .minimum = 0.1, .maximum = 1.0e4,
     .optional = true, .offset = offsetof(bb_night_layer_config, outer_scale_m),
     .meaning = "Outer scale of the layer; unset: that of the atmosphere."},
};
static const bb_schema layer_schema = BB_SCHEMA("layers", bb_night_layer_config, layer_keys);

#define POSITIVE(member, of_unit, most, default_value, text)                                       \
    {.name = #member, .kind = BB_KEY_DOUBLE, .unit = (of_unit), .minimum = 0.0, .maximum = (most), \
     .exclusive_minimum = true, .default_text = (default_value),                                   \
     .offset = offsetof(bb_night_config, member), .meaning = (text)}
#define OPTIONAL(member, of_unit, most, text)                                                      \
    {.name = #member, .kind = BB_KEY_DOUBLE, .unit = (of_unit), .minimum = 0.0, .maximum = (most), \
     .exclusive_minimum = true, .optional = true,                                                  \
     .offset = offsetof(bb_night_config, member), .meaning = (text)}

static const bb_key keys[] = {
    {.name = "source", .kind = BB_KEY_CHOICE, .choices = source_names, .default_text = "off",
     .offset = offsetof(bb_night_config, source),
     .meaning = "Source of the profiles: off, no night; walk, strengths of the atmosphere's layers as random processes; drift, between two built-in profiles; file, layers."},
    {.name = "from", .kind = BB_KEY_CHOICE, .choices = bb_profile_names, .optional = true,
     .offset = offsetof(bb_night_config, first_profile),
     .meaning = "drift: the profile at the start, with its own r0."},
    {.name = "to", .kind = BB_KEY_CHOICE, .choices = bb_profile_names, .optional = true,
     .offset = offsetof(bb_night_config, last_profile),
     .meaning = "drift: the profile at the end; strengths are interpolated linearly in between."},
    {.name = "layers", .kind = BB_KEY_RECORDS, .schema = &layer_schema, .tabular = true,
     .optional = true, .offset = offsetof(bb_night_config, layers),
     .meaning = "file: one row per layer and time, as a list or as a CSV file with these columns; interpolated linearly in time, a layer is absent at times without a row for it."},
    POSITIVE(walk_deviation, "1", 5.0, "0.6", "walk: standard deviation of ln strength."),
    POSITIVE(walk_minutes, "min", 1.0e5, "30.0",
             "walk: time after which the autocorrelation of ln strength has fallen to 1/e."),
    POSITIVE(hours, "h", 24.0, "4.0", "Length of the night."),
    POSITIVE(sample_minutes, "min", 1440.0, "2.0",
             "Sampling interval of the mean profile and of the score."),
    OPTIONAL(scored_hours, "h", 24.0, "Length of the scored final part of the night; unset: the whole night."),
    OPTIONAL(cadence_minutes, "min", 1440.0,
             "Interval between reconstructor updates; unset: sample_minutes."),
    {.name = "latency_s", .kind = BB_KEY_DOUBLES, .unit = "s", .minimum = 0.0, .maximum = 86400.0,
     .optional = true, .offset = offsetof(bb_night_config, latency_s),
     .meaning = "Time from a profile to the reconstructor in use, one for all pipelines or one each; unset: the measured solve time of this run, which varies between runs."},
    {.name = "policies", .kind = BB_KEY_CHOICES, .choices = bb_night_policy_names,
     .minimum_count = 1, .default_text = "[snapshot, mean, shrink]",
     .offset = offsetof(bb_night_config, policies),
     .meaning = "Profile used for a reconstructor: the newest, the mean, or the newest weighted towards the mean with age."},
    {.name = "mean", .kind = BB_KEY_CHOICE, .choices = mean_names, .default_text = "past",
     .offset = offsetof(bb_night_config, mean),
     .meaning = "Mean profile: of all samples so far, or, in hindsight, of all scored samples."},
    OPTIONAL(shrink_minutes, "min", 1.0e5,
             "shrink: age at which the weight of a profile has fallen to 1/e; unset: walk_minutes."),
    {.name = "ages_minutes", .kind = BB_KEY_DOUBLES, .unit = "min", .minimum = 0.0,
     .maximum = 1440.0, .optional = true, .offset = offsetof(bb_night_config, ages_minutes),
     .meaning = "Ages of profiles, in addition to the latency, for which the loss is "
     "reported separately."},
    {.name = "learning_frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0,
     .maximum = 1.0e9, .default_text = "0", .offset = offsetof(bb_night_config, learning_frames),
     .meaning = "Number of frames from which each profile is learned: strengths get relative errors of 0.05 sqrt(480 / frames), normal in their logarithm; 0: exact."},
};
// clang-format on
const bb_schema bb_night_schema = BB_SCHEMA("night", bb_night_config, keys);

bb_index bb_night_config_samples(const bb_night_config *night)
{
    return 1 + (bb_index)floor(60.0 * night->hours / night->sample_minutes * (1.0 + 1e-12));
}

bb_index bb_night_config_first_scored(const bb_night_config *night)
{
    const double unscored_minutes =
        isnan(night->scored_hours) ? 0.0 : 60.0 * (night->hours - night->scored_hours);
    return (bb_index)ceil(unscored_minutes / night->sample_minutes * (1.0 - 1e-12));
}

double bb_night_config_cadence_s(const bb_night_config *night)
{
    return 60.0 * (isnan(night->cadence_minutes) ? night->sample_minutes : night->cadence_minutes);
}

// Adds the layers of a built-in profile or of the study's atmosphere, at zenith.
static bb_status add_profile(const bb_atmosphere_config *config, const bb_list *winds,
                             double time_s, bb_profile_row *rows, bb_index *count)
{
    bb_status status = BB_OK;
    bb_atmosphere atmosphere = {0};
    BB_TRY(bb_atmosphere_create(config, 0.0, &atmosphere));
    for (bb_index l = 0; l < atmosphere.layer_count; ++l) {
        const double wind = winds != NULL && winds->count > 0 ? ((const double *)winds->items)[l]
                                                              : atmosphere.wind_m_per_s[l];
        rows[(*count)++] = (bb_profile_row){time_s, atmosphere.height_m[l], atmosphere.strength[l],
                                            wind, config->outer_scale_m};
    }
done:
    bb_atmosphere_release(&atmosphere);
    return status;
}

static bb_atmosphere_config shipped(const bb_ao_config *physics, int profile)
{
    return (bb_atmosphere_config){.profile = profile,
                                  .outer_scale_m = physics->atmosphere->outer_scale_m,
                                  .r0_m = NAN,
                                  .seeing_arcsec = NAN,
                                  .seeing_wavelength_nm = 500.0};
}

static bb_status add_drift(const bb_night_config *night, const bb_ao_config *physics,
                           bb_profile_row *rows, bb_index *count)
{
    bb_status status = BB_OK;
    const bb_atmosphere_config first = shipped(physics, night->first_profile);
    const bb_atmosphere_config last = shipped(physics, night->last_profile);
    BB_TRY(add_profile(&first, NULL, 0.0, rows, count));
    BB_TRY(add_profile(&last, NULL, 3600.0 * night->hours, rows, count));
done:
    return status;
}

static void add_layers(const bb_night_config *night, const bb_ao_config *physics,
                       bb_profile_row *rows, bb_index *count)
{
    const bb_night_layer_config *layers = night->layers.items;
    for (bb_index i = 0; i < night->layers.count; ++i) {
        const double outer_scale_m = isnan(layers[i].outer_scale_m)
                                         ? physics->atmosphere->outer_scale_m
                                         : layers[i].outer_scale_m;
        rows[(*count)++] =
            (bb_profile_row){layers[i].time_s, layers[i].height_m, layers[i].strength,
                             layers[i].wind_m_per_s, outer_scale_m};
    }
}

static bb_index most_rows(const bb_night_config *night, const bb_ao_config *physics)
{
    if (night->source == (int)BB_NIGHT_FILE) {
        return night->layers.count;
    }
    if (night->source == (int)BB_NIGHT_WALK) {
        return bb_atmosphere_layers(physics->atmosphere);
    }
    const bb_atmosphere_config first = shipped(physics, night->first_profile);
    const bb_atmosphere_config last = shipped(physics, night->last_profile);
    return bb_atmosphere_layers(&first) + bb_atmosphere_layers(&last);
}

bb_status bb_night_config_series(const bb_night_config *night, const bb_ao_config *physics,
                                 uint64_t seed, bb_profile_series *out)
{
    bb_status status = BB_OK;
    bb_profile_row *rows = NULL;
    bb_index count = 0;
    bb_profile_series made = {0};
    BB_TRY(BB_ALLOCATE(most_rows(night, physics), &rows));
    if (night->source == (int)BB_NIGHT_WALK) {
        const bb_error_terms_config *terms = physics->error_terms;
        BB_TRY(add_profile(physics->atmosphere, terms != NULL ? &terms->wind_m_per_s : NULL, 0.0,
                           rows, &count));
    } else if (night->source == (int)BB_NIGHT_DRIFT) {
        BB_TRY(add_drift(night, physics, rows, &count));
    } else {
        add_layers(night, physics, rows, &count);
    }
    BB_TRY(bb_profile_series_create(rows, count, &made));
    if (night->source == (int)BB_NIGHT_WALK) {
        BB_TRY(bb_profile_series_walk(&made, night->walk_deviation, 60.0 * night->walk_minutes,
                                      60.0 * night->sample_minutes, bb_night_config_samples(night),
                                      seed));
    }
    *out = made;
    made = (bb_profile_series){0};
done:
    bb_profile_series_release(&made);
    BB_RELEASE(&rows);
    return status;
}

// Checks the keys that belong to one source only.
static bb_status check_source(const bb_night_config *night, const bb_config *config,
                              bb_problems *problems)
{
    bb_status status = BB_OK;
    const struct {
        const char *key;
        int source;
        bool given;
    } keys_of[] = {
        {"from", BB_NIGHT_DRIFT, night->first_profile >= 0},
        {"to", BB_NIGHT_DRIFT, night->last_profile >= 0},
        {"layers", BB_NIGHT_FILE, night->layers.count > 0},
    };
    for (size_t k = 0; k < sizeof keys_of / sizeof *keys_of; ++k) {
        char path[32];
        (void)snprintf(path, sizeof path, "night.%s", keys_of[k].key);
        BB_TRY(bb_study_refuse(keys_of[k].given && keys_of[k].source != night->source, config,
                               problems, "%s: no effect with night.source = %s, expected %s", path,
                               source_names[night->source], source_names[keys_of[k].source]));
        BB_TRY(bb_study_refuse(!keys_of[k].given && keys_of[k].source == night->source, config,
                               problems, "night.source = %s needs %s", source_names[night->source],
                               path));
    }
done:
    return status;
}

static bb_status check_times(const bb_night_config *night, const bb_config *config,
                             bb_problems *problems)
{
    bb_status status = BB_OK;
    const double *ages = night->ages_minutes.items;
    if (night->scored_hours > night->hours) {
        BB_TRY(bb_study_refuse(true, config, problems,
                               "night.scored_hours = %g, expected at most night.hours = %g",
                               night->scored_hours, night->hours));
        goto done;
    }
    BB_TRY(bb_study_refuse(bb_night_config_samples(night) > MOST_SAMPLES, config, problems,
                           "night.sample_minutes = %g: %td samples, expected at most %d",
                           night->sample_minutes, bb_night_config_samples(night), MOST_SAMPLES));
    BB_TRY(bb_study_refuse(bb_night_config_first_scored(night) >= bb_night_config_samples(night),
                           config, problems,
                           "night.scored_hours = %g: contains no sample at intervals of %g minutes",
                           night->scored_hours, night->sample_minutes));
    const double before_minutes =
        (double)bb_night_config_first_scored(night) * night->sample_minutes;
    for (bb_index a = 0; a < night->ages_minutes.count; ++a) {
        BB_TRY(bb_study_refuse(ages[a] > before_minutes * (1.0 + 1e-12), config, problems,
                               "night.ages_minutes: %g, expected at most %g minutes, the time "
                               "before the first scored sample (night.scored_hours)",
                               ages[a], before_minutes));
    }
done:
    return status;
}

// Checks that all layers have wind if the score includes a lag.
static bb_status check_winds(const bb_ao_study *study, const bb_config *config,
                             bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_night_config *night = &study->night;
    const bb_error_terms_config *terms = &study->error_terms;
    const bb_place place = bb_config_place(config, "error_terms");
    const bb_night_layer_config *layers = night->layers.items;
    if (night->source == (int)BB_NIGHT_WALK) {
        goto done;
    }
    if (terms->wind_m_per_s.count > 0) {
        BB_TRY(bb_problems_add(problems, place,
                               "error_terms.wind_m_per_s: not allowed with night.source = %s, "
                               "which has its own layers",
                               source_names[night->source]));
    }
    if (night->source == (int)BB_NIGHT_DRIFT && terms->frame_delay_ms > 0.0 &&
        night->first_profile >= 0 && night->last_profile >= 0 &&
        !(bb_profile_has_wind((bb_profile)night->first_profile) &&
          bb_profile_has_wind((bb_profile)night->last_profile))) {
        BB_TRY(bb_problems_add(problems, place,
                               "error_terms.frame_delay_ms needs profiles with wind: set "
                               "night.from and night.to to eris-10, eso-median, eso-q1 or eso-q4"));
    }
    for (bb_index i = 0; terms->frame_delay_ms > 0.0 && i < night->layers.count; ++i) {
        if (isnan(layers[i].wind_m_per_s)) {
            BB_TRY(bb_problems_add(problems, bb_config_place(config, "night.layers"),
                                   "night.layers[%td].wind_m_per_s is missing: "
                                   "error_terms.frame_delay_ms needs it",
                                   i));
            break;
        }
    }
done:
    return status;
}

// Checks that there is turbulence at every time.
static bb_status check_series(const bb_ao_study *study, const bb_ao_config *physics,
                              const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_place place = bb_config_place(config, "night.layers");
    bb_profile_series series = {0};
    bb_status made = bb_night_config_series(&study->night, physics, 1, &series);
    if (made == BB_INVALID) {
        BB_TRY(bb_problems_add(problems, place, "night.layers: %s", bb_status_message()));
        goto done;
    }
    BB_TRY(made);
    for (bb_index k = 0; k < series.time_count; ++k) {
        double total = 0.0;
        for (bb_index l = 0; l < series.layer_count; ++l) {
            total += series.strength[k * series.layer_count + l];
        }
        if (!(total > 0.0)) {
            BB_TRY(bb_problems_add(problems, place,
                                   "night.layers: no turbulence at %g s, expected a strength "
                                   "above 0",
                                   series.time_s[k]));
        }
    }
done:
    bb_profile_series_release(&series);
    return status;
}

bb_status bb_night_config_check(const void *all, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = all;
    const bb_night_config *night = &study->night;
    const bb_ao_config physics = bb_ao_study_physics(study);
    const bb_index latencies = night->latency_s.count;
    if (night->source == (int)BB_NIGHT_OFF) {
        goto done;
    }
    BB_TRY(bb_study_refuse(study->learn.source != (int)BB_AO_LEARN_OFF, config, problems,
                           "night.source = %s: a night models learning errors itself "
                           "(night.learning_frames), expected learn.source = off",
                           source_names[night->source]));
    BB_TRY(bb_study_refuse(
        latencies > 1 && latencies != study->pipelines.count, config, problems,
        "night.latency_s: %td values, expected one for all pipelines or one for each of %td",
        latencies, study->pipelines.count));
    BB_TRY(check_source(night, config, problems));
    BB_TRY(check_times(night, config, problems));
    BB_TRY(check_winds(study, config, problems));
    if (night->source == (int)BB_NIGHT_FILE && night->layers.count > 0) {
        BB_TRY(check_series(study, &physics, config, problems));
    }
done:
    return status;
}
