// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/night/night_schedule.h"

#include "core/memory.h"
#include "sim/pipelines/evaluation.h"

#include <math.h>
#include <stdlib.h>

static const double per_second = 1e6; // microseconds

bb_status bb_night_scores_create(const bb_night_config *night, bb_index pipelines,
                                 bb_night_scores *out)
{
    bb_status status = BB_OK;
    *out = (bb_night_scores){.pipelines = pipelines,
                             .policies = night->policies.count,
                             .samples = bb_night_config_samples(night) -
                                        bb_night_config_first_scored(night),
                             .ages = night->ages_minutes.count};
    const bb_index rows = pipelines * out->policies * out->samples;
    BB_TRY(bb_evaluation_unset(pipelines * out->samples, &out->moment));
    BB_TRY(bb_evaluation_unset(rows, &out->strehl));
    BB_TRY(bb_evaluation_unset(rows * out->ages, &out->aged));
done:
    return status;
}

void bb_night_scores_release(bb_night_scores *scores)
{
    BB_RELEASE(&scores->moment);
    BB_RELEASE(&scores->strehl);
    BB_RELEASE(&scores->aged);
}

double bb_night_schedule_time(const bb_night_config *night, bb_index sample)
{
    return 60.0 * night->sample_minutes * (double)sample;
}

double bb_night_schedule_uses(const bb_night_config *night, bb_index pipelines)
{
    const bb_index samples = bb_night_config_samples(night) - bb_night_config_first_scored(night);
    const double rows =
        1.0 + (double)night->policies.count * (1.0 + (double)night->ages_minutes.count);
    return (double)pipelines * (double)samples * rows;
}

static int64_t whole_us(double seconds)
{
    return (int64_t)llround(per_second * seconds);
}

static double shrink_s(const bb_night_config *night)
{
    return 60.0 * (isnan(night->shrink_minutes) ? night->walk_minutes : night->shrink_minutes);
}

// Recipe of a policy. Recipes of the same profile compare equal: a past mean only changes from
// sample to sample, a mean in hindsight never.
static bb_night_recipe make_recipe(const bb_night_config *night, bb_night_policy policy,
                                   int64_t data_us, double age_s)
{
    bb_night_recipe recipe = {data_us > 0 ? data_us : 0, 1.0, false};
    if (policy == BB_NIGHT_SHRINK) {
        recipe.trust = bb_profile_series_weight(age_s, shrink_s(night));
    } else if (policy == BB_NIGHT_MEAN) {
        recipe.trust = 0.0;
    }
    if (recipe.trust == 0.0) {
        const int64_t step_us = whole_us(60.0 * night->sample_minutes);
        recipe.data_us =
            night->mean == (int)BB_NIGHT_MEAN_SCORED ? 0 : recipe.data_us / step_us * step_us;
    }
    recipe.is_known = night->learning_frames == 0;
    return recipe;
}

// Time of the data that the last reconstructor at the cadence was computed from.
static int64_t last_data_us(const bb_night_config *night, int64_t time_us, double latency_s)
{
    const int64_t cadence_us = whole_us(bb_night_config_cadence_s(night));
    const int64_t known_us = time_us - whole_us(latency_s);
    return known_us <= 0 ? 0 : known_us / cadence_us * cadence_us;
}

static int compare(const void *first, const void *second)
{
    const bb_night_use *a = first;
    const bb_night_use *b = second;
    const bb_night_recipe *x = &a->recipe;
    const bb_night_recipe *y = &b->recipe;
    if (x->data_us != y->data_us) {
        return x->data_us < y->data_us ? -1 : 1;
    }
    if (x->trust != y->trust) {
        return x->trust < y->trust ? -1 : 1;
    }
    if (x->is_known != y->is_known) {
        return x->is_known ? 1 : -1;
    }
    if (a->sample != b->sample) {
        return a->sample < b->sample ? -1 : 1;
    }
    return (a->pipeline > b->pipeline) - (a->pipeline < b->pipeline);
}

bool bb_night_schedule_same(const bb_night_use *first, const bb_night_use *second)
{
    const bb_night_recipe *a = &first->recipe;
    const bb_night_recipe *b = &second->recipe;
    return a->data_us == b->data_us && a->trust == b->trust && a->is_known == b->is_known;
}

// Adds all uses of a pipeline at a scored sample.
static bb_index add_sample(const bb_night_config *night, double latency_s, bb_index pipeline,
                           bb_index scored, bb_night_scores *scores, bb_night_use *uses)
{
    const bb_index sample = bb_night_config_first_scored(night) + scored;
    const int64_t time_us = whole_us(bb_night_schedule_time(night, sample));
    const int *policies = night->policies.items;
    const double *ages = night->ages_minutes.items;
    const bb_night_recipe moment = {time_us, 1.0, true};
    const double unused_s = bb_night_config_cadence_s(night) - 60.0 * night->sample_minutes;
    bb_index count = 0;
    uses[count++] = (bb_night_use){moment, sample, pipeline,
                                   scores->moment + pipeline * scores->samples + scored};
    for (bb_index q = 0; q < scores->policies; ++q) {
        const bb_night_policy policy = (bb_night_policy)policies[q];
        const bb_index row = pipeline * scores->policies + q;
        uses[count++] =
            (bb_night_use){make_recipe(night, policy, last_data_us(night, time_us, latency_s),
                                       latency_s + 0.5 * fmax(0.0, unused_s)),
                           sample, pipeline, scores->strehl + row * scores->samples + scored};
        for (bb_index a = 0; a < scores->ages; ++a) {
            const double age_s = latency_s + 60.0 * ages[a];
            uses[count++] = (bb_night_use){
                make_recipe(night, policy, time_us - whole_us(age_s), age_s), sample, pipeline,
                scores->aged + (row * scores->ages + a) * scores->samples + scored};
        }
    }
    return count;
}

bb_status bb_night_schedule_create(const bb_night_config *night, const double *latency_s,
                                   bb_night_scores *scores, bb_night_use **out, bb_index *count)
{
    bb_status status = BB_OK;
    *count = 0;
    BB_TRY(BB_ALLOCATE((bb_index)bb_night_schedule_uses(night, scores->pipelines), out));
    for (bb_index p = 0; p < scores->pipelines; ++p) {
        for (bb_index k = 0; k < scores->samples; ++k) {
            *count += add_sample(night, latency_s[p], p, k, scores, *out + *count);
        }
    }
    qsort(*out, (size_t)*count, sizeof **out, compare);
done:
    return status;
}

static void profile_of(const bb_night_profiles *self, int64_t data_us, bool is_known,
                       double *strength)
{
    const double time_s = (double)data_us / per_second;
    const double frames = (double)self->night->learning_frames;
    bb_profile_series_at(self->series, time_s, strength, NULL);
    if (!is_known && frames > 0.0) {
        bb_profile_series_learn(self->seed, bb_profile_series_learning_deviation(frames), time_s,
                                self->series->layer_count, strength);
    }
}

bb_status bb_night_profiles_create(const bb_night_config *night, const bb_profile_series *series,
                                   uint64_t seed, bb_night_profiles *out)
{
    bb_status status = BB_OK;
    const bb_index layers = series->layer_count;
    const bb_index samples = bb_night_config_samples(night);
    const bb_index first = bb_night_config_first_scored(night);
    *out = (bb_night_profiles){.night = night, .series = series, .seed = seed};
    BB_TRY(BB_ZEROED((samples + 1) * layers, &out->sums));
    BB_TRY(BB_ZEROED(layers, &out->scored_mean));
    for (bb_index k = 0; k < samples; ++k) {
        const double *before = out->sums + k * layers;
        double *sums = out->sums + (k + 1) * layers;
        profile_of(out, whole_us(bb_night_schedule_time(night, k)), false, sums);
        for (bb_index l = 0; l < layers; ++l) {
            out->scored_mean[l] += k >= first ? sums[l] / (double)(samples - first) : 0.0;
            sums[l] += before[l];
        }
    }
done:
    return status;
}

void bb_night_profiles_release(bb_night_profiles *profiles)
{
    BB_RELEASE(&profiles->sums);
    BB_RELEASE(&profiles->scored_mean);
}

bb_status bb_night_profiles_mix(const bb_night_profiles *profiles, const bb_night_recipe *recipe,
                                double *strength)
{
    bb_status status = BB_OK;
    const bb_night_config *night = profiles->night;
    const bb_index layers = profiles->series->layer_count;
    const int64_t step_us = whole_us(60.0 * night->sample_minutes);
    const int64_t known = 1 + recipe->data_us / step_us; // samples up to the data
    const bb_index samples =
        known < bb_night_config_samples(night) ? (bb_index)known : bb_night_config_samples(night);
    double *snapshot = NULL; // [layers]
    BB_TRY(BB_ALLOCATE(layers, &snapshot));
    profile_of(profiles, recipe->data_us, recipe->is_known, snapshot);
    for (bb_index l = 0; l < layers; ++l) {
        const double mean = night->mean == (int)BB_NIGHT_MEAN_SCORED
                                ? profiles->scored_mean[l]
                                : profiles->sums[samples * layers + l] / (double)samples;
        strength[l] = recipe->trust * snapshot[l];
        strength[l] += recipe->trust < 1.0 ? (1.0 - recipe->trust) * mean : 0.0;
    }
done:
    BB_RELEASE(&snapshot);
    return status;
}
