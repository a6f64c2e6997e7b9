// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_learn_publish.h"

#include "core/memory.h"

#include <math.h>

// Strength at zenith of the true layers at a height; NaN where there is none.
static double true_strength(const bb_atmosphere *atmosphere, double height_m)
{
    double sum = NAN;
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        if (fabs(atmosphere->height_m[l] / atmosphere->airmass - height_m) < 1e-6) {
            sum = (isnan(sum) ? 0.0 : sum) + atmosphere->strength[l] / atmosphere->airmass;
        }
    }
    return sum;
}

static bb_status publish_layers(const bb_atmosphere *atmosphere, const bb_learned_profile *profile,
                                bb_results *results)
{
    bb_status status = BB_OK;
    double *truth = NULL;
    BB_TRY(BB_ALLOCATE(profile->layer_count, &truth));
    for (bb_index l = 0; l < profile->layer_count; ++l) {
        truth[l] = true_strength(atmosphere, profile->height_m[l]);
    }
    BB_TRY(bb_results_axis(results, "learn/height", "m", "height of a learned layer, at zenith",
                           profile->layer_count, profile->height_m));
    BB_TRY(bb_results_values(results, "learn/strength", "m^(-5/3)",
                             "learned r0^(-5/3) of a layer, at 500 nm and zenith", "height",
                             profile->strength));
    BB_TRY(bb_results_values(results, "learn/strength_sigma", "m^(-5/3)", "its standard error",
                             "height", profile->sigma));
    BB_TRY(bb_results_values(results, "learn/strength_true", "m^(-5/3)",
                             "strength of the atmosphere's layer at this height, which the score "
                             "uses",
                             "height", truth));
    BB_TRY(bb_results_values(results, "learn/separation", "1",
                             "share of a layer's covariance that no other layers make", "height",
                             profile->own));
done:
    BB_RELEASE(&truth);
    return status;
}

static bb_status publish_scalars(const bb_atmosphere *atmosphere, const bb_learned_profile *profile,
                                 bb_results *results)
{
    const double true_r0 = atmosphere->r0_m * pow(atmosphere->airmass, 3.0 / 5.0);
    const struct {
        const char *path, *unit, *long_name;
        double value;
    } scalars[] = {
        // clang-format off
        {"learn/r0", "m", "learned r0 at 500 nm and zenith", profile->r0_m},
        {"learn/r0_true", "m", "r0 of the atmosphere", true_r0},
        {"learn/outer_scale", "m", "learned outer scale", profile->outer_scale_m},
        {"learn/outer_scale_sigma", "m", "its standard error, 0 where known",
         profile->outer_scale_sigma_m},
        {"learn/outer_scale_true", "m", "outer scale of the atmosphere",
         atmosphere->outer_scale_m},
        {"learn/residual", "1", "norm of what the layers leave over that of the entries",
         profile->residual},
        {"learn/condition", "1", "condition of the normal matrix of unit layers",
         profile->condition},
        // clang-format on
    };
    bb_status status = BB_OK;
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; ++i) {
        BB_TRY(bb_results_values(results, scalars[i].path, scalars[i].unit, scalars[i].long_name,
                                 "", &scalars[i].value));
    }
done:
    return status;
}

static bb_status publish_sensors(const bb_learned_profile *profile, bb_results *results)
{
    bb_status status = BB_OK;
    double *numbers = NULL;
    BB_TRY(BB_ALLOCATE(profile->sensor_count, &numbers));
    for (bb_index s = 0; s < profile->sensor_count; ++s) {
        numbers[s] = (double)s;
    }
    BB_TRY(bb_results_axis(results, "learn/guide_star", "1", "index of the guide star",
                           profile->sensor_count, numbers));
    BB_TRY(bb_results_values(results, "learn/noise_variance", "arcsec^2",
                             "mean variance of a slope beyond turbulence and tilt", "guide_star",
                             profile->noise_arcsec2));
    BB_TRY(bb_results_values(results, "learn/tilt_variance", "arcsec^2",
                             "variance of the unknown tilt of a laser star", "guide_star",
                             profile->tilt_arcsec2));
done:
    BB_RELEASE(&numbers);
    return status;
}

bb_status bb_ao_learn_publish(const bb_ao_learn_config *learn, const bb_atmosphere *atmosphere,
                              const bb_learned_profile *profile, bb_results *results)
{
    bb_status status = BB_OK;
    BB_TRY(publish_layers(atmosphere, profile, results));
    BB_TRY(publish_scalars(atmosphere, profile, results));
    BB_TRY(publish_sensors(profile, results));
    BB_TRY(bb_results_note(results, "learn", "source", bb_ao_learn_source_name(learn->source)));
    BB_TRY(bb_results_note(results, "learn", "status", bb_outcome_name(profile->outcome.kind)));
    BB_TRY(bb_results_note(results, "learn", "status_detail", profile->outcome.detail));
done:
    return status;
}

bb_status bb_ao_learn_publish_strehl(bb_index targets, bb_index wavelengths, const double *known,
                                     const double *learned, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_dataset *axis = NULL;
    double *loss = NULL;
    BB_TRY(BB_ALLOCATE(targets * wavelengths, &loss));
    for (bb_index i = 0; i < targets * wavelengths; ++i) {
        loss[i] = known[i] - learned[i];
    }
    axis = bb_results_find(results, "results/target");
    BB_REQUIRE(axis != NULL, BB_INTERNAL, "learn: no axis results/target");
    BB_TRY(bb_results_axis(results, "learn/target", "1", "index of the target", targets,
                           axis->numbers));
    axis = bb_results_find(results, "results/wavelength");
    BB_REQUIRE(axis != NULL, BB_INTERNAL, "learn: no axis results/wavelength");
    BB_TRY(bb_results_axis(results, "learn/wavelength", "um", "wavelength", wavelengths,
                           axis->numbers));
    BB_TRY(bb_results_values(results, "learn/strehl_known", "1",
                             "Strehl ratio of the reference pipeline with the true profile",
                             "target, wavelength", known));
    BB_TRY(bb_results_values(results, "learn/strehl_loss", "1",
                             "strehl_known minus the reference's with the learned profile",
                             "target, wavelength", loss));
done:
    BB_RELEASE(&loss);
    return status;
}
