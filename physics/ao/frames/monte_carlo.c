// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/frames/monte_carlo.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"

#include <cblas.h>
#include <complex.h>
#include <math.h>
#include <string.h>

enum { MOST_BATCHES = 64 };

// State shared by all batches. Each frame has a row of `numbers`: per estimate the variance, then
// correctable and whole by wavelength; then the structure functions; then the fitting error of each
// target.
typedef struct campaign {
    const bb_frame_sampler *sampler;
    const bb_tomography *tomography;
    const bb_monte_carlo_task *task;
    bb_mirror_shape *shapes;     // [targets]
    bb_mirror_surface *surfaces; // [targets] of mirrors that correct together, or NULL
    bb_index columns;            // width of `numbers`
    double *numbers;             // [frames][columns]
    bb_index batch;              // frames per batch
    bb_index batches;
    bb_index pictures; // estimates with an image
    double *images;    // [batches][pictures][psf_pixels^2]
} campaign;

// Adds |sum P exp(i phi) exp(-2 pi i (u x + v y) / N)|^2 / (sum P)^2 over the central pixels.
static bb_status add_image(const bb_point_spread_grid *grid, const double *transmission,
                           const double *wavefront, double wavelength_m, bb_index pixels,
                           double *image)
{
    bb_status status = BB_OK;
    const int points = (int)grid->pupil_points;
    const int edge = (int)pixels;
    const double complex one = 1.0;
    const double complex zero = 0.0;
    double complex *field = NULL;      // [points][points]
    double complex *turn = NULL;       // [edge][points]
    double complex *half = NULL;       // [edge][points]
    double complex *all_values = NULL; // [edge][edge]
    double sum = 0.0;
    BB_TRY(BB_ALLOCATE((bb_index)points * points, &field));
    BB_TRY(BB_ALLOCATE((bb_index)edge * points, &turn));
    BB_TRY(BB_ALLOCATE((bb_index)edge * points, &half));
    BB_TRY(BB_ALLOCATE((bb_index)edge * edge, &all_values));
    for (bb_index k = 0; k < (bb_index)points * points; ++k) {
        field[k] = transmission[k] * cexp(2.0 * BB_PI * I * wavefront[k] / wavelength_m);
        sum += transmission[k];
    }
    const bb_index centre = edge / 2;
    for (bb_index u = 0; u < edge; ++u) {
        for (bb_index i = 0; i < points; ++i) {
            turn[u * points + i] =
                cexp(-2.0 * BB_PI * I * (double)((u - centre) * i) / (double)grid->pixels);
        }
    }
    cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, edge, points, points, &one, turn, points,
                field, points, &zero, half, points);
    cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasTrans, edge, edge, points, &one, half, points,
                turn, points, &zero, all_values, edge);
    for (bb_index k = 0; k < (bb_index)edge * edge; ++k) {
        const double amplitude = cabs(all_values[k]) / sum;
        image[k] += amplitude * amplitude;
    }
done:
    BB_RELEASE(&field);
    BB_RELEASE(&turn);
    BB_RELEASE(&half);
    BB_RELEASE(&all_values);
    return status;
}

static bb_status shape_mirror(const campaign *work, bb_index index, const double *slopes,
                              bb_frame_scratch *scratch)
{
    return bb_frame_score_shape(&work->shapes[index], slopes, scratch->volts, scratch->shape);
}

// Computes the commands of an estimate: into volts for the target's own mirror, into commands for
// mirrors that correct together.
static void estimate_commands(const campaign *work, const bb_monte_carlo_estimate *estimate,
                              bb_frame_scratch *scratch)
{
    const bb_tomography_target *target = &work->tomography->targets[estimate->target];
    const bb_deformable_mirror *mirror = bb_point_spread_mirror(target->spread);
    const bool commands = estimate->kind == BB_RESIDUAL_COMMANDS;
    const int n = (int)target->ctm->columns;
    const int rows = commands ? (int)mirror->actuator_count : (int)target->ctm->rows;
    cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, n, 1.0, estimate->r, n, scratch->frame.guides, 1,
                0.0, commands ? scratch->volts : scratch->slopes, 1);
    if (!commands) {
        bb_frame_score_command(&work->shapes[estimate->target], scratch->slopes, scratch->volts);
    }
    if (work->surfaces != NULL) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans,
                    (int)work->tomography->commands->stack.actuator_count, n, 1.0, estimate->m, n,
                    scratch->frame.guides, 1, 0.0, scratch->commands, 1);
    }
}

// Scores one estimate on one frame: its numbers [1 + 2 wavelengths], zero before, and its batch's
// image.
static bb_status rate(const campaign *work, const bb_monte_carlo_estimate *estimate,
                      bb_frame_scratch *scratch, double *numbers, double *image)
{
    bb_status status = BB_OK;
    const bb_monte_carlo_task *task = work->task;
    const bb_point_spread *spread = work->tomography->targets[estimate->target].spread;
    const bb_frame_optics optics = {work->tomography, work->shapes, work->surfaces,
                                    task->wavelength_count, task->wavelengths_m};
    estimate_commands(work, estimate, scratch);
    BB_TRY(bb_frame_score_add(&optics, estimate->target, 1.0, scratch, numbers));
    if (image != NULL) {
        BB_TRY(add_image(bb_point_spread_layout(spread), bb_point_spread_transmission(spread),
                         scratch->surface, task->wavelengths_m[0], task->psf_pixels, image));
    }
done:
    return status;
}

// Mean square difference over the pairs of points `step` apart along x and along y.
static double structure(const double *transmission, const double *wavefront, bb_index points,
                        bb_index step)
{
    double sum = 0.0;
    double pairs = 0.0;
    for (bb_index j = 0; j < points; ++j) {
        for (bb_index i = 0; i + step < points; ++i) {
            const bb_index ends[2][2] = {{j * points + i, j * points + i + step},
                                         {i * points + j, (i + step) * points + j}};
            for (int axis = 0; axis < 2; ++axis) {
                const bb_index a = ends[axis][0];
                const bb_index b = ends[axis][1];
                if (transmission[a] > 0.0 && transmission[b] > 0.0) {
                    const double difference = wavefront[b] - wavefront[a];
                    sum += difference * difference;
                    pairs += 1.0;
                }
            }
        }
    }
    return pairs > 0.0 ? sum / pairs : NAN;
}

static void rate_screens(const campaign *work, const bb_frame *frame, double *numbers)
{
    const bb_monte_carlo_task *task = work->task;
    const bb_tomography_target *target = &work->tomography->targets[0];
    const bb_point_spread_grid *grid = bb_point_spread_layout(target->spread);
    const bb_atmosphere *atmosphere = &work->tomography->atmosphere;
    const double radian = BB_R0_WAVELENGTH_M / (2.0 * BB_PI);
    for (bb_index s = 0; s < task->separation_count; ++s) {
        const bb_index step = task->separations[s] * grid->pixels_per_lenslet;
        const double expected =
            radian * radian * pow(atmosphere->r0_m, -5.0 / 3.0) *
            bb_structure_function(grid->pixel_m * (double)step, atmosphere->outer_scale_m);
        numbers[s] = structure(bb_point_spread_transmission(target->spread), frame->phase[0],
                               grid->pupil_points, step) /
                     expected;
    }
}

// Scores the fitting residual of the phase towards each target.
static bb_status rate_mirrors(const campaign *work, bb_frame_scratch *scratch, double *numbers)
{
    bb_status status = BB_OK;
    for (bb_index t = 0; t < work->tomography->target_count; ++t) {
        const bb_tomography_target *target = &work->tomography->targets[t];
        const bb_index points = bb_point_spread_layout(target->spread)->pupil_points;
        const double pitch = target->truth.sensors[0].size_m;
        const double radian = BB_R0_WAVELENGTH_M / (2.0 * BB_PI);
        BB_TRY(shape_mirror(work, t, scratch->frame.truth[t], scratch));
        for (bb_index k = 0; k < points * points; ++k) {
            scratch->surface[k] = scratch->frame.phase[t][k] - scratch->shape[k];
        }
        numbers[t] = bb_frame_score_variance(bb_point_spread_transmission(target->spread),
                                             scratch->surface, points * points) /
                     (radian * radian * pow(pitch / work->tomography->atmosphere.r0_m, 5.0 / 3.0));
    }
done:
    return status;
}

static bb_status run_batch(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    campaign *work = context;
    const bb_monte_carlo_task *task = work->task;
    const bb_index pixels = task->psf_pixels * task->psf_pixels;
    const bb_index stride = 1 + 2 * task->wavelength_count;
    bb_frame_scratch scratch = {0};
    BB_TRY(bb_frame_scratch_create(work->sampler, &scratch));
    for (bb_index f = begin; f < end; ++f) {
        double *numbers = work->numbers + f * work->columns;
        double *image = work->images + begin / work->batch * work->pictures * pixels;
        BB_TRY(bb_frame_draw(work->sampler, task->seed, (uint64_t)f, &scratch.frame));
        for (bb_index e = 0; e < task->estimate_count; ++e) {
            const bb_monte_carlo_estimate *estimate = &task->estimates[e];
            BB_TRY(rate(work, estimate, &scratch, numbers + e * stride,
                        estimate->psf != NULL ? image : NULL));
            image += estimate->psf != NULL ? pixels : 0;
        }
        numbers += task->estimate_count * stride;
        rate_screens(work, &scratch.frame, numbers);
        BB_TRY(rate_mirrors(work, &scratch, numbers + task->separation_count));
        bb_log_progress_within(f + 1, task->frames); // batches run in order
    }
done:
    bb_frame_scratch_release(&scratch);
    return status;
}

static bb_frame_mean average(const campaign *work, bb_index column)
{
    return bb_frame_mean_of(work->numbers + column, work->columns, work->task->frames);
}

static void summarise(const campaign *work)
{
    const bb_monte_carlo_task *task = work->task;
    const bb_index stride = 1 + 2 * task->wavelength_count;
    const bb_index pixels = task->psf_pixels * task->psf_pixels;
    bb_index picture = 0;
    for (bb_index e = 0; e < task->estimate_count; ++e) {
        bb_monte_carlo_estimate *estimate = &task->estimates[e];
        estimate->residual_m2 = average(work, e * stride);
        for (bb_index w = 0; w < task->wavelength_count; ++w) {
            estimate->correctable[w] = average(work, e * stride + 1 + w);
            estimate->total[w] = average(work, e * stride + 1 + task->wavelength_count + w);
        }
        for (bb_index k = 0; estimate->psf != NULL && k < pixels; ++k) {
            double sum = 0.0;
            for (bb_index b = 0; b < work->batches; ++b) {
                sum += work->images[(b * work->pictures + picture) * pixels + k];
            }
            estimate->psf[k] = sum / (double)task->frames;
        }
        picture += estimate->psf != NULL ? 1 : 0;
    }
    for (bb_index s = 0; s < task->separation_count; ++s) {
        task->structure[s] = average(work, task->estimate_count * stride + s);
    }
    for (bb_index t = 0; t < work->tomography->target_count; ++t) {
        task->fitting[t] =
            average(work, task->estimate_count * stride + task->separation_count + t);
    }
}

bb_status bb_monte_carlo_run(const bb_frame_sampler *sampler, const bb_monte_carlo_task *task)
{
    bb_status status = BB_OK;
    campaign work = {
        .sampler = sampler, .tomography = bb_frame_sampler_tomography(sampler), .task = task};
    BB_REQUIRE(task->frames > 0, BB_INVALID, "%td frames, expected at least one", task->frames);
    work.columns = task->estimate_count * (1 + 2 * task->wavelength_count) +
                   task->separation_count + work.tomography->target_count;
    work.batch = (task->frames + MOST_BATCHES - 1) / MOST_BATCHES;
    work.batches = (task->frames + work.batch - 1) / work.batch;
    for (bb_index e = 0; e < task->estimate_count; ++e) {
        work.pictures += task->estimates[e].psf != NULL ? 1 : 0;
    }
    BB_TRY(bb_frame_score_shapes(work.tomography, &work.shapes));
    BB_TRY(bb_frame_score_surfaces(work.tomography, &work.surfaces));
    BB_TRY(BB_ZEROED(task->frames * work.columns, &work.numbers));
    BB_TRY(BB_ZEROED(work.batches * work.pictures * task->psf_pixels * task->psf_pixels,
                     &work.images));
    BB_TRY(bb_thread_ranges(task->frames, work.batch, run_batch, &work));
    summarise(&work);
done:
    bb_frame_score_shapes_release(work.tomography, &work.shapes);
    bb_frame_score_surfaces_release(work.tomography, &work.surfaces);
    BB_RELEASE(&work.numbers);
    BB_RELEASE(&work.images);
    return status;
}

bb_need bb_monte_carlo_need(const bb_frame_sampler_extent *frames, double estimates,
                            double wavelengths, double pictures, bb_index psf_pixels,
                            double threads)
{
    static const double seconds_per_phasor = 1.0e-7; // per point of the pupil, for both wavefronts
    const double edge = (double)psf_pixels;
    const double points = frames->squared_points;
    const double batches = fmin(frames->frames, MOST_BATCHES);
    const double columns = estimates * (1.0 + 2.0 * wavelengths);
    const bb_need sums = {.host_bytes = sizeof(double) * (frames->frames * columns +
                                                          batches * pictures * edge * edge)};
    // Per thread: two wavefronts; for an image also a field, two phase-factor matrices, amplitudes.
    const double picture =
        pictures > 0.0 ? 2.0 * (points + 2.0 * edge * sqrt(points) + edge * edge) : 0.0;
    const bb_need rating = {.host_bytes =
                                fmin(threads, batches) * sizeof(double) * (2.0 * points + picture),
                            .seconds = seconds_per_phasor * frames->frames * estimates *
                                       wavelengths * points / threads};
    return bb_need_together(sums, bb_need_together(rating, bb_frame_need(frames, threads)));
}
