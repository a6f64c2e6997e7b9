// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_evaluation.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bb_status bb_ao_evaluation_create(const char *pipeline, bb_index targets, bb_index wavelengths,
                                  bb_index boxes, bb_index images, bb_ao_evaluation *out)
{
    bb_status status = BB_OK;
    *out = (bb_ao_evaluation){.common = bb_evaluation_start(pipeline)};
    BB_TRY(BB_ZEROED(targets, &out->r));
    BB_TRY(bb_evaluation_unset(targets * wavelengths, &out->strehl));
    BB_TRY(bb_evaluation_unset(targets * wavelengths, &out->pairs));
    BB_TRY(bb_evaluation_unset(targets * wavelengths, &out->whole));
    BB_TRY(bb_evaluation_unset(targets * wavelengths, &out->stationary));
    BB_TRY(bb_evaluation_unset(targets * wavelengths * boxes, &out->ensquared));
    BB_TRY(bb_evaluation_unset(targets, &out->residual_m));
    BB_TRY(bb_evaluation_unset(targets, &out->noise_m));
    BB_TRY(bb_evaluation_unset(targets * wavelengths, &out->width_rad));
    BB_TRY(bb_evaluation_unset(images * BB_AO_PSF_PIXELS * BB_AO_PSF_PIXELS, &out->psf));
done:
    return status;
}

void bb_ao_evaluation_release(bb_ao_evaluation *evaluation, bb_index targets)
{
    for (bb_index t = 0; evaluation->r != NULL && t < targets; ++t) {
        BB_RELEASE(&evaluation->r[t]);
    }
    BB_RELEASE(&evaluation->r);
    BB_RELEASE(&evaluation->strehl);
    BB_RELEASE(&evaluation->pairs);
    BB_RELEASE(&evaluation->whole);
    BB_RELEASE(&evaluation->stationary);
    BB_RELEASE(&evaluation->ensquared);
    BB_RELEASE(&evaluation->residual_m);
    BB_RELEASE(&evaluation->noise_m);
    BB_RELEASE(&evaluation->width_rad);
    BB_RELEASE(&evaluation->psf);
}

void bb_ao_evaluation_share(bb_ao_evaluation *evaluation, int correction,
                            const bb_tomography *problem)
{
    const bb_index targets = problem->target_count;
    const bb_index items = problem->targets[0].ctm->rows * problem->targets[0].ctm->columns;
    if (correction != (int)BB_AO_CORRECTION_GLAO ||
        evaluation->common.outcome.kind != BB_OUTCOME_OK) {
        return;
    }
    for (bb_index i = 0; i < items; ++i) {
        double sum = 0.0;
        for (bb_index t = 0; t < targets; ++t) {
            sum += evaluation->r[t][i];
        }
        evaluation->r[0][i] = sum / (double)targets;
    }
    for (bb_index t = 1; t < targets; ++t) {
        BB_RELEASE(&evaluation->r[t]);
    }
}

const double *bb_ao_evaluation_reconstructor(const bb_ao_evaluation *evaluation, bb_index target)
{
    return evaluation->r[evaluation->shared ? 0 : target];
}

double bb_ao_evaluation_headline(const bb_ao_evaluation *evaluation)
{
    return evaluation->strehl[0];
}

static bb_status publish_scalars(const bb_ao_study *study, bb_ao_evaluation *evaluations,
                                 bb_results *results)
{
    bb_status status = BB_OK;
    const bb_evaluation *common[BB_STUDY_PIPELINES];
    double strehl[BB_STUDY_PIPELINES];
    double loss[BB_STUDY_PIPELINES];
    double residual_nm[BB_STUDY_PIPELINES];
    double reference =
        bb_ao_evaluation_headline(&evaluations[bb_factor_pipelines_reference(&study->pipelines)]);
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        strehl[p] = bb_ao_evaluation_headline(&evaluations[p]);
        loss[p] = reference - strehl[p];
        residual_nm[p] = 1e9 * evaluations[p].residual_m[0];
        evaluations[p].common.qoi_relative_error = fabs(loss[p]) / reference;
        bb_draws_relate(&evaluations[p].common.draws, reference, -1.0);
        common[p] = &evaluations[p].common;
    }
    BB_TRY(bb_evaluations_publish(results, study->pipelines.count, common));
    BB_TRY(bb_evaluations_publish_factors(results, study->pipelines.count, common));
    BB_TRY(bb_evaluations_publish_draws(results, "1", study->pipelines.count, common));
    BB_TRY(bb_evaluations_publish_number(results, "strehl", "1",
                                         "Strehl ratio, first target and wavelength", strehl));
    BB_TRY(bb_evaluations_publish_number(results, "strehl_loss", "1",
                                         "Strehl ratio of the reference minus this one's", loss));
    BB_TRY(bb_evaluations_publish_number(
        results, "residual_rms_nm", "nm",
        "rms of the residual wavefront that strehl has, first target", residual_nm));
done:
    return status;
}

// strehl_by and residual_rms_by_nm over their axes.
static bb_status publish_directions(const bb_ao_study *study, const bb_ao_evaluation *evaluations,
                                    bb_results *results)
{
    bb_status status = BB_OK;
    bb_index targets = study->targets.count;
    bb_index wavelengths = study->wavelengths_um.count;
    bb_index count = study->pipelines.count;
    double *strehls = NULL;   // [count][targets][wavelengths]
    double *residuals = NULL; // [count][targets]
    double *indices = NULL;   // [targets]
    BB_TRY(BB_ALLOCATE(count * targets * wavelengths, &strehls));
    BB_TRY(BB_ALLOCATE(count * targets, &residuals));
    BB_TRY(BB_ALLOCATE(targets, &indices));
    for (bb_index p = 0; p < count; ++p) {
        for (bb_index i = 0; i < targets * wavelengths; ++i) {
            strehls[p * targets * wavelengths + i] = evaluations[p].strehl[i];
        }
        for (bb_index t = 0; t < targets; ++t) {
            residuals[p * targets + t] = 1e9 * evaluations[p].residual_m[t];
        }
    }
    for (bb_index t = 0; t < targets; ++t) {
        indices[t] = (double)t;
    }
    BB_TRY(
        bb_results_axis(results, "results/target", "1", "index of the target", targets, indices));
    BB_TRY(bb_results_axis(results, "results/wavelength", "um", "wavelength", wavelengths,
                           study->wavelengths_um.items));
    BB_TRY(bb_results_values(results, "results/strehl_by", "1", "Strehl ratio",
                             "pipeline, target, wavelength", strehls));
    BB_TRY(bb_results_values(results, "results/residual_rms_by_nm", "nm",
                             "rms of the residual wavefront that strehl_by has", "pipeline, target",
                             residuals));
done:
    BB_RELEASE(&strehls);
    BB_RELEASE(&residuals);
    BB_RELEASE(&indices);
    return status;
}

// [pipelines][items] of one of each evaluation's arrays.
static bb_status publish_items(const char *path, const char *long_name, const char *axes,
                               bb_index count, bb_index items, const double *const *parts,
                               bb_results *results)
{
    bb_status status = BB_OK;
    double *all = NULL;
    BB_TRY(bb_evaluation_unset(count * items, &all));
    for (bb_index p = 0; p < count; ++p) {
        for (bb_index i = 0; parts[p] != NULL && i < items; ++i) {
            all[p * items + i] = parts[p][i];
        }
    }
    BB_TRY(bb_results_values(results, path, "1", long_name, axes, all));
done:
    BB_RELEASE(&all);
    return status;
}

static bb_status publish_widths(const bb_ao_study *study, const bb_ao_evaluation *evaluations,
                                bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index items = study->targets.count * study->wavelengths_um.count;
    double *widths = NULL; // [pipelines][targets][wavelengths]
    BB_TRY(BB_ALLOCATE(study->pipelines.count * items, &widths));
    for (bb_index k = 0; k < study->pipelines.count * items; ++k) {
        widths[k] = evaluations[k / items].width_rad[k % items] * (180.0 / M_PI) * 3600.0e3;
    }
    BB_TRY(bb_results_values(results, "results/fwhm_by_mas", "mas",
                             "full width at half maximum of the image, mean over directions",
                             "pipeline, target, wavelength", widths));
done:
    BB_RELEASE(&widths);
    return status;
}

// What only some studies ask for.
static bb_status publish_extras(const bb_ao_study *study, const bb_tomography *problem,
                                const bb_ao_evaluation *evaluations, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index count = study->pipelines.count;
    const bb_index items = study->targets.count * study->wavelengths_um.count;
    const bb_index boxes = study->ensquared_mas.count;
    const double *parts[4][BB_STUDY_PIPELINES];
    for (bb_index p = 0; p < count; ++p) {
        parts[0][p] = evaluations[p].pairs;
        parts[1][p] = evaluations[p].whole;
        parts[2][p] = evaluations[p].ensquared;
        parts[3][p] = evaluations[p].stationary;
    }
    if (study->monte_carlo.frames > 0) {
        BB_TRY(publish_items("results/strehl_stationary",
                             "Strehl ratio with error terms, the residual taken as stationary",
                             "pipeline, target, wavelength", count, items, parts[3], results));
        BB_TRY(publish_items("results/strehl_pairs",
                             "Strehl ratio of the correctable residual, by pairs",
                             "pipeline, target, wavelength", count, items, parts[0], results));
    }
    if (study->monte_carlo.frames > 0 && problem->targets[0].terms != NULL) {
        BB_TRY(publish_items("results/strehl_pairs_whole",
                             "Strehl ratio with error terms, by pairs",
                             "pipeline, target, wavelength", count, items, parts[1], results));
    }
    BB_TRY(publish_widths(study, evaluations, results));
    if (boxes > 0) {
        BB_TRY(bb_results_axis(results, "results/ensquared_box", "mas", "width of a square box",
                               boxes, study->ensquared_mas.items));
        BB_TRY(publish_items("results/ensquared_energy", "share of the energy in a box on the axis",
                             "pipeline, target, wavelength, ensquared_box", count, items * boxes,
                             parts[2], results));
    }
done:
    return status;
}

static bb_status publish_images(const bb_ao_study *study, const bb_tomography *problem,
                                const bb_ao_evaluation *evaluations, bb_results *results)
{
    enum { EDGE = BB_AO_PSF_PIXELS };
    bb_status status = BB_OK;
    const bb_point_spread_grid *grid = bb_point_spread_layout(problem->targets[0].spread);
    const double *wavelengths_um = study->wavelengths_um.items;
    double pixel_mas = 1e-6 * wavelengths_um[0] / ((double)grid->pixels * grid->pixel_m) *
                       (180.0 / M_PI) * 3600.0e3;
    double offsets[EDGE];
    double *images = NULL; // [pipelines][EDGE][EDGE]
    BB_TRY(BB_ALLOCATE(study->pipelines.count * EDGE * EDGE, &images));
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        for (bb_index i = 0; i < (bb_index)EDGE * EDGE; ++i) {
            images[p * EDGE * EDGE + i] = evaluations[p].psf[i];
        }
    }
    for (int i = 0; i < EDGE; ++i) {
        offsets[i] = pixel_mas * ((double)i - 0.5 * EDGE);
    }
    BB_TRY(bb_results_axis(results, "results/psf_y", "mas", "offset from the axis", EDGE, offsets));
    BB_TRY(bb_results_axis(results, "results/psf_x", "mas", "offset from the axis", EDGE, offsets));
    BB_TRY(bb_results_values(results, "results/psf", "1",
                             "long-exposure point spread, 1 at the diffraction-limited peak; first "
                             "target and wavelength",
                             "pipeline, psf_y, psf_x", images));
done:
    BB_RELEASE(&images);
    return status;
}

// What the Strehl ratios hold and what they do not, below the table and in the file.
static bb_status publish_note(const bb_ao_study *study, bb_results *results)
{
    const bb_error_terms_config *terms = &study->error_terms;
    const bool lag = terms->frame_delay_ms > 0.0;
    char held[128];
    char missing[64];
    char note[256];
    (void)snprintf(held, sizeof held, "tomography and noise%s%s%s",
                   terms->fitting ? ", the guide stars' aliasing, fitting" : "",
                   terms->aliasing ? ", aliasing of one sensor" : "", lag ? ", lag" : "");
    (void)snprintf(missing, sizeof missing, "%s%s%s", terms->fitting ? "" : "fitting, ",
                   terms->fitting || terms->aliasing ? "" : "aliasing, ", lag ? "" : "lag, ");
    const int kept = (int)strlen(missing) - 2; // without the last comma
    (void)snprintf(note, sizeof note, "strehl and residual (score: %s) hold %s%s%.*s",
                   bb_score_names[study->score], held, kept > 0 ? "; without " : "",
                   kept > 0 ? kept : 0, missing);
    return bb_results_note(results, "", "price_note", note);
}

// Every target and wavelength, whose pixels differ.
static bb_status publish_all_images(const bb_ao_study *study, const bb_tomography *problem,
                                    const bb_ao_evaluation *evaluations, bb_results *results)
{
    enum { EDGE = BB_AO_PSF_PIXELS };
    bb_status status = BB_OK;
    const bb_index items = bb_ao_study_images(study);
    const double *wavelengths_um = study->wavelengths_um.items;
    const bb_index wavelengths = study->wavelengths_um.count;
    const bb_index size = wavelengths * EDGE * EDGE;
    char path[48];
    double *images = NULL; // [pipelines][wavelengths][EDGE][EDGE] of one target
    double *pixels = NULL; // [targets][wavelengths]
    double offsets[EDGE];
    if (study->images != (int)BB_AO_IMAGES_ALL) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(study->pipelines.count * size, &images));
    BB_TRY(BB_ALLOCATE(items, &pixels));
    for (bb_index i = 0; i < items; ++i) {
        const bb_point_spread_grid *grid =
            bb_point_spread_layout(problem->targets[i / wavelengths].spread);
        pixels[i] = 1e-6 * wavelengths_um[i % wavelengths] /
                    ((double)grid->pixels * grid->pixel_m) * (180.0 / M_PI) * 3600.0e3;
    }
    for (int i = 0; i < EDGE; ++i) {
        offsets[i] = (double)i - 0.5 * EDGE;
    }
    BB_TRY(bb_results_axis(results, "results/pixel_y", "1", "pixels from the axis", EDGE, offsets));
    BB_TRY(bb_results_axis(results, "results/pixel_x", "1", "pixels from the axis", EDGE, offsets));
    BB_TRY(bb_results_values(results, "results/psf_pixel_mas", "mas",
                             "width of a pixel of an image", "target, wavelength", pixels));
    for (bb_index t = 0; t < study->targets.count; ++t) {
        for (bb_index p = 0; p < study->pipelines.count; ++p) {
            memcpy(images + p * size, evaluations[p].psf + t * size, (size_t)size * sizeof *images);
        }
        (void)snprintf(path, sizeof path, "results/psf_target_%td", t);
        BB_TRY(bb_results_values(results, path, "1",
                                 "long-exposure point spread, 1 at the diffraction-limited peak",
                                 "pipeline, wavelength, pixel_y, pixel_x", images));
    }
done:
    BB_RELEASE(&images);
    BB_RELEASE(&pixels);
    return status;
}

bb_status bb_ao_evaluations_publish(const bb_ao_study *study, const bb_tomography *problem,
                                    bb_ao_evaluation *evaluations, bb_results *results)
{
    bb_status status = BB_OK;
    BB_TRY(publish_note(study, results));
    BB_TRY(publish_scalars(study, evaluations, results));
    BB_TRY(publish_directions(study, evaluations, results));
    BB_TRY(publish_extras(study, problem, evaluations, results));
    BB_TRY(publish_images(study, problem, evaluations, results));
    BB_TRY(publish_all_images(study, problem, evaluations, results));
done:
    return status;
}
