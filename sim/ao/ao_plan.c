// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_plan.h"

#include "core/memory.h"
#include "physics/ao/frames/frame_sampler.h"
#include "physics/ao/score/pair_strehl.h"
#include "sim/ao/ao_evaluation.h"
#include "sim/ao/ao_learn.h"
#include "sim/ao/ao_learn_plan.h"
#include "sim/ao/ao_pupil.h"
#include "sim/ao/ao_quantities.h"
#include "sim/dump.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_plan.h"
#include "sim/pipelines/factor_spectrum.h"
#include "solvers/factor/residual_covariance.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <math.h>

// Planes of the point-spread grid that are held at once, each of doubles.
enum { PLANES = 6 };

// Matrices of actuators x slopes, of doubles, while a mirror is inverted.
enum { MIRROR_MATRICES = 3 };

// Operations of one core a second, in tiles: OpenBLAS's products in fp64 and fp32, and what the
// emulation of narrow formats leaves of the latter.
static const double fp64_rate = 4.0e10;
static const double fp32_rate = 8.0e10;
static const double emulated_rate = 5.0e10;
static const double fp16_sum_rate = 5.0e9; // hp3 rounds its accumulator
static const double device_rate = 5.0e13;  // fp32 and fp64 of one H200

// Seconds an entry of R takes from the device and back.
static const double device_transfer = 3.0e-9;

// Seconds of one core: an evaluation of D, with the ends that blocks do not share; an entry that is
// looked up, scaled and rounded; a mirror's modes, per actuator^3.
static const double seconds_per_distance = 4.0e-9;
static const double seconds_per_entry = 5.0e-9;
static const double seconds_per_actuator3 = 3.0e-10;

// Seconds of one core of scores by pairs: an operation of small products, an exponential with its
// sum; and a table of what a mirror can correct.
static const double seconds_per_pair_flop = 3.0e-10;
static const double seconds_per_exponential = 1.0e-8;
static const double seconds_per_table = 0.2;

// Sizes of a study.
typedef struct extent {
    double n; // measurements
    bb_ao_seeing seeing;
    double m;                  // truth slopes of all targets
    double squared_m;          // sum of their squares
    double layers, pixels;     // pixels: N of the largest point-spread grid
    double largest_projector;  // actuators x slopes
    double actuator3;          // of the largest mirror
    double projections;        // operations from Cee to Cvv, of all targets
    bb_pair_strehl_cost pairs; // of all targets; bytes of the largest
    double table_bytes;        // of displacements
    bb_index mask_edge;        // pixels of the pupil's mask, 0: the annulus
    bb_slope_covariance_cost cmm, ctm;
    bb_screen_size screen;       // of independent frames
    double screen_lines;         // lenslets of all sensors
    double pupil_points;         // along an edge, of all targets
    double squared_pupil_points; // sum of their squares
    bb_ao_learn_need learn;
} extent;

// Screens that serve the guide stars and one more target.
static bb_status measure_screens(const bb_monte_carlo_config *monte_carlo,
                                 const bb_atmosphere *atmosphere, const bb_sensor_array *guides,
                                 const bb_sensor_array *truth, extent *out)
{
    bb_status status = BB_OK;
    bb_screen_size size = {0};
    const bb_sensor_array *const arrays[] = {guides, truth};
    const double points = (double)bb_point_spread_pixels(truth->sensors[0].lenslets) / 3.0;
    if (monte_carlo->frames > 0) {
        BB_TRY(bb_screen_size_for(monte_carlo, atmosphere, 2, arrays, &size));
    }
    if (size.fine_points > out->screen.fine_points) {
        out->screen = size;
    }
    out->screen_lines += (double)truth->sensors[0].lenslets;
    out->pupil_points += points;
    out->squared_pupil_points += points * points;
done:
    return status;
}

static bb_status measure_targets(const bb_ao_study *study, const bb_ao_config *physics,
                                 const bb_atmosphere *atmosphere, const bb_sensor_array *guides,
                                 double threads, extent *out)
{
    bb_status status = BB_OK;
    bb_sensor_array truth = {0};
    for (bb_index t = 0; t < physics->target_count; ++t) {
        BB_TRY(bb_sensor_array_create_truth(physics, t, atmosphere, &truth));
        bb_index lenslets = truth.sensors[0].lenslets;
        double m = (double)truth.measurement_count;
        const bb_slope_covariance_cost ctm = bb_slope_covariance_price(&truth, guides);
        double actuators = (double)(lenslets + 1) * (double)(lenslets + 1);
        out->m += m;
        out->squared_m += m * m;
        out->pixels = fmax(out->pixels, (double)bb_point_spread_pixels(lenslets));
        out->largest_projector = fmax(out->largest_projector, actuators * m);
        out->actuator3 = fmax(out->actuator3, actuators * actuators * actuators);
        const bb_pair_strehl_cost pairs =
            bb_pair_strehl_price(lenslets, study->wavelengths_um.count, threads);
        out->projections += 2.0 * actuators * m * (m + actuators);
        out->pairs.flops += pairs.flops;
        out->pairs.exponentials += pairs.exponentials;
        out->pairs.bytes = fmax(out->pairs.bytes, pairs.bytes);
        BB_TRY(measure_screens(&study->monte_carlo, atmosphere, guides, &truth, out));
        out->ctm.entries += ctm.entries;
        out->ctm.direct_entries += ctm.direct_entries;
        out->table_bytes += ctm.table_bytes + bb_slope_covariance_price(&truth, &truth).table_bytes;
        bb_sensor_array_release(&truth);
    }
done:
    bb_sensor_array_release(&truth);
    return status;
}

static bb_status measure(const bb_ao_study *study, double threads, extent *out)
{
    bb_status status = BB_OK;
    bb_atmosphere atmosphere = {0};
    bb_sensor_array guides = {0};
    bb_ao_config physics = bb_ao_study_physics(study);
    double *mask = NULL;
    BB_TRY(bb_ao_pupil_load(study, &physics, &mask));
    BB_TRY(
        bb_atmosphere_create(physics.atmosphere, physics.telescope->zenith_angle_deg, &atmosphere));
    BB_TRY(bb_sensor_array_create_guides(&physics, &atmosphere, &guides));
    BB_TRY(bb_ao_learning_check(&study->learn, guides.measurement_count));
    *out = (extent){.n = (double)guides.measurement_count,
                    .layers = (double)atmosphere.layer_count,
                    .seeing = bb_ao_seeing_of(study, &atmosphere),
                    .mask_edge = physics.pupil_edge,
                    .cmm = bb_slope_covariance_price(&guides, &guides)};
    for (bb_index s = 0; s < guides.sensor_count; ++s) {
        out->screen_lines += (double)guides.sensors[s].lenslets;
    }
    // Once with the tilts of laser stars and once without.
    out->table_bytes = 2.0 * out->cmm.table_bytes;
    BB_TRY(measure_targets(study, &physics, &atmosphere, &guides, threads, out));
    BB_TRY(bb_ao_learn_plan(study, &atmosphere, &guides, threads, &out->learn));
done:
    BB_RELEASE(&mask);
    bb_sensor_array_release(&guides);
    bb_atmosphere_release(&atmosphere);
    return status;
}

static bb_frame_sampler_extent frames_of(const bb_ao_study *study, const extent *span)
{
    return (bb_frame_sampler_extent){.frames = (double)study->monte_carlo.frames,
                                     .layers = span->layers,
                                     .lines = span->screen_lines,
                                     .points = span->pupil_points,
                                     .squared_points = span->squared_pupil_points,
                                     .screen = span->screen};
}

static double frame_bytes(const bb_ao_study *study, const extent *span, double threads)
{
    const bb_frame_sampler_extent frames = frames_of(study, span);
    double images = 8.0 * 64.0 * BB_AO_PSF_PIXELS * BB_AO_PSF_PIXELS;
    return frames.frames > 0.0 ? images + bb_frame_sampler_bytes(&frames, threads) : 0.0;
}

static double frame_seconds(const bb_ao_study *study, const extent *span)
{
    const bb_frame_sampler_extent frames = frames_of(study, span);
    double images = 1.0e-7 * (double)study->monte_carlo.frames * (double)study->pipelines.count *
                    (double)study->wavelengths_um.count * span->squared_pupil_points;
    return bb_frame_sampler_seconds(&frames) + images;
}

static bool scores_pairs(const bb_ao_study *study)
{
    return study->score == (int)BB_SCORE_PAIRS || study->monte_carlo.frames > 0;
}

// The peak is the mirror's making, the learning, the solves, or the score of all estimates. What
// was learned is a problem of its own beside the true one, and an estimate of the latter.
static double host_bytes(const bb_ao_study *study, const extent *span, double factor_problem)
{
    double pipelines = (double)study->pipelines.count;
    double problems = span->learn.solves_again ? 2.0 : 1.0;
    double mirror = 8.0 * MIRROR_MATRICES * span->largest_projector;
    double estimates = 8.0 * pipelines * (span->n * span->m + span->squared_m);
    double scoring = estimates +
                     bb_residual_covariance_bytes((bb_index)span->n, pipelines * span->m) +
                     (scores_pairs(study) ? span->pairs.bytes : 0.0);
    double mask = 8.0 * (double)span->mask_edge * (double)span->mask_edge;
    double making = fmax(mirror, span->learn.bytes);
    return BB_PLAN_PROGRAM_BYTES + problems * (span->table_bytes + 8.0 * span->largest_projector) +
           mask + 8.0 * PLANES * span->pixels * span->pixels +
           fmax(making, fmax(factor_problem, scoring));
}

static double output_bytes(const bb_ao_study *study)
{
    double by_target = (double)study->targets.count * (1.0 + (double)study->wavelengths_um.count);
    double image = (double)BB_AO_PSF_PIXELS * BB_AO_PSF_PIXELS;
    double boxes = (double)(study->ensquared_mas.count * study->wavelengths_um.count);
    by_target += (double)study->targets.count * boxes +
                 (double)(study->targets.count * study->wavelengths_um.count);
    if (study->images == (int)BB_AO_IMAGES_ALL) {
        image *= 1.0 + (double)bb_ao_study_images(study);
    }
    if (study->monte_carlo.frames > 0) {
        by_target += 8.0 * (double)(study->targets.count * study->wavelengths_um.count);
        image += image / (double)study->pipelines.count;
    }
    return 8.0 * (double)study->pipelines.count * (image + by_target);
}

static double rate_of(const bb_factor_pipeline *pipeline)
{
    const bb_variant_info *info = bb_variant_describe((bb_variant)pipeline->arithmetic);
    if (info->accumulator == BB_FORMAT_FP16) {
        return fp16_sum_rate;
    }
    const double plain_rate = info->output == BB_FORMAT_FP64 ? fp64_rate : fp32_rate;
    return info->rounds ? emulated_rate / (double)info->products : plain_rate;
}

static double filling_seconds(const bb_slope_covariance_cost *cost, double layers)
{
    return cost->entries * seconds_per_entry + cost->direct_entries * layers * seconds_per_distance;
}

// Memory of a pipeline on each GPU; 0 on the cpu. A star that does not know its tilt has two.
static double device_bytes(const bb_ao_study *study, const extent *span, bb_index pipeline)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    const bb_guide_star_config *stars = study->guide_stars.items;
    bool ltao = study->correction == (int)BB_AO_CORRECTION_LTAO; // solves the first target alone
    bb_index rows = (bb_index)(ltao ? span->m / (double)study->targets.count : span->m);
    for (bb_index s = 0; s < study->guide_stars.count; ++s) {
        rows += bb_guide_star_kinds[stars[s].kind]->tilt_unknown ? 2 : 0;
    }
    return bb_factor_device_need(&study->solver.common, &pipelines[pipeline], study->common.device,
                                 (bb_index)span->n, rows);
}

// On one GPU, with the rates of an H200.
static double device_seconds(const bb_ao_study *study, const extent *span)
{
    double seconds = 0.0;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_factor_pipeline *pipeline = (const bb_factor_pipeline *)study->pipelines.items + p;
        double shares[BB_VARIANT_COUNT] = {0.0};
        shares[pipeline->arithmetic] = 1.0;
        if (device_bytes(study, span, p) > 0.0) {
            double trials = bb_factor_pipeline_trials(pipeline);
            double flops = bb_tile_cholesky_flops((bb_index)span->n, (bb_index)span->m);
            seconds += trials * (flops * bb_variant_relative_cost(shares) / device_rate +
                                 2.0 * span->n * span->n * span->m / device_rate +
                                 device_transfer * span->n * span->m);
        }
    }
    return seconds;
}

// From the residual covariances of all pipelines to their Strehl ratios, on one core.
static double score_seconds(const bb_ao_study *study, const extent *span)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    double scores = 1.0; // of the reference's noise
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        scores += bb_factor_pipeline_trials(&pipelines[p]);
    }
    double seconds = span->projections / fp64_rate;
    if (scores_pairs(study)) {
        seconds += span->pairs.flops * seconds_per_pair_flop +
                   span->pairs.exponentials * seconds_per_exponential;
    }
    return scores * seconds;
}

// Of what the threads share, on one core. Every pipeline fills a triangle of Cmm and Ctm; the score
// fills all of Cmm and, for each estimate, Ctm.
static double core_seconds(const bb_ao_study *study, const extent *span)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    double count = (double)study->pipelines.count;
    double total = filling_seconds(&span->cmm, span->layers);
    double seconds =
        (0.5 * count + 1.0) * total + 2.0 * count * filling_seconds(&span->ctm, span->layers);
    const bb_index reference = bb_factor_pipelines_reference(&study->pipelines);
    const bool alone = device_bytes(study, span, reference) <= 0.0;
    seconds += alone ? 2.0 * span->n * span->n * span->m / fp64_rate : 0.0; // of its noise
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        double factor = bb_tile_cholesky_flops((bb_index)span->n, 0);
        double solve = bb_tile_cholesky_flops((bb_index)span->n, (bb_index)span->m) - factor;
        bool wide =
            bb_variant_describe((bb_variant)pipelines[p].arithmetic)->output == BB_FORMAT_FP64;
        if (device_bytes(study, span, p) > 0.0) {
            continue;
        }
        seconds += factor / rate_of(&pipelines[p]) + solve / (wide ? fp64_rate : fp32_rate) +
                   2.0 * span->n * (span->n * span->m + span->squared_m) / fp64_rate;
    }
    return seconds;
}

// The reference with the true profile, where the others had a learned one; beside all estimates.
static bb_status solve_again(const bb_ao_study *study, const extent *span, double *held,
                             double *seconds)
{
    bb_status status = BB_OK;
    const bb_index reference = bb_factor_pipelines_reference(&study->pipelines);
    const bb_factor_pipeline *pipeline =
        (const bb_factor_pipeline *)study->pipelines.items + reference;
    const double total = filling_seconds(&span->cmm, span->layers);
    const double on_device = device_bytes(study, span, reference);
    const double flops = bb_tile_cholesky_flops((bb_index)span->n, (bb_index)span->m);
    bb_factor_need need;
    BB_TRY(bb_factor_pipeline_need(&study->solver.common, pipeline, (bb_index)span->n,
                                   (bb_index)span->m, &need));
    const double estimates = 8.0 * (double)(study->pipelines.count + 1) * span->n * span->m;
    *held = fmax(*held, (on_device > 0.0 ? 0.0 : need.host_bytes) + estimates);
    *seconds += 1.5 * total + 2.0 * filling_seconds(&span->ctm, span->layers) +
                (on_device > 0.0 ? 0.0 : flops / rate_of(pipeline)) +
                2.0 * span->n * (span->n * span->m + span->squared_m) / fp64_rate;
done:
    return status;
}

// Adds a line a pipeline; finds the largest sum of one factor and the estimates made until then,
// and the seconds of one core that promises and refinements add.
static bb_status list_operators(const bb_ao_study *study, const extent *span, bb_plan *plan,
                                double *held, double *seconds)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    double total = filling_seconds(&span->cmm, span->layers);
    double scoring = total + 2.0 * span->n * span->n * span->m / fp64_rate;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        bb_factor_need need;
        BB_TRY(bb_factor_pipeline_need(&study->solver.common, &pipelines[p], (bb_index)span->n,
                                       (bb_index)span->m, &need));
        // Draws follow when every pipeline has an estimate.
        bb_index estimated = pipelines[p].draws > 1 ? study->pipelines.count : p + 1;
        double estimates = 8.0 * (double)estimated * span->n * span->m;
        double factor =
            bb_tile_cholesky_flops((bb_index)span->n, (bb_index)span->m) / emulated_rate;
        double on_device = device_bytes(study, span, p);
        plan->device_bytes = fmax(plan->device_bytes, on_device);
        if (on_device > 0.0) { // but the norms of tiles, and the estimate of a trial beside
            double beside = need.trials > 1.0 ? 1.0 : 0.0;
            *held = fmax(*held, estimates + 8.0 * beside * span->n * span->m);
            *seconds += 0.5 * beside * total;
        } else {
            *held = fmax(*held, need.host_bytes + estimates);
            *seconds += need.passes * total + need.refinement_flops / fp64_rate +
                        (need.trials - 1.0) * (factor + total + scoring);
        }
        BB_TRY(
            bb_plan_add(plan, pipelines[p].name, "operator %.1f MB", 1e-6 * need.operator_bytes));
    }
    if (span->learn.solves_again) {
        BB_TRY(solve_again(study, span, held, seconds));
    }
done:
    return status;
}

static double dump_bytes(const char *names, const extent *span, bb_index pipelines)
{
    double values = 0.0;
    values += bb_dump_wanted(names, "Cmm") ? span->n * span->n : 0.0;
    values += bb_dump_wanted(names, "Ctm") ? span->n * span->m : 0.0;
    values += bb_dump_wanted(names, "Ctt") ? span->squared_m : 0.0;
    values += bb_dump_wanted(names, "R") ? (double)pipelines * span->n * span->m : 0.0;
    return 8.0 * values;
}

static bb_status plan_seeing(const bb_ao_seeing *seeing, bb_plan *plan)
{
    bb_status status = BB_OK;
    BB_TRY(bb_plan_add(plan, "seeing", "%.3f arcsec, r0 %.4f m, theta0 %.2f arcsec, at 500 nm",
                       seeing->seeing_arcsec, seeing->r0_m, seeing->theta0_arcsec));
    if (isnan(seeing->tau0_s)) {
        BB_TRY(bb_plan_add(plan, "tau0",
                           "unknown: the layers have no wind (error_terms.wind_m_per_s)"));
    } else {
        BB_TRY(bb_plan_add(plan, "tau0", "%.2f ms at 500 nm", 1e3 * seeing->tau0_s));
    }
done:
    return status;
}

bb_status bb_ao_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_ao_study *ao = study;
    double factor_problem = 0.0;
    double added = 0.0;
    extent span;
    BB_TRY(measure(ao, (double)options->threads, &span));
    BB_TRY(list_operators(ao, &span, plan, &factor_problem, &added));
    BB_TRY(bb_plan_add(plan, "measurements", "%.0f, truth sensors %.0f", span.n, span.m));
    BB_TRY(bb_plan_add(plan, "layers", "%.0f", span.layers));
    BB_TRY(plan_seeing(&span.seeing, plan));
    BB_TRY(bb_plan_add(plan, "score", "%s%s", bb_score_names[ao->score],
                       ao->error_terms.fitting ? ", with fitting" : ", without fitting"));
    if (span.mask_edge > 0) {
        BB_TRY(bb_plan_add(plan, "pupil", "a mask of %td x %td pixels", span.mask_edge,
                           span.mask_edge));
    }
    if (span.learn.trials > 0.0) {
        BB_TRY(bb_plan_add(plan, "learning", "%.0f layers at %.0f outer scales", span.learn.layers,
                           span.learn.trials));
    }
    if (ao->monte_carlo.frames > 0) {
        BB_TRY(bb_plan_add(plan, "frames", "%td on screens of %td and %td points along an edge",
                           ao->monte_carlo.frames, span.screen.points, span.screen.fine_points));
    }
    factor_problem = fmax(factor_problem, bb_factor_spectrum_bytes(&ao->solver.common, span.n));
    plan->host_bytes =
        host_bytes(ao, &span, factor_problem) + frame_bytes(ao, &span, (double)options->threads);
    plan->output_bytes = output_bytes(ao) + dump_bytes(options->dump, &span, ao->pipelines.count);
    plan->estimated_seconds =
        0.2 + device_seconds(ao, &span) + bb_factor_spectrum_seconds(&ao->solver.common, span.n) +
        seconds_per_actuator3 * span.actuator3 + span.learn.seconds +
        (ao->error_terms.fitting ? seconds_per_table : 0.0) +
        (score_seconds(ao, &span) + core_seconds(ao, &span) + frame_seconds(ao, &span) + added) /
            (double)options->threads;
done:
    return status;
}

bb_status bb_ao_plan_fits(const bb_ao_study *study)
{
    bb_status status = BB_OK;
    double bytes = 0.0;
    extent span;
    BB_TRY(measure(study, 1.0, &span));
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        bytes = fmax(bytes, device_bytes(study, &span, p));
    }
    BB_TRY(bb_factor_device_fits(&study->solver.common, bytes));
done:
    return status;
}
