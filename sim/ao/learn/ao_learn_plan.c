// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/learn/ao_learn_plan.h"

#include "physics/ao/covariance/slope_covariance.h"
#include "physics/ao/frames/learn_frames.h"
#include "physics/ao/learn/learn.h"

static bb_learn_extent measure(const bb_ao_learn_config *learn, const bb_atmosphere *atmosphere,
                               const bb_sensor_array *guides)
{
    const double *range = learn->outer_scale_range_m.items;
    const bb_index layers =
        learn->heights_m.count > 0 ? learn->heights_m.count : atmosphere->layer_count;
    const bool drawn = learn->source == (int)BB_AO_LEARN_FRAMES;
    return (bb_learn_extent){
        .guides = guides,
        .layers = (double)layers,
        .sources = drawn ? BB_LEARN_BATCHES : 1.0,
        .outer_scale_low_m = range != NULL ? range[0] : atmosphere->outer_scale_m,
        .outer_scale_high_m = range != NULL ? range[1] : atmosphere->outer_scale_m};
}

// Frames of the guide stars alone.
static bb_status measure_frames(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                                const bb_sensor_array *guides, bb_frame_sampler_extent *out)
{
    bb_status status = BB_OK;
    *out = (bb_frame_sampler_extent){.frames = (double)study->learn.frames,
                                     .layers = (double)atmosphere->layer_count,
                                     .levels = study->monte_carlo.subharmonics,
                                     .slopes = (double)guides->measurement_count};
    BB_TRY(bb_screen_size_for(&study->monte_carlo, atmosphere, 1, &guides, &out->screen));
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        out->lines += (double)guides->sensors[s].lenslets;
    }
done:
    return status;
}

// The sampler and the covariances of its frames stay through the fit.
static bb_status add_frames(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                            const bb_sensor_array *guides, double threads, bb_need *need)
{
    bb_status status = BB_OK;
    bb_frame_sampler_extent frames;
    BB_TRY(measure_frames(study, atmosphere, guides, &frames));
    const bb_index n = guides->measurement_count;
    const bb_need sampler = bb_frame_sampler_held(&frames);
    const bb_need drawing = bb_learn_frames_need(&frames, n, threads);
    const bb_need fitting = bb_need_together(bb_learn_frames_held(n), *need);
    *need = bb_need_in_turn(bb_frame_sampler_need(&frames),
                            bb_need_together(sampler, bb_need_in_turn(drawing, fitting)));
done:
    return status;
}

bb_status bb_ao_learn_plan(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                           const bb_sensor_array *guides, double threads, bb_ao_learn_planned *out)
{
    bb_status status = BB_OK;
    const bb_ao_learn_config *learn = &study->learn;
    const bb_learn_extent extent = measure(learn, atmosphere, guides);
    *out = (bb_ao_learn_planned){0};
    if (learn->source == (int)BB_AO_LEARN_OFF) {
        goto done;
    }
    *out = (bb_ao_learn_planned){.layers = extent.layers,
                                 .trials = bb_learn_trials(&extent),
                                 .solves_again = learn->apply,
                                 .need = bb_learn_need(&extent, threads)};
    if (learn->source == (int)BB_AO_LEARN_PROFILE) { // a triangle of the true Cmm, one thread
        const bb_need fill = bb_slope_covariance_fill_need(guides, guides, 1.0);
        out->need = bb_need_together(out->need, bb_need_repeated(fill, 0.5 * out->trials));
    }
    if (learn->source == (int)BB_AO_LEARN_FRAMES) {
        BB_TRY(add_frames(study, atmosphere, guides, threads, &out->need));
    }
done:
    return status;
}
