// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/learn/ao_learn_publish.h"

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

// What was learned beside what is true.
typedef struct learned {
    bb_learned_profile profile; // borrowed arrays
    const double *truth;        // [layers]
    double r0_m, outer_scale_m; // of the atmosphere
} learned;

static const char title[] = "/learn, ao with a `learn.source`";

static const bb_output outputs[] = {
    {"height", "height", "m", "height of a learned layer, at zenith",
     .member = offsetof(learned, profile.height_m),
     .count = offsetof(learned, profile.layer_count)},
    {"strength", "height", "m^(-5/3)", "learned r0^(-5/3) of a layer, at 500 nm and zenith",
     .member = offsetof(learned, profile.strength)},
    {"strength_sigma", "height", "m^(-5/3)", "its standard error",
     .member = offsetof(learned, profile.sigma)},
    {"strength_true", "height", "m^(-5/3)",
     "strength of the atmosphere's layer at this height, which the score uses",
     .note = "NaN where it has no layer", .member = offsetof(learned, truth)},
    {"separation", "height", "1", "share of a layer's covariance that no other layers make",
     .member = offsetof(learned, profile.own)},
    {"r0", "", "m", "learned r0 at 500 nm and zenith, of all layers",
     .member = offsetof(learned, profile.r0_m)},
    {"r0_true", "", "m", "r0 of the atmosphere", .member = offsetof(learned, r0_m)},
    {"outer_scale", "", "m", "learned outer scale",
     .member = offsetof(learned, profile.outer_scale_m)},
    {"outer_scale_sigma", "", "m", "its standard error, 0 where known",
     .member = offsetof(learned, profile.outer_scale_sigma_m)},
    {"outer_scale_true", "", "m", "outer scale of the atmosphere",
     .member = offsetof(learned, outer_scale_m)},
    {"residual", "", "1", "norm of what the layers leave over that of the entries fitted",
     .member = offsetof(learned, profile.residual)},
    {"condition", "", "1", "condition of the normal matrix of layers of unit norm",
     .member = offsetof(learned, profile.condition)},
    {"guide_star", "guide_star", "1", "index of the guide star",
     .count = offsetof(learned, profile.sensor_count), .indices = true},
    {"noise_variance", "guide_star", "arcsec^2",
     "mean variance of a slope beyond turbulence and tilt",
     .member = offsetof(learned, profile.noise_arcsec2)},
    {"tilt_variance", "guide_star", "arcsec^2", "variance of the unknown tilt of a laser star",
     .note = "0 of a natural one", .member = offsetof(learned, profile.tilt_arcsec2)},
};

const bb_output_table bb_ao_learn_outputs = {
    .title = title, .group = "learn", BB_OUTPUT_ROWS(outputs)};

static const bb_output strehl_rows[] = {
    {"target", "target", "1", .long_name = "index of the target"},
    {"wavelength", "wavelength", "um", .long_name = "wavelength"},
    {"strehl_known", "target, wavelength", "1",
     .long_name = "Strehl ratio of the reference pipeline with the true profile"},
    {"strehl_loss", "target, wavelength", "1",
     .long_name = "strehl_known minus the reference's with the learned profile"},
};

const bb_output_table bb_ao_learn_strehl = {.title = title,
                                            .when = "Unless `learn.apply: false`:",
                                            .group = "learn",
                                            BB_OUTPUT_ROWS(strehl_rows)};

bb_status bb_ao_learn_publish(const bb_ao_learn_config *learn, const bb_atmosphere *atmosphere,
                              const bb_learned_profile *profile, bb_results *results)
{
    bb_status status = BB_OK;
    double *truth = NULL; // [layers]
    learned record = {.profile = *profile,
                      .r0_m = atmosphere->r0_m * pow(atmosphere->airmass, 3.0 / 5.0),
                      .outer_scale_m = atmosphere->outer_scale_m};
    BB_TRY(BB_ALLOCATE(profile->layer_count, &truth));
    for (bb_index l = 0; l < profile->layer_count; ++l) {
        truth[l] = true_strength(atmosphere, profile->height_m[l]);
    }
    record.truth = truth;
    BB_TRY(bb_output_table_publish(&bb_ao_learn_outputs, &record, NULL, results));
    BB_TRY(bb_results_note(results, "learn", "source", bb_ao_learn_source_name(learn->source)));
    BB_TRY(bb_results_note(results, "learn", "status", bb_outcome_name(profile->outcome.kind)));
    BB_TRY(bb_results_note(results, "learn", "status_detail", profile->outcome.detail));
done:
    BB_RELEASE(&truth);
    return status;
}

bb_status bb_ao_learn_publish_strehl(bb_index targets, const bb_list *wavelengths_um,
                                     const double *known, const double *learned_strehl,
                                     bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_table *table = &bb_ao_learn_strehl;
    double *loss = NULL; // [targets][wavelengths]
    BB_TRY(BB_ALLOCATE(targets * wavelengths_um->count, &loss));
    for (bb_index i = 0; i < targets * wavelengths_um->count; ++i) {
        loss[i] = known[i] - learned_strehl[i];
    }
    BB_TRY(bb_output_table_add_axis(table, "target", targets, NULL, NULL, results));
    BB_TRY(bb_output_table_add_axis(table, "wavelength", wavelengths_um->count,
                                    wavelengths_um->items, NULL, results));
    BB_TRY(bb_output_table_add(table, "strehl_known", known, NULL, results));
    BB_TRY(bb_output_table_add(table, "strehl_loss", loss, NULL, results));
done:
    BB_RELEASE(&loss);
    return status;
}
