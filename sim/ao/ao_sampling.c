// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_sampling.h"

#include "core/log.h"
#include "core/memory.h"
#include "physics/ao/frames/monte_carlo.h"

#include <math.h>

enum { MOST_SEPARATIONS = 12 };

// The estimates of all pipelines that gave one, and the tables that they fill: NaN elsewhere.
typedef struct sampling {
    const bb_ao_study *study;
    const bb_tomography *problem;
    const bb_ao_evaluation *evaluations;
    bb_index targets, wavelengths, pipelines;
    bb_monte_carlo_task task;
    bb_monte_carlo_estimate *estimates; // [most: pipelines targets]
    bb_index *place;                    // [estimates] pipeline targets + target
    bb_frame_mean *correctable;         // [pipelines][targets][wavelengths]
    bb_frame_mean *whole;
    bb_frame_mean *fitting; // [targets]
    double *psf;            // [BB_AO_PSF_PIXELS]^2
    bb_index separations[MOST_SEPARATIONS];
    bb_frame_mean structure[MOST_SEPARATIONS];
} sampling;

// 1, 2, 4 ... lenslets of the first target's sensor, up to its diameter.
static void choose_separations(sampling *all)
{
    bb_index lenslets = all->problem->targets[0].truth.sensors[0].lenslets;
    for (bb_index s = 1; s <= lenslets && all->task.separation_count < MOST_SEPARATIONS; s *= 2) {
        all->separations[all->task.separation_count++] = s;
    }
    all->task.separations = all->separations;
    all->task.structure = all->structure;
}

static bb_status list_estimates(sampling *all)
{
    bb_status status = BB_OK;
    bb_index limit = all->pipelines * all->targets;
    bb_index reference = bb_factor_pipelines_reference(&all->study->pipelines);
    BB_TRY(BB_ZEROED(limit, &all->estimates));
    BB_TRY(BB_ALLOCATE(limit, &all->place));
    BB_TRY(BB_ALLOCATE(limit * all->wavelengths, &all->correctable));
    BB_TRY(BB_ALLOCATE(limit * all->wavelengths, &all->whole));
    BB_TRY(BB_ALLOCATE(all->targets, &all->fitting));
    BB_TRY(bb_evaluation_unset((bb_index)BB_AO_PSF_PIXELS * BB_AO_PSF_PIXELS, &all->psf));
    for (bb_index i = 0; i < limit * all->wavelengths; ++i) {
        all->correctable[i] = all->whole[i] = (bb_frame_mean){NAN, NAN};
    }
    for (bb_index i = 0; i < limit; ++i) {
        const bb_ao_evaluation *evaluation = &all->evaluations[i / all->targets];
        const double *r = bb_ao_evaluation_reconstructor(evaluation, i % all->targets);
        if (evaluation->common.outcome.kind != BB_OUTCOME_OK || r == NULL) {
            continue;
        }
        all->estimates[all->task.estimate_count] =
            (bb_monte_carlo_estimate){.target = i % all->targets,
                                      .r = r,
                                      .correctable = all->correctable + i * all->wavelengths,
                                      .whole = all->whole + i * all->wavelengths,
                                      .psf = i == reference * all->targets ? all->psf : NULL};
        all->place[all->task.estimate_count++] = i;
    }
    all->task.estimates = all->estimates;
    all->task.fitting = all->fitting;
done:
    return status;
}

// Value, standard error and distance from the analytic value in standard errors, three tables.
static bb_status publish_strehl(const sampling *all, const bb_frame_mean *means, bool is_whole,
                                bb_results *results)
{
    bb_status status = BB_OK;
    bb_index items = all->targets * all->wavelengths;
    double *table = NULL;
    const char *const axes = "pipeline, target, wavelength";
    BB_TRY(BB_ALLOCATE(all->pipelines * items, &table));
    for (bb_index i = 0; i < all->pipelines * items; ++i) {
        table[i] = means[i].mean;
    }
    BB_TRY(bb_results_values(
        results, is_whole ? "results/strehl_monte_carlo_whole" : "results/strehl_monte_carlo", "1",
        is_whole ? "Strehl ratio of the whole residual, mean of frames"
                 : "Strehl ratio of the correctable residual, mean of frames",
        axes, table));
    for (bb_index i = 0; i < all->pipelines * items; ++i) {
        table[i] = means[i].error;
    }
    BB_TRY(bb_results_values(results,
                             is_whole ? "results/strehl_monte_carlo_whole_error"
                                      : "results/strehl_monte_carlo_error",
                             "1", "its standard error", axes, table));
    for (bb_index i = 0; i < all->pipelines * items; ++i) {
        const bb_ao_evaluation *evaluation = &all->evaluations[i / items];
        double analytic = is_whole ? evaluation->whole[i % items] : evaluation->pairs[i % items];
        table[i] = (means[i].mean - analytic) / means[i].error;
    }
    BB_TRY(bb_results_values(results,
                             is_whole ? "results/strehl_monte_carlo_whole_sigmas"
                                      : "results/strehl_monte_carlo_sigmas",
                             "1",
                             is_whole ? "from strehl_pairs_whole, in standard errors"
                                      : "from strehl_pairs, in standard errors",
                             axes, table));
done:
    BB_RELEASE(&table);
    return status;
}

static bb_status publish_residuals(const sampling *all, bb_results *results)
{
    bb_status status = BB_OK;
    double *table = NULL;
    BB_TRY(bb_evaluation_unset(all->pipelines * all->targets, &table));
    for (bb_index e = 0; e < all->task.estimate_count; ++e) {
        table[all->place[e]] = 1e9 * sqrt(all->estimates[e].residual_m2.mean);
    }
    BB_TRY(bb_results_values(results, "results/residual_rms_monte_carlo_nm", "nm",
                             "rms of the correctable residual over the pupil without piston, "
                             "root of the mean of frames",
                             "pipeline, target", table));
    for (bb_index t = 0; t < all->targets; ++t) {
        table[t] = all->fitting[t].mean;
    }
    BB_TRY(bb_results_values(results, "results/fitting_coefficient_monte_carlo", "rad^2",
                             "variance that the mirror leaves when it follows the truth sensor, "
                             "over (pitch / r0)^(5/3)",
                             "target", table));
    BB_TRY(bb_results_values(results, "results/psf_monte_carlo", "1",
                             "mean of frames of the whole residual, 1 at the diffraction-limited "
                             "peak; reference, first target and wavelength",
                             "psf_y, psf_x", all->psf));
done:
    BB_RELEASE(&table);
    return status;
}

static bb_status publish_screens(const sampling *all, bb_results *results)
{
    bb_status status = BB_OK;
    double separation_m[MOST_SEPARATIONS];
    double ratio[MOST_SEPARATIONS];
    double error[MOST_SEPARATIONS];
    const bb_sensor *sensor = &all->problem->targets[0].truth.sensors[0];
    for (bb_index s = 0; s < all->task.separation_count; ++s) {
        separation_m[s] = sensor->size_m * (double)all->separations[s];
        ratio[s] = all->structure[s].mean;
        error[s] = all->structure[s].error;
    }
    BB_TRY(bb_results_axis(results, "results/separation", "m", "separation in the pupil",
                           all->task.separation_count, separation_m));
    BB_TRY(bb_results_values(results, "results/structure_ratio", "1",
                             "structure function of the frames' phase over von Karman's",
                             "separation", ratio));
    BB_TRY(bb_results_values(results, "results/structure_ratio_error", "1", "its standard error",
                             "separation", error));
done:
    return status;
}

static bb_status publish(const sampling *all, bb_results *results)
{
    bb_status status = BB_OK;
    BB_TRY(publish_strehl(all, all->correctable, false, results));
    BB_TRY(publish_strehl(all, all->whole, true, results));
    BB_TRY(publish_residuals(all, results));
    BB_TRY(publish_screens(all, results));
done:
    return status;
}

bb_status bb_ao_sampling_run(const bb_ao_study *study, const bb_tomography *problem,
                             const double *wavelengths_m, const bb_ao_evaluation *evaluations,
                             bb_results *results)
{
    bb_status status = BB_OK;
    bb_frame_sampler *sampler = NULL;
    sampling all = {.study = study,
                    .problem = problem,
                    .evaluations = evaluations,
                    .targets = study->targets.count,
                    .wavelengths = study->wavelengths_um.count,
                    .pipelines = study->pipelines.count,
                    .task = {.seed = (uint64_t)study->common.seed,
                             .frames = study->monte_carlo.frames,
                             .wavelength_count = study->wavelengths_um.count,
                             .wavelengths_m = wavelengths_m,
                             .psf_pixels = BB_AO_PSF_PIXELS}};
    BB_TRY(list_estimates(&all));
    choose_separations(&all);
    BB_TRY(bb_frame_sampler_create(problem, &study->monte_carlo,
                                   study->sensors.slope_model != (int)BB_SLOPE_POINT_DIFFERENCE,
                                   &sampler));
    const bb_screen_size size = bb_frame_sampler_screen(sampler);
    bb_log_info("%td frames on screens of %td x %td points of %.3g m", all.task.frames, size.points,
                size.points, size.pixel_m);
    BB_TRY(bb_monte_carlo_run(sampler, &all.task));
    BB_TRY(publish(&all, results));
done:
    bb_frame_sampler_destroy(&sampler);
    BB_RELEASE(&all.estimates);
    BB_RELEASE(&all.place);
    BB_RELEASE(&all.correctable);
    BB_RELEASE(&all.whole);
    BB_RELEASE(&all.fitting);
    BB_RELEASE(&all.psf);
    return status;
}
