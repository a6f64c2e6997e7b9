// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_evaluation.h"

#include "core/memory.h"
#include "sim/ao/ao_run.h"
#include "sim/run/dump.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Array of an evaluation; NaN where a failed pipeline has no value.
typedef struct numbers {
    double **values;
    bb_index count;
} numbers;

static void list_numbers(bb_ao_evaluation *e, bb_index targets, bb_index wavelengths,
                         bb_index boxes, bb_index images, numbers out[BB_AO_EVALUATION_ARRAYS])
{
    const bb_index strehls = targets * wavelengths;
    const numbers all[BB_AO_EVALUATION_ARRAYS] = {
        {&e->strehl, strehls},
        {&e->shaken, strehls},
        {&e->pairs, strehls},
        {&e->pairs_with_terms, strehls},
        {&e->stationary, strehls},
        {&e->ensquared, strehls * boxes},
        {&e->width_mas, strehls},
        {&e->residual_m, targets},
        {&e->tilt_m, targets},
        {&e->correctable_m, targets},
        {&e->trace_arcsec2, targets},
        {&e->noise_m, targets},
        {&e->frame_times_s, BB_AO_FRAME_TIMES},
        {&e->psf, images * BB_AO_PSF_PIXELS * BB_AO_PSF_PIXELS},
    };
    memcpy(out, all, sizeof all);
}

bb_status bb_ao_evaluation_create(const char *pipeline, bb_index targets, bb_index wavelengths,
                                  bb_index boxes, bb_index images, bb_ao_evaluation *out)
{
    bb_status status = BB_OK;
    numbers all[BB_AO_EVALUATION_ARRAYS];
    *out = (bb_ao_evaluation){.common = bb_evaluation_start(pipeline)};
    BB_TRY(BB_ZEROED(targets, &out->r));
    list_numbers(out, targets, wavelengths, boxes, images, all);
    for (int a = 0; a < BB_AO_EVALUATION_ARRAYS; ++a) {
        BB_TRY(bb_evaluation_unset(all[a].count, all[a].values));
    }
done:
    return status;
}

void bb_ao_evaluation_free_estimates(bb_ao_evaluation *evaluation, bb_index targets)
{
    for (bb_index t = 0; evaluation->r != NULL && t < targets; ++t) {
        BB_RELEASE(&evaluation->r[t]);
    }
    for (bb_index t = 0; evaluation->seen != NULL && t < targets; ++t) {
        BB_RELEASE(&evaluation->seen[t]);
    }
    BB_RELEASE(&evaluation->seen);
    bb_factor_resident_release(&evaluation->resident);
}

void bb_ao_evaluation_release(bb_ao_evaluation *evaluation, bb_index targets)
{
    numbers all[BB_AO_EVALUATION_ARRAYS];
    bb_ao_evaluation_free_estimates(evaluation, targets);
    BB_RELEASE(&evaluation->r);
    list_numbers(evaluation, 0, 0, 0, 0, all);
    for (int a = 0; a < BB_AO_EVALUATION_ARRAYS; ++a) {
        BB_RELEASE(all[a].values);
    }
}

void bb_ao_evaluation_list(const bb_ao_study *study, bb_ao_evaluation *evaluation,
                           bb_store_piece pieces[BB_AO_EVALUATION_ARRAYS])
{
    numbers all[BB_AO_EVALUATION_ARRAYS];
    list_numbers(evaluation, study->targets.count, study->wavelengths_um.count,
                 study->ensquared_mas.count, bb_ao_study_images(study), all);
    for (int a = 0; a < BB_AO_EVALUATION_ARRAYS; ++a) {
        pieces[a] =
            (bb_store_piece){*all[a].values, all[a].count * (bb_index)sizeof **all[a].values};
    }
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
    return evaluation->seen != NULL ? evaluation->seen[target]
                                    : evaluation->r[evaluation->shared ? 0 : target];
}

bool bb_ao_evaluation_is_reused(const bb_ao_study *study, const char *dump)
{
    return bb_ao_study_frames(study) || bb_dump_wanted(dump, "R");
}

double bb_ao_evaluation_headline(const bb_ao_evaluation *evaluation)
{
    return evaluation->strehl[0];
}

static const char title[] = "/results, ao";

// Headline results of a pipeline, for the first target and wavelength.
typedef struct headline {
    double strehl, loss, residual_m;
} headline;

static const bb_output headlines[] = {
    {"strehl", "pipeline", "1", "Strehl ratio, first target and wavelength",
     .note = "depends on the study's `score` and `error_terms`; the root attribute `loss_note` "
             "lists its terms, the attribute `definition` defines them",
     .member = offsetof(headline, strehl)},
    {"strehl_loss", "pipeline", "1",
     "loss: Strehl ratio of the reference minus that of the pipeline",
     .member = offsetof(headline, loss)},
    {"residual_rms_nm", "pipeline", "nm",
     "rms of the residual wavefront behind `strehl`, first target",
     .note = "includes the error terms, over the pupil without piston; with `score: stationary` "
             "the root of the stationary variance",
     .member = offsetof(headline, residual_m), .scale = 1e9},
};

static const bb_output_table headlines_outputs = {
    .title = title, .group = "results", .axes = "pipeline", BB_OUTPUT_ROWS(headlines)};

enum { EDGE = BB_AO_PSF_PIXELS };

static const bb_output axis_rows[] = {
    {"target", "target", "1", .long_name = "index of the target"},
    {"target_x_arcsec", "target", "arcsec", .long_name = "direction of the target",
     .coordinate = true},
    {"target_y_arcsec", "target", "arcsec", .long_name = "direction of the target",
     .coordinate = true},
    {"wavelength", "wavelength", "um", .long_name = "wavelength"},
    {"psf_y", "psf_y", "mas", .long_name = "offset from the optical axis"},
    {"psf_x", "psf_x", "mas", .long_name = "offset from the optical axis"},
};

static const bb_output_table axes_outputs = {
    .title = title, .group = "results", BB_OUTPUT_ROWS(axis_rows)};

#define BY_DIRECTION "pipeline, target, wavelength"

static const bb_output details[] = {
    {"strehl_by", BY_DIRECTION, "1", "Strehl ratio", .member = offsetof(bb_ao_evaluation, strehl)},
    {"residual_rms_by_nm", "pipeline, target", "nm",
     "rms of the residual wavefront behind `strehl_by`",
     .member = offsetof(bb_ao_evaluation, residual_m), .scale = 1e9},
    {"residual_tilt_by_nm", "pipeline, target", "nm",
     "rms of tip and tilt of the residual wavefront, both axes together",
     .note = "least-squares fit over the pupil; what remains has the root of the difference of the "
             "squares; of the whole residual on the cpu, NaN otherwise",
     .member = offsetof(bb_ao_evaluation, tilt_m), .scale = 1e9},
    {"residual_trace_arcsec2", "pipeline, target", "arcsec^2",
     "trace of the residual covariance of slopes",
     .note = "linear in the error of a stored reconstructor; NaN with `operator: commands`, and "
             "where a GPU scores in commands because no pipeline stores its reconstructor",
     .member = offsetof(bb_ao_evaluation, trace_arcsec2)},
    {"psf", "pipeline, psf_y, psf_x", "1",
     "long-exposure point spread, 1 at the diffraction-limited peak; first target and wavelength",
     .note = "central 128 x 128 pixels", .member = offsetof(bb_ao_evaluation, psf)},
    {"fwhm_by_mas", BY_DIRECTION, "mas",
     "full width at half maximum of the image, mean over directions",
     .member = offsetof(bb_ao_evaluation, width_mas)},
};

static const bb_output_table details_outputs = {
    .title = title, .group = "results", .axes = "pipeline", BB_OUTPUT_ROWS(details)};

static const bb_output pixel_rows[] = {
    {"pixel_y", "pixel_y", "1", .long_name = "pixels from the optical axis"},
    {"pixel_x", "pixel_x", "1", .long_name = "pixels from the optical axis"},
    {"psf_pixel_mas", "target, wavelength", "mas", .long_name = "pixel width of an image"},
    {"psf_target_<t>", "pipeline, wavelength, pixel_y, pixel_x", "1",
     "long-exposure point spread of target t, 1 at the diffraction-limited peak",
     .note = "central 128 x 128 pixels"},
};

static const bb_output_table images_outputs = {
    .title = title, .when = "With `images: all`:", .group = "results", BB_OUTPUT_ROWS(pixel_rows)};

static const bb_output box_rows[] = {
    {"ensquared_box", "ensquared_box", "mas", .long_name = "width of a square box on the axis"},
};

static const bb_output_table boxes_outputs = {
    .title = title, .when = "With `ensquared_mas`:", .group = "results", BB_OUTPUT_ROWS(box_rows)};

static const bb_output ensquared[] = {
    {"ensquared_energy", BY_DIRECTION ", ensquared_box", "1",
     "fraction of the energy in a box on the axis",
     .note = "NaN for a box wider than the image's period",
     .member = offsetof(bb_ao_evaluation, ensquared)},
};

static const bb_output_table ensquared_outputs = {
    .title = title, .group = "results", .axes = "pipeline", BB_OUTPUT_ROWS(ensquared)};

static const bb_output by_frames[] = {
    {"strehl_stationary", BY_DIRECTION, "1",
     "Strehl ratio with error terms, assuming a stationary residual",
     .member = offsetof(bb_ao_evaluation, stationary)},
    {"strehl_pairs", BY_DIRECTION, "1",
     "Strehl ratio of the correctable residual, by pairs of points",
     .member = offsetof(bb_ao_evaluation, pairs)},
};

static const bb_output_table by_frames_outputs = {
    .title = title,
    .when = "With `monte_carlo.frames` or `time_domain.frames`, for either `score`:",
    .group = "results",
    .axes = "pipeline",
    BB_OUTPUT_ROWS(by_frames)};

static const bb_output with_terms[] = {
    {"strehl_pairs_whole", BY_DIRECTION, "1", "Strehl ratio with error terms, by pairs of points",
     .note = "only with error terms", .member = offsetof(bb_ao_evaluation, pairs_with_terms)},
};

static const bb_output_table with_terms_outputs = {
    .title = title, .group = "results", .axes = "pipeline", BB_OUTPUT_ROWS(with_terms)};

// Text of the attribute `definition` of every score; it describes the residual that is scored.
static bb_status define_scores(const bb_ao_study *study, bb_results *results)
{
    static const char *const scores[] = {
        "results/strehl",          "results/strehl_loss",        "results/strehl_by",
        "results/residual_rms_nm", "results/residual_rms_by_nm", "results/ensquared_energy",
        "results/fwhm_by_mas",     "results/strehl_pairs_whole",
    };
    bb_status status = BB_OK;
    for (size_t i = 0; i < sizeof scores / sizeof *scores; ++i) {
        const bool pairs =
            study->score == (int)BB_SCORE_PAIRS || i + 1 == sizeof scores / sizeof *scores;
        if (bb_results_find(results, scores[i]) != NULL) {
            BB_TRY(bb_results_note(results, scores[i], "definition",
                                   bb_ao_whole_definition(study, pairs)));
        }
    }
done:
    return status;
}

static bb_status publish_headlines(const bb_ao_study *study, bb_ao_evaluation *evaluations,
                                   bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index count = study->pipelines.count;
    const bb_evaluations all_evaluations = {&evaluations->common, sizeof *evaluations, count,
                                            &study->machine.price};
    headline rows[BB_STUDY_PIPELINES];
    const double reference =
        bb_ao_evaluation_headline(&evaluations[bb_factor_pipelines_reference(&study->pipelines)]);
    for (bb_index p = 0; p < count; ++p) {
        const double strehl = bb_ao_evaluation_headline(&evaluations[p]);
        rows[p] = (headline){strehl, reference - strehl, evaluations[p].residual_m[0]};
        evaluations[p].common.qoi_relative_error = fabs(rows[p].loss) / reference;
        bb_draws_relate(&evaluations[p].common.draws, reference, -1.0);
    }
    BB_TRY(bb_evaluations_publish(&all_evaluations, "1", results));
    BB_TRY(bb_evaluations_publish_factors(&all_evaluations, results));
    BB_TRY(bb_output_table_publish_records(&headlines_outputs, rows, sizeof *rows, count, NULL,
                                           results));
done:
    return status;
}

// Width of a pixel of an image.
static double pixel_mas(const bb_ao_study *study, const bb_tomography *problem, bb_index target,
                        bb_index wavelength)
{
    const bb_point_spread_grid *grid = bb_point_spread_layout(problem->targets[target].spread);
    const double wavelength_um = ((const double *)study->wavelengths_um.items)[wavelength];
    return 1e-6 * wavelength_um / ((double)grid->pixels * grid->pixel_m) * (180.0 / M_PI) *
           3600.0e3;
}

static bb_status publish_axes(const bb_ao_study *study, const bb_tomography *problem,
                              bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_table *table = &axes_outputs;
    const double width_mas = pixel_mas(study, problem, 0, 0);
    const bb_index targets = study->targets.count;
    const bb_target_config *target = study->targets.items;
    double *directions = NULL; // [2][targets] x, then y
    double offsets[EDGE];
    for (int i = 0; i < EDGE; ++i) {
        offsets[i] = width_mas * ((double)i - 0.5 * EDGE);
    }
    BB_TRY(BB_ALLOCATE(2 * targets, &directions));
    for (bb_index t = 0; t < targets; ++t) {
        directions[t] = target[t].x_arcsec;
        directions[targets + t] = target[t].y_arcsec;
    }
    BB_TRY(bb_output_table_add_axis(table, "target", targets, NULL, NULL, results));
    BB_TRY(bb_output_table_add(table, "target_x_arcsec", directions, NULL, results));
    BB_TRY(bb_output_table_add(table, "target_y_arcsec", directions + targets, NULL, results));
    BB_TRY(bb_output_table_add_axis(table, "wavelength", study->wavelengths_um.count,
                                    study->wavelengths_um.items, NULL, results));
    BB_TRY(bb_output_table_add_axis(table, "psf_y", EDGE, offsets, NULL, results));
    BB_TRY(bb_output_table_add_axis(table, "psf_x", EDGE, offsets, NULL, results));
done:
    BB_RELEASE(&directions);
    return status;
}

static bb_status publish_over_pipelines(const bb_output_table *table, const bb_ao_study *study,
                                        const bb_ao_evaluation *evaluations, bb_results *results)
{
    return bb_output_table_publish_records(table, evaluations, sizeof *evaluations,
                                           study->pipelines.count, NULL, results);
}

// Publishes the results of optional keys.
static bb_status publish_extras(const bb_ao_study *study, const bb_tomography *problem,
                                const bb_ao_evaluation *evaluations, bb_results *results)
{
    bb_status status = BB_OK;
    const bool has_frames = bb_ao_study_frames(study);
    if (has_frames) {
        BB_TRY(publish_over_pipelines(&by_frames_outputs, study, evaluations, results));
    }
    if (has_frames && problem->targets[0].terms != NULL) {
        BB_TRY(publish_over_pipelines(&with_terms_outputs, study, evaluations, results));
    }
    if (study->ensquared_mas.count > 0) {
        BB_TRY(bb_output_table_add_axis(&boxes_outputs, "ensquared_box", study->ensquared_mas.count,
                                        study->ensquared_mas.items, NULL, results));
        BB_TRY(publish_over_pipelines(&ensquared_outputs, study, evaluations, results));
    }
done:
    return status;
}

// Prints and stores the terms that the Strehl ratios include and omit.
static bb_status publish_note(const bb_ao_study *study, bb_results *results)
{
    const bb_error_terms_config *terms = &study->error_terms;
    const bool lag = terms->frame_delay_ms > 0.0;
    const bool shake = terms->shake_arcsec > 0.0;
    const bool whole = study->score == (int)BB_SCORE_PAIRS && bb_ao_whole_applies(study);
    char included[128];
    char missing[64];
    char note[320];
    (void)snprintf(included, sizeof included, "tomography and noise%s%s%s%s",
                   terms->fitting ? ", the guide stars' aliasing, fitting" : "",
                   terms->aliasing ? ", aliasing of one sensor" : "", lag ? ", lag" : "",
                   shake ? ", shake" : "");
    (void)snprintf(missing, sizeof missing, "%s%s%s", terms->fitting ? "" : "fitting, ",
                   terms->fitting || terms->aliasing ? "" : "aliasing, ", lag ? "" : "lag, ");
    const int kept = (int)strlen(missing) - 2; // drops the final comma
    (void)snprintf(note, sizeof note, "strehl and residual (score: %s) include %s%s%s%.*s",
                   bb_score_names[study->score], included,
                   whole                   ? " and their correlations"
                   : terms->fitting || lag ? " as independent of each other"
                                           : "",
                   kept > 0 ? "; without " : "", kept > 0 ? kept : 0, missing);
    return bb_results_note(results, "", "loss_note", note);
}

// Publishes the images of all targets and wavelengths; their pixel widths differ.
static bb_status publish_images(const bb_ao_study *study, const bb_tomography *problem,
                                const bb_ao_evaluation *evaluations, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_table *table = &images_outputs;
    const bb_index wavelengths = study->wavelengths_um.count;
    const bb_index size = wavelengths * EDGE * EDGE;
    char target[24];
    double *images = NULL; // [pipelines][wavelengths][EDGE][EDGE] of one target
    double *pixels = NULL; // [targets][wavelengths]
    double offsets[EDGE];
    if (study->images != (int)BB_AO_IMAGES_ALL) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(study->pipelines.count * size, &images));
    BB_TRY(BB_ALLOCATE(study->targets.count * wavelengths, &pixels));
    for (bb_index i = 0; i < study->targets.count * wavelengths; ++i) {
        pixels[i] = pixel_mas(study, problem, i / wavelengths, i % wavelengths);
    }
    for (int i = 0; i < EDGE; ++i) {
        offsets[i] = (double)i - 0.5 * EDGE;
    }
    BB_TRY(bb_output_table_add_axis(table, "pixel_y", EDGE, offsets, NULL, results));
    BB_TRY(bb_output_table_add_axis(table, "pixel_x", EDGE, offsets, NULL, results));
    BB_TRY(bb_output_table_add(table, "psf_pixel_mas", pixels, NULL, results));
    for (bb_index t = 0; t < study->targets.count; ++t) {
        char long_name[96];
        const bb_output_fill fill = {.name = target, .long_name = long_name};
        for (bb_index p = 0; p < study->pipelines.count; ++p) {
            memcpy(images + p * size, evaluations[p].psf + t * size, (size_t)size * sizeof *images);
        }
        (void)snprintf(target, sizeof target, "%td", t);
        (void)snprintf(
            long_name, sizeof long_name,
            "long-exposure point spread of target %td, 1 at the diffraction-limited peak", t);
        BB_TRY(bb_output_table_add(table, "psf_target_<t>", images, &fill, results));
    }
done:
    BB_RELEASE(&images);
    BB_RELEASE(&pixels);
    return status;
}

// The quantity of interest is the Strehl ratio of the first target and wavelength; its relative
// error is |SR - SR_ref| / SR_ref.
static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_ao_work *work = all;
    const bb_ao_study *study = work->study;
    const bb_tomography *problem = work->problem;
    bb_ao_evaluation *evaluations = work->evaluations;
    BB_TRY(publish_note(study, results));
    BB_TRY(publish_headlines(study, evaluations, results));
    BB_TRY(publish_axes(study, problem, results));
    BB_TRY(publish_over_pipelines(&details_outputs, study, evaluations, results));
done:
    return status;
}

static bb_status run_images(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_ao_work *work = all;
    BB_TRY(publish_extras(work->study, work->problem, work->evaluations, results));
    BB_TRY(define_scores(work->study, results));
    BB_TRY(publish_images(work->study, work->problem, work->evaluations, results));
done:
    return status;
}

const bb_part bb_ao_evaluation_part = {
    .name = "scores",
    .run = run,
    .outputs = BB_OUTPUTS(&bb_evaluation_outputs, &headlines_outputs, &axes_outputs,
                          &details_outputs, &bb_factor_report_axes, &bb_factor_report_outputs),
};

const bb_part bb_ao_images_part = {
    .name = "images",
    .run = run_images,
    .outputs = BB_OUTPUTS(&images_outputs, &boxes_outputs, &ensquared_outputs, &by_frames_outputs,
                          &with_terms_outputs),
};
