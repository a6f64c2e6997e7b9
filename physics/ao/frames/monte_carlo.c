// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/frames/monte_carlo.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/mirrors/mirror_shape.h"

#include <cblas.h>
#include <complex.h>
#include <math.h>
#include <string.h>

enum { MOST_BATCHES = 64 };

// What all batches share. A frame's numbers stand in a row of `numbers`: per estimate the variance,
// then correctable and whole by wavelength; then the structure functions; then the fitting of each
// target.
typedef struct campaign {
    const bb_frame_sampler *sampler;
    const bb_tomography *tomography;
    const bb_monte_carlo_task *task;
    bb_mirror_shape *shapes; // [targets]
    bb_index columns;        // of `numbers`
    double *numbers;         // [frames][columns]
    bb_index batch;          // frames of a batch
    bb_index batches;
    bb_index pictures; // estimates with an image
    double *images;    // [batches][pictures][psf_pixels^2]
} campaign;

// Scratch of one batch.
typedef struct bench {
    bb_frame frame;
    double *slopes;  // [largest m]
    double *volts;   // [most actuators]
    double *wanted;  // [most actuators] by the truth
    double *shape;   // [most points]^2
    double *surface; // [most points]^2
} bench;

static bb_index most(bb_index a, bb_index b)
{
    return a > b ? a : b;
}

static bb_status prepare_bench(const campaign *all, bench *out)
{
    bb_status status = BB_OK;
    bb_index slopes = 0;
    bb_index actuators = 0;
    bb_index points = 0;
    for (bb_index t = 0; t < all->tomography->target_count; ++t) {
        const bb_point_spread_grid *grid =
            bb_point_spread_layout(all->tomography->targets[t].spread);
        slopes = most(slopes, grid->measurement_count);
        actuators = most(actuators, grid->actuator_count);
        points = most(points, grid->pupil_points);
    }
    BB_TRY(bb_frame_create(all->sampler, &out->frame));
    BB_TRY(BB_ALLOCATE(slopes, &out->slopes));
    BB_TRY(BB_ALLOCATE(actuators, &out->volts));
    BB_TRY(BB_ALLOCATE(actuators, &out->wanted));
    BB_TRY(BB_ALLOCATE(points * points, &out->shape));
    BB_TRY(BB_ALLOCATE(points * points, &out->surface));
done:
    return status;
}

static void release_bench(bench *timer)
{
    bb_frame_release(&timer->frame);
    BB_RELEASE(&timer->slopes);
    BB_RELEASE(&timer->volts);
    BB_RELEASE(&timer->wanted);
    BB_RELEASE(&timer->shape);
    BB_RELEASE(&timer->surface);
}

// |sum P exp(i phi)|^2 / (sum P)^2.
static double frame_strehl(const bb_matrix_source *pupil, const double *transmission,
                           const double *wavefront, double wavelength_m)
{
    const double wavenumber = 2.0 * BB_PI / wavelength_m;
    double re = 0.0;
    double im = 0.0;
    double sum = 0.0;
    for (bb_index k = 0; k < pupil->rows * pupil->columns; ++k) {
        if (transmission[k] > 0.0) {
            re += transmission[k] * cos(wavenumber * wavefront[k]);
            im += transmission[k] * sin(wavenumber * wavefront[k]);
            sum += transmission[k];
        }
    }
    return (re * re + im * im) / (sum * sum);
}

// Variance over the pupil, the mean (piston) taken out.
static double variance(const double *transmission, const double *wavefront, bb_index points)
{
    double weight = 0.0;
    double sum = 0.0;
    double squares = 0.0;
    for (bb_index k = 0; k < points; ++k) {
        weight += transmission[k];
        sum += transmission[k] * wavefront[k];
        squares += transmission[k] * wavefront[k] * wavefront[k];
    }
    return squares / weight - (sum / weight) * (sum / weight);
}

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

// Dx times slopes.
static void command(const campaign *all, bb_index index, const double *slopes, double *volts)
{
    const bb_deformable_mirror *mirror =
        bb_point_spread_mirror(all->tomography->targets[index].spread);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)mirror->actuator_count,
                (int)mirror->measurement_count, 1.0, mirror->projector,
                (int)mirror->measurement_count, slopes, 1, 0.0, volts, 1);
}

static bb_status shape_mirror(const campaign *all, bb_index index, const double *slopes,
                              bench *timer)
{
    command(all, index, slopes, timer->volts);
    return bb_mirror_shape_make(&all->shapes[index], timer->volts, timer->shape);
}

// What the mirror of an estimate is told, into volts.
static void estimate_commands(const campaign *all, const bb_monte_carlo_estimate *estimate,
                              bench *timer)
{
    const bb_tomography_target *target = &all->tomography->targets[estimate->target];
    const bb_deformable_mirror *mirror = bb_point_spread_mirror(target->spread);
    const bool commands = estimate->kind == BB_RESIDUAL_COMMANDS;
    const int n = (int)target->ctm->columns;
    const int rows = commands ? (int)mirror->actuator_count : (int)target->ctm->rows;
    cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, n, 1.0, estimate->r, n, timer->frame.guides, 1,
                0.0, commands ? timer->volts : timer->slopes, 1);
    if (!commands) {
        command(all, estimate->target, timer->slopes, timer->volts);
    }
}

// One estimate on one frame: its numbers [1 + 2 wavelengths], and the image of its batch.
static bb_status rate(const campaign *all, const bb_monte_carlo_estimate *estimate, bench *timer,
                      double *numbers, double *image)
{
    bb_status status = BB_OK;
    const bb_monte_carlo_task *task = all->task;
    const bb_tomography_target *target = &all->tomography->targets[estimate->target];
    const bb_matrix_source *pupil = bb_point_spread_pupil(target->spread);
    const double *transmission = bb_point_spread_transmission(target->spread);
    const bb_index points = pupil->rows * pupil->columns;
    const bb_mirror_shape *shape = &all->shapes[estimate->target];
    estimate_commands(all, estimate, timer);
    BB_TRY(bb_mirror_shape_make(shape, timer->volts, timer->shape));
    for (bb_index k = 0; k < points; ++k) {
        timer->surface[k] = timer->frame.phase[estimate->target][k] - timer->shape[k];
    }
    command(all, estimate->target, timer->frame.truth[estimate->target], timer->wanted);
    for (bb_index i = 0; i < bb_point_spread_layout(target->spread)->actuator_count; ++i) {
        timer->volts[i] = timer->wanted[i] - timer->volts[i];
    }
    BB_TRY(bb_mirror_shape_make(shape, timer->volts, timer->shape));
    numbers[0] = variance(transmission, timer->shape, points);
    for (bb_index w = 0; w < task->wavelength_count; ++w) {
        const double wavelength = task->wavelengths_m[w];
        numbers[1 + w] = frame_strehl(pupil, transmission, timer->shape, wavelength);
        numbers[1 + task->wavelength_count + w] =
            frame_strehl(pupil, transmission, timer->surface, wavelength);
    }
    if (image != NULL) {
        BB_TRY(add_image(bb_point_spread_layout(target->spread), transmission, timer->surface,
                         task->wavelengths_m[0], task->psf_pixels, image));
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

static void rate_screens(const campaign *all, const bb_frame *frame, double *numbers)
{
    const bb_monte_carlo_task *task = all->task;
    const bb_tomography_target *target = &all->tomography->targets[0];
    const bb_point_spread_grid *grid = bb_point_spread_layout(target->spread);
    const bb_atmosphere *atmosphere = &all->tomography->atmosphere;
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

// What the mirror leaves of the phase towards each target.
static bb_status rate_mirrors(const campaign *all, bench *timer, double *numbers)
{
    bb_status status = BB_OK;
    for (bb_index t = 0; t < all->tomography->target_count; ++t) {
        const bb_tomography_target *target = &all->tomography->targets[t];
        const bb_index points = bb_point_spread_layout(target->spread)->pupil_points;
        const double pitch = target->truth.sensors[0].size_m;
        const double radian = BB_R0_WAVELENGTH_M / (2.0 * BB_PI);
        BB_TRY(shape_mirror(all, t, timer->frame.truth[t], timer));
        for (bb_index k = 0; k < points * points; ++k) {
            timer->surface[k] = timer->frame.phase[t][k] - timer->shape[k];
        }
        numbers[t] = variance(bb_point_spread_transmission(target->spread), timer->surface,
                              points * points) /
                     (radian * radian * pow(pitch / all->tomography->atmosphere.r0_m, 5.0 / 3.0));
    }
done:
    return status;
}

static bb_status run_batch(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    campaign *all = context;
    const bb_monte_carlo_task *task = all->task;
    const bb_index pixels = task->psf_pixels * task->psf_pixels;
    const bb_index stride = 1 + 2 * task->wavelength_count;
    bench timer = {0};
    BB_TRY(prepare_bench(all, &timer));
    for (bb_index f = begin; f < end; ++f) {
        double *numbers = all->numbers + f * all->columns;
        double *image = all->images + begin / all->batch * all->pictures * pixels;
        BB_TRY(bb_frame_draw(all->sampler, task->seed, (uint64_t)f, &timer.frame));
        for (bb_index e = 0; e < task->estimate_count; ++e) {
            const bb_monte_carlo_estimate *estimate = &task->estimates[e];
            BB_TRY(rate(all, estimate, &timer, numbers + e * stride,
                        estimate->psf != NULL ? image : NULL));
            image += estimate->psf != NULL ? pixels : 0;
        }
        numbers += task->estimate_count * stride;
        rate_screens(all, &timer.frame, numbers);
        BB_TRY(rate_mirrors(all, &timer, numbers + task->separation_count));
        bb_log_progress_within(f + 1, task->frames); // batches are taken in order
    }
done:
    release_bench(&timer);
    return status;
}

static bb_frame_mean average(const campaign *all, bb_index column)
{
    const bb_index frames = all->task->frames;
    bb_frame_mean out = {0.0, NAN};
    double squares = 0.0;
    for (bb_index f = 0; f < frames; ++f) {
        out.mean += all->numbers[f * all->columns + column] / (double)frames;
    }
    for (bb_index f = 0; f < frames; ++f) {
        const double away = all->numbers[f * all->columns + column] - out.mean;
        squares += away * away;
    }
    if (frames > 1) {
        out.error = sqrt(squares / (double)(frames - 1) / (double)frames);
    }
    return out;
}

static void summarise(const campaign *all)
{
    const bb_monte_carlo_task *task = all->task;
    const bb_index stride = 1 + 2 * task->wavelength_count;
    const bb_index pixels = task->psf_pixels * task->psf_pixels;
    bb_index picture = 0;
    for (bb_index e = 0; e < task->estimate_count; ++e) {
        bb_monte_carlo_estimate *estimate = &task->estimates[e];
        estimate->residual_m2 = average(all, e * stride);
        for (bb_index w = 0; w < task->wavelength_count; ++w) {
            estimate->correctable[w] = average(all, e * stride + 1 + w);
            estimate->total[w] = average(all, e * stride + 1 + task->wavelength_count + w);
        }
        for (bb_index k = 0; estimate->psf != NULL && k < pixels; ++k) {
            double sum = 0.0;
            for (bb_index b = 0; b < all->batches; ++b) {
                sum += all->images[(b * all->pictures + picture) * pixels + k];
            }
            estimate->psf[k] = sum / (double)task->frames;
        }
        picture += estimate->psf != NULL ? 1 : 0;
    }
    for (bb_index s = 0; s < task->separation_count; ++s) {
        task->structure[s] = average(all, task->estimate_count * stride + s);
    }
    for (bb_index t = 0; t < all->tomography->target_count; ++t) {
        task->fitting[t] = average(all, task->estimate_count * stride + task->separation_count + t);
    }
}

static bb_status make_shapes(campaign *all)
{
    bb_status status = BB_OK;
    double *position = NULL;
    BB_TRY(BB_ZEROED(all->tomography->target_count, &all->shapes));
    for (bb_index t = 0; t < all->tomography->target_count; ++t) {
        const bb_point_spread *spread = all->tomography->targets[t].spread;
        const bb_point_spread_grid *grid = bb_point_spread_layout(spread);
        BB_RELEASE(&position);
        BB_TRY(BB_ALLOCATE(grid->pupil_points, &position));
        const bb_index middle = grid->pupil_points / 2;
        for (bb_index i = 0; i < grid->pupil_points; ++i) {
            position[i] = grid->pixel_m * (double)(i - middle);
        }
        BB_TRY(bb_mirror_shape_create(bb_point_spread_mirror(spread), grid->pupil_points, position,
                                      &all->shapes[t]));
    }
done:
    BB_RELEASE(&position);
    return status;
}

bb_status bb_monte_carlo_run(const bb_frame_sampler *sampler, const bb_monte_carlo_task *task)
{
    bb_status status = BB_OK;
    campaign all = {
        .sampler = sampler, .tomography = bb_frame_sampler_tomography(sampler), .task = task};
    BB_REQUIRE(task->frames > 0, BB_INVALID, "%td frames, expected at least one", task->frames);
    all.columns = task->estimate_count * (1 + 2 * task->wavelength_count) + task->separation_count +
                  all.tomography->target_count;
    all.batch = (task->frames + MOST_BATCHES - 1) / MOST_BATCHES;
    all.batches = (task->frames + all.batch - 1) / all.batch;
    for (bb_index e = 0; e < task->estimate_count; ++e) {
        all.pictures += task->estimates[e].psf != NULL ? 1 : 0;
    }
    BB_TRY(make_shapes(&all));
    BB_TRY(BB_ALLOCATE(task->frames * all.columns, &all.numbers));
    BB_TRY(
        BB_ZEROED(all.batches * all.pictures * task->psf_pixels * task->psf_pixels, &all.images));
    BB_TRY(bb_thread_ranges(task->frames, all.batch, run_batch, &all));
    summarise(&all);
done:
    for (bb_index t = 0; all.shapes != NULL && t < all.tomography->target_count; ++t) {
        bb_mirror_shape_release(&all.shapes[t]);
    }
    BB_RELEASE(&all.shapes);
    BB_RELEASE(&all.numbers);
    BB_RELEASE(&all.images);
    return status;
}

bb_need bb_monte_carlo_need(const bb_frame_sampler_extent *frames, double estimates,
                            double wavelengths, double pictures, bb_index psf_pixels,
                            double threads)
{
    static const double seconds_per_phasor = 1.0e-7; // of a point of the pupil, by both wavefronts
    const double edge = (double)psf_pixels;
    const double points = frames->squared_points;
    const double batches = fmin(frames->frames, MOST_BATCHES);
    const double columns = estimates * (1.0 + 2.0 * wavelengths);
    const bb_need sums = {.host_bytes = sizeof(double) * (frames->frames * columns +
                                                          batches * pictures * edge * edge)};
    // Each thread has two wavefronts, and an image's field, two factors and amplitudes.
    const double picture =
        pictures > 0.0 ? 2.0 * (points + 2.0 * edge * sqrt(points) + edge * edge) : 0.0;
    const bb_need rating = {.host_bytes =
                                fmin(threads, batches) * sizeof(double) * (2.0 * points + picture),
                            .seconds = seconds_per_phasor * frames->frames * estimates *
                                       wavelengths * points / threads};
    return bb_need_together(sums, bb_need_together(rating, bb_frame_need(frames, threads)));
}
