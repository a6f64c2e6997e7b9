// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/frames/time_domain.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"

#include <cblas.h>
#include <math.h>
#include <stdbool.h>

static const double tolerance = 1e-9; // in frames: 4 ms at 500 Hz are two frames

// L: a command is applied at least one frame after it is computed in closed loop.
static bb_index lag_of(double delay, double exposure)
{
    return (bb_index)ceil(delay + 0.5 * exposure - tolerance);
}

bb_status bb_frame_controller_create(const bb_control_law *law, bb_frame_controller *out)
{
    bb_status status = BB_OK;
    bb_frame_controller loop = {.law = law, .lag = lag_of(law->delay, law->exposure)};
    const double half = 0.5 * law->exposure;
    BB_REQUIRE(law->gain > 0.0 && law->gain <= 1.0 && law->exposure >= 0.0 &&
                   law->exposure <= 1.0 + tolerance && law->delay >= half - tolerance &&
                   (law->seen == NULL || law->delay > half + tolerance),
               BB_INVALID, "invalid loop: gain %g, %g frames of exposure and %g frames of delay%s",
               law->gain, law->exposure, law->delay, law->seen != NULL ? ", closed" : "");
    if (law->exposure > 0.0) {
        loop.share = fmax(0.0, (half + (double)loop.lag - 1.0 - law->delay) / law->exposure);
    }
    BB_TRY(BB_ZEROED((loop.lag + 1) * law->rows, &loop.commands));
    if (law->seen != NULL) {
        BB_TRY(BB_ALLOCATE(law->rows, &loop.applied));
        BB_TRY(BB_ALLOCATE(law->slopes, &loop.echo));
        BB_TRY(BB_ALLOCATE(law->slopes, &loop.input));
    }
    if (law->product.multiply != NULL) {
        BB_TRY(BB_ALLOCATE(law->rows + law->product.work, &loop.made));
    }
    *out = loop;
    loop = (bb_frame_controller){0};
done:
    bb_frame_controller_release(&loop);
    return status;
}

void bb_frame_controller_release(bb_frame_controller *loop)
{
    BB_RELEASE(&loop->commands);
    BB_RELEASE(&loop->applied);
    BB_RELEASE(&loop->echo);
    BB_RELEASE(&loop->input);
    BB_RELEASE(&loop->made);
}

bb_need bb_frame_controller_need(double rows, double slopes, double delay)
{
    return (bb_need){.host_bytes = sizeof(double) * ((ceil(delay) + 3.0) * rows + 2.0 * slopes)};
}

void bb_frame_controller_restart(bb_frame_controller *loop)
{
    loop->count = 0;
}

// Returns the command of frame k, NULL before the first.
static const double *command_of(const bb_frame_controller *loop, bb_index k)
{
    return k >= 0 ? loop->commands + k % (loop->lag + 1) * loop->law->rows : NULL;
}

// Slopes of the sensors, and the resulting command of the controller.
static const double *close_loop(bb_frame_controller *loop, const double *turbulence)
{
    const bb_control_law *law = loop->law;
    const double *older = command_of(loop, loop->count - loop->lag);
    const double *newer = command_of(loop, loop->count - loop->lag + 1);
    for (bb_index i = 0; i < law->rows; ++i) {
        loop->applied[i] = 0.0;
        if (older != NULL) {
            loop->applied[i] += (1.0 - loop->share) * older[i];
        }
        if (newer != NULL && loop->share > 0.0) {
            loop->applied[i] += loop->share * newer[i];
        }
    }
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)law->slopes, (int)law->rows, 1.0, law->seen,
                (int)law->rows, loop->applied, 1, 0.0, loop->echo, 1);
    for (bb_index i = 0; i < law->slopes; ++i) {
        const double measured = turbulence[i] - loop->echo[i];
        loop->input[i] = measured + loop->echo[i];
    }
    return loop->input;
}

// Updates command <- (1 - gain) command + gain Q s; a gain of 1 ignores the previous contents.
static void add_product(bb_frame_controller *loop, const double *slopes, double gain,
                        double *command)
{
    const bb_control_law *law = loop->law;
    const bb_control_product *product = &law->product;
    if (product->multiply == NULL) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)law->rows, (int)law->slopes, gain, law->q,
                    (int)law->slopes, slopes, 1, 1.0 - gain, command, 1);
        return;
    }
    product->multiply(product->context, slopes, loop->made + law->rows, loop->made);
    for (bb_index i = 0; i < law->rows; ++i) {
        command[i] = (gain < 1.0 ? (1.0 - gain) * command[i] : 0.0) + gain * loop->made[i];
    }
}

const double *bb_frame_controller_step(bb_frame_controller *loop, const double *turbulence)
{
    const bb_control_law *law = loop->law;
    const double *slopes = law->seen != NULL ? close_loop(loop, turbulence) : turbulence;
    const double *before = command_of(loop, loop->count - 1);
    double *command = loop->commands + loop->count % (loop->lag + 1) * law->rows;
    const bool is_first = loop->count == 0;
    const double gain = is_first ? 1.0 : law->gain;
    for (bb_index i = 0; !is_first && i < law->rows; ++i) {
        command[i] = before[i];
    }
    add_product(loop, slopes, gain, command);
    ++loop->count;
    return command;
}

enum { MOST_BATCHES = 64 };

// First realisation, chosen so that the screens differ from those of monte_carlo and learn.
static const uint64_t first_realisation = (uint64_t)1 << 33;

// State shared by all batches. Each realisation has a row of `numbers`: per estimate the variance,
// then correctable and whole by wavelength.
typedef struct series {
    const bb_frame_sampler *sampler;
    const bb_tomography *tomography;
    const bb_time_domain_task *task;
    bb_mirror_shape *shapes;     // [targets]
    bb_mirror_surface *surfaces; // [targets] of mirrors that correct together, or NULL
    bb_control_law *laws;        // [estimates]
    bool idle;                   // frames before the scored ones have no effect
    bb_index stride;             // numbers per estimate
    double *numbers;             // [realisations][estimates][stride]
} series;

// State of one thread, reused for each of its realisations.
typedef struct runner {
    bb_flow_sampler *flow;
    bb_frame_scratch scratch;
    bb_frame_controller *controllers; // [estimates]
} runner;

static bb_status start_runner(const series *work, runner *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_flow_sampler_create(work->sampler, work->task->wind, &out->flow));
    BB_TRY(bb_frame_scratch_create(work->sampler, &out->scratch));
    BB_TRY(BB_ZEROED(work->task->estimate_count, &out->controllers));
    for (bb_index e = 0; e < work->task->estimate_count; ++e) {
        BB_TRY(bb_frame_controller_create(&work->laws[e], &out->controllers[e]));
    }
done:
    return status;
}

static void stop_runner(const series *work, runner *self)
{
    for (bb_index e = 0; self->controllers != NULL && e < work->task->estimate_count; ++e) {
        bb_frame_controller_release(&self->controllers[e]);
    }
    BB_RELEASE(&self->controllers);
    bb_flow_sampler_destroy(&self->flow);
    bb_frame_scratch_release(&self->scratch);
}

// Voltages of the target's own mirror for a command; a command of mirrors that correct together is
// copied to commands.
static void follow(const series *work, const bb_time_domain_estimate *estimate,
                   const double *command, bb_frame_scratch *scratch)
{
    const bb_mirror_shape *shape = &work->shapes[estimate->target];
    const int m = (int)shape->mirror->measurement_count;
    const int rows = (int)estimate->rows;
    if (estimate->kind == BB_RESIDUAL_COMMANDS) {
        cblas_dcopy(rows, command, 1, scratch->volts, 1);
        return;
    }
    if (estimate->interaction != NULL) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, m, rows, 1.0, estimate->interaction, rows, command,
                    1, 0.0, scratch->slopes, 1);
        cblas_dcopy(rows, command, 1, scratch->commands, 1);
    }
    bb_frame_score_command(shape, estimate->interaction != NULL ? scratch->slopes : command,
                           scratch->volts);
}

static bb_status run_frame(const series *work, bb_index realisation, bb_index frame, runner *self)
{
    bb_status status = BB_OK;
    const bb_time_domain_task *task = work->task;
    const bb_index length = task->settle + task->frames;
    const uint64_t number = first_realisation + (uint64_t)(realisation * length + frame);
    const double time_s = task->frame_s * (double)frame;
    const double share = 1.0 / (double)task->frames; // weight in a realisation's mean
    const bb_frame_optics optics = {work->tomography, work->shapes, work->surfaces,
                                    task->wavelength_count, task->wavelengths_m};
    double *numbers = work->numbers + realisation * task->estimate_count * work->stride;
    BB_TRY(bb_flow_sampler_sample(self->flow, BB_FRAME_GUIDES, time_s, task->exposure_s, task->seed,
                                  number, &self->scratch.frame));
    if (frame >= task->settle) {
        BB_TRY(bb_flow_sampler_sample(self->flow, BB_FRAME_TARGETS, time_s + task->delay_s, 0.0,
                                      task->seed, number, &self->scratch.frame));
    }
    for (bb_index e = 0; e < task->estimate_count; ++e) {
        const double *command =
            bb_frame_controller_step(&self->controllers[e], self->scratch.frame.guides);
        if (frame >= task->settle) {
            follow(work, &task->estimates[e], command, &self->scratch);
            BB_TRY(bb_frame_score_add(&optics, task->estimates[e].target, share, &self->scratch,
                                      numbers + e * work->stride));
        }
    }
done:
    return status;
}

static bb_status run_batch(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const series *work = context;
    const bb_time_domain_task *task = work->task;
    runner self = {0};
    BB_TRY(start_runner(work, &self));
    for (bb_index r = begin; r < end; ++r) {
        bb_flow_sampler_start(self.flow, task->seed, first_realisation + (uint64_t)r);
        for (bb_index e = 0; e < task->estimate_count; ++e) {
            bb_frame_controller_restart(&self.controllers[e]);
        }
        for (bb_index f = work->idle ? task->settle : 0; f < task->settle + task->frames; ++f) {
            BB_TRY(run_frame(work, r, f, &self));
        }
        bb_log_progress_within(r + 1, task->realisations); // batches run in order
    }
done:
    stop_runner(work, &self);
    return status;
}

// Computes losses on the same screens, so that most of the sampling error cancels.
static bb_status compare(const series *work, bb_index e)
{
    bb_status status = BB_OK;
    const bb_time_domain_task *task = work->task;
    const bb_index columns = task->estimate_count * work->stride;
    const bb_time_domain_estimate *estimate = &task->estimates[e];
    double *difference = NULL; // [realisations]
    BB_TRY(BB_ALLOCATE(task->realisations, &difference));
    for (bb_index w = 0; w < task->wavelength_count; ++w) {
        for (bb_index r = 0; r < task->realisations; ++r) {
            const double *numbers = work->numbers + r * columns + 1 + w;
            difference[r] = numbers[estimate->reference * work->stride] - numbers[e * work->stride];
        }
        estimate->loss[w] = bb_frame_mean_of(difference, 1, task->realisations);
    }
done:
    BB_RELEASE(&difference);
    return status;
}

static bb_status summarise(const series *work)
{
    bb_status status = BB_OK;
    const bb_time_domain_task *task = work->task;
    const bb_index columns = task->estimate_count * work->stride;
    for (bb_index e = 0; e < task->estimate_count; ++e) {
        bb_time_domain_estimate *estimate = &task->estimates[e];
        const double *numbers = work->numbers + e * work->stride;
        estimate->residual_m2 = bb_frame_mean_of(numbers, columns, task->realisations);
        for (bb_index w = 0; w < task->wavelength_count; ++w) {
            estimate->correctable[w] =
                bb_frame_mean_of(numbers + 1 + w, columns, task->realisations);
            estimate->total[w] = bb_frame_mean_of(numbers + 1 + task->wavelength_count + w, columns,
                                                  task->realisations);
        }
        BB_TRY(compare(work, e));
    }
done:
    return status;
}

static void make_laws(series *work)
{
    const bb_time_domain_task *task = work->task;
    work->idle = task->gain >= 1.0;
    for (bb_index e = 0; e < task->estimate_count; ++e) {
        const bb_time_domain_estimate *estimate = &task->estimates[e];
        work->laws[e] = (bb_control_law){.rows = estimate->rows,
                                         .slopes = work->tomography->guides.measurement_count,
                                         .q = estimate->q,
                                         .product = estimate->product,
                                         .seen = estimate->seen,
                                         .gain = task->gain,
                                         .delay = task->delay_s / task->frame_s,
                                         .exposure = task->exposure_s / task->frame_s};
        work->idle = work->idle && estimate->seen == NULL;
    }
}

bb_status bb_time_domain_run(const bb_frame_sampler *sampler, const bb_time_domain_task *task)
{
    bb_status status = BB_OK;
    const bb_index batch = (task->realisations + MOST_BATCHES - 1) / MOST_BATCHES;
    series work = {.sampler = sampler,
                   .tomography = bb_frame_sampler_tomography(sampler),
                   .task = task,
                   .stride = 1 + 2 * task->wavelength_count};
    BB_REQUIRE(task->realisations > 0 && task->frames > 0 && task->settle >= 0, BB_INVALID,
               "%td realisations of %td frames after %td, expected at least one",
               task->realisations, task->frames, task->settle);
    BB_TRY(bb_frame_score_shapes(work.tomography, &work.shapes));
    BB_TRY(bb_frame_score_surfaces(work.tomography, &work.surfaces));
    BB_TRY(BB_ZEROED(task->estimate_count, &work.laws));
    BB_TRY(BB_ZEROED(task->realisations * task->estimate_count * work.stride, &work.numbers));
    make_laws(&work);
    BB_TRY(bb_thread_ranges(task->realisations, batch, run_batch, &work));
    BB_TRY(summarise(&work));
done:
    bb_frame_score_shapes_release(work.tomography, &work.shapes);
    bb_frame_score_surfaces_release(work.tomography, &work.surfaces);
    BB_RELEASE(&work.laws);
    BB_RELEASE(&work.numbers);
    return status;
}

bb_need bb_time_domain_need(const bb_time_domain_extent *extent, double threads)
{
    static const double seconds_per_phasor = 1.0e-7; // per point of the pupil, for both wavefronts
    const double busy = fmin(threads, fmin(extent->realisations, MOST_BATCHES));
    const double points = extent->frames.squared_points;
    const double looks = extent->realisations * (extent->scored + extent->settle);
    const bb_need loops = bb_need_copies(
        bb_frame_controller_need(extent->rows, extent->slopes, extent->delay), extent->estimates);
    // Two wavefronts, and influence functions along both axes, at most one per lenslet.
    const double shapes = 2.0 * extent->frames.points * extent->frames.lines;
    const bb_need wavefronts = {.host_bytes = (2.0 * points + shapes) * sizeof(double),
                                .seconds = seconds_per_phasor * extent->realisations *
                                           extent->scored * extent->estimates *
                                           extent->wavelengths * points};
    const bb_need sky =
        bb_need_repeated(bb_flow_sampler_need(&extent->frames), extent->realisations);
    const bb_need look = bb_need_repeated(bb_flow_sampler_sample_need(&extent->frames), looks);
    bb_need one =
        bb_need_together(bb_need_together(sky, look), bb_need_together(loops, wavefronts));
    one.host_bytes *= busy;
    one = bb_need_shared(one, busy);
    const bb_need sums = {.host_bytes = sizeof(double) * extent->realisations * extent->estimates *
                                        (1.0 + 2.0 * extent->wavelengths)};
    return bb_need_together(sums, one);
}

struct bb_flow_sampler {
    const bb_frame_sampler *sampler;
    const double (*wind)[2];
    bb_index screens;
    bb_amplitude **amplitudes; // [screens] at time 0
};

bb_status bb_flow_sampler_create(const bb_frame_sampler *sampler, const double (*wind)[2],
                                 bb_flow_sampler **out)
{
    bb_status status = BB_OK;
    bb_flow_sampler *flow = NULL;
    BB_TRY(BB_ZEROED(1, &flow));
    flow->sampler = sampler;
    flow->wind = wind;
    flow->screens = bb_frame_sampler_screens(sampler);
    BB_TRY(BB_ZEROED(flow->screens, &flow->amplitudes));
    for (bb_index index = 0; index < flow->screens; ++index) {
        BB_TRY(
            BB_ALLOCATE(bb_frame_sampler_waves(sampler, index)->waves, &flow->amplitudes[index]));
    }
    *out = flow;
    flow = NULL;
done:
    bb_flow_sampler_destroy(&flow);
    return status;
}

void bb_flow_sampler_destroy(bb_flow_sampler **flow)
{
    bb_flow_sampler *f = *flow;
    if (f == NULL) {
        return;
    }
    for (bb_index index = 0; f->amplitudes != NULL && index < f->screens; ++index) {
        BB_RELEASE(&f->amplitudes[index]);
    }
    BB_RELEASE(&f->amplitudes);
    BB_RELEASE(flow);
}

void bb_flow_sampler_start(bb_flow_sampler *flow, uint64_t seed, uint64_t number)
{
    for (bb_index index = 0; index < flow->screens; ++index) {
        bb_frame_sampler_draw(flow->sampler, seed, number, index, flow->amplitudes[index]);
    }
}

static bb_status evaluate_screen(const bb_flow_sampler *flow, int part, double time_s,
                                 double exposure_s, bb_index index, bb_frame *frame)
{
    bb_status status = BB_OK;
    const double *wind = flow->wind[index * bb_frame_sampler_layers(flow->sampler) / flow->screens];
    const double shift_m[2] = {time_s * wind[0], time_s * wind[1]};
    const double path_m[2] = {exposure_s * wind[0], exposure_s * wind[1]};
    BB_TRY(bb_phase_screen_move(bb_frame_sampler_waves(flow->sampler, index), shift_m, path_m,
                                flow->amplitudes[index], frame->amplitudes));
    BB_TRY(bb_frame_show(flow->sampler, part, index, frame->amplitudes, frame));
done:
    return status;
}

bb_status bb_flow_sampler_sample(bb_flow_sampler *flow, int parts, double time_s, double exposure_s,
                                 uint64_t seed, uint64_t noise_number, bb_frame *frame)
{
    bb_status status = BB_OK;
    bb_frame_clear(flow->sampler, parts, frame);
    for (bb_index index = 0; index < flow->screens; ++index) {
        if ((parts & BB_FRAME_GUIDES) != 0) {
            BB_TRY(evaluate_screen(flow, BB_FRAME_GUIDES, time_s, exposure_s, index, frame));
        }
        if ((parts & BB_FRAME_TARGETS) != 0) {
            BB_TRY(evaluate_screen(flow, BB_FRAME_TARGETS, time_s, 0.0, index, frame));
        }
    }
    bb_frame_finish(flow->sampler, parts, seed, noise_number, frame);
done:
    return status;
}

bb_need bb_flow_sampler_need(const bb_frame_sampler_extent *frames)
{
    const bb_need coarse = bb_phase_screen_draw_need(frames->screen.points);
    const bb_need fine = bb_phase_screen_draw_need(frames->screen.fine_points);
    return bb_need_copies(bb_need_together(coarse, fine), frames->layers);
}

// Same as for an independent frame, which takes longer to draw than to shift.
bb_need bb_flow_sampler_sample_need(const bb_frame_sampler_extent *frames)
{
    bb_frame_sampler_extent one = *frames;
    one.frames = 1.0;
    const bb_need moves =
        bb_need_repeated(bb_need_in_turn(bb_phase_screen_move_need(frames->screen.points),
                                         bb_phase_screen_move_need(frames->screen.fine_points)),
                         frames->layers);
    bb_need look = bb_need_together(bb_frame_need(&one, 1.0), moves);
    look.seconds -= bb_flow_sampler_need(frames).seconds;
    return look;
}
