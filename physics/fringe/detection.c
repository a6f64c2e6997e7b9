// SPDX-License-Identifier: Apache-2.0
#include "physics/fringe/detection.h"

#include "core/memory.h"
#include "core/thread.h"

#include <math.h>

enum { ROWS_OF_A_TASK = 16, PARTS = 3, LONGEST_WINDOW = 63 };

// Rounding of the modulation of frames without fringes.
static const double NO_MODULATION = 1e-12;

void bb_detection_carrier_window(bb_index px, double *weights)
{
    for (bb_index k = 0; k < px; ++k) {
        const double sine = sin(M_PI * (double)(k + 1) / (double)(px + 1));
        weights[k] = sine * sine;
    }
}

typedef struct carrier_work {
    const bb_fringe_detection_config *detection;
    const bb_frames *frames;
    double window[LONGEST_WINDOW];
    double mean;
    double *sums; // [rows][columns][PARTS] over the window along x: real, imaginary, weights
    double *phase, *modulation;
} carrier_work;

static double mean_of(const bb_frames *frames)
{
    double sum = 0.0;
    bb_index count = 0;
    for (bb_index i = 0; i < frames->rows * frames->columns; ++i) {
        if (isfinite(frames->intensity[i])) {
            sum += frames->intensity[i];
            ++count;
        }
    }
    return count > 0 ? sum / (double)count : 0.0;
}

static void sum_along_x(const carrier_work *work, bb_index column, bb_index row, double sums[PARTS])
{
    const bb_index columns = work->frames->columns;
    const bb_fringe_carrier_config *carrier = &work->detection->carrier;
    const double *line = work->frames->intensity + row * columns;
    sums[0] = sums[1] = sums[2] = 0.0;
    for (bb_index k = 0; k < carrier->window_px; ++k) {
        const bb_index c = column + k - carrier->window_px / 2;
        if (c < 0 || c >= columns || !isfinite(line[c])) {
            continue;
        }
        const double angle = 2.0 * M_PI * carrier->x * (double)c;
        const double value = work->window[k] * (line[c] - work->mean);
        sums[0] += value * cos(angle);
        sums[1] -= value * sin(angle);
        sums[2] += work->window[k];
    }
}

static bb_status task_rows(void *context, bb_index begin, bb_index end)
{
    const carrier_work *work = context;
    const bb_index columns = work->frames->columns;
    for (bb_index i = begin * columns; i < end * columns; ++i) {
        sum_along_x(work, i % columns, i / columns, work->sums + PARTS * i);
    }
    return BB_OK;
}

static void sum_along_y(const carrier_work *work, bb_index column, bb_index row, double sums[PARTS])
{
    const bb_fringe_carrier_config *carrier = &work->detection->carrier;
    sums[0] = sums[1] = sums[2] = 0.0;
    for (bb_index k = 0; k < carrier->window_px; ++k) {
        const bb_index r = row + k - carrier->window_px / 2;
        if (r < 0 || r >= work->frames->rows) {
            continue;
        }
        const double *part = work->sums + PARTS * (r * work->frames->columns + column);
        const double cosine = work->window[k] * cos(2.0 * M_PI * carrier->y * (double)r);
        const double sine = work->window[k] * sin(2.0 * M_PI * carrier->y * (double)r);
        sums[0] += part[0] * cosine + part[1] * sine;
        sums[1] += part[1] * cosine - part[0] * sine;
        sums[2] += part[2] * work->window[k];
    }
}

static bb_status task_columns(void *context, bb_index begin, bb_index end)
{
    const carrier_work *work = context;
    const bb_index columns = work->frames->columns;
    for (bb_index i = begin * columns; i < end * columns; ++i) {
        double sums[PARTS];
        sum_along_y(work, i % columns, i / columns, sums);
        const bool has_data = isfinite(work->frames->intensity[i]);
        const double modulation = 2.0 * sqrt(sums[0] * sums[0] + sums[1] * sums[1]) / sums[2];
        const double phase = atan2(sums[1], sums[0]);
        const bool seen = has_data && modulation > NO_MODULATION &&
                          modulation >= work->detection->least_modulation;
        work->phase[i] = !seen ? NAN : phase <= -M_PI ? M_PI : phase;
        if (work->modulation != NULL) {
            work->modulation[i] = has_data ? modulation : NAN;
        }
    }
    return BB_OK;
}

bb_status bb_detection_carrier(const bb_fringe_detection_config *detection, const bb_frames *frames,
                               double *phase, double *modulation)
{
    bb_status status = BB_OK;
    carrier_work work = {.detection = detection,
                         .frames = frames,
                         .mean = mean_of(frames),
                         .phase = phase,
                         .modulation = modulation};
    BB_TRY(BB_ALLOCATE(PARTS * frames->rows * frames->columns, &work.sums));
    bb_detection_carrier_window(detection->carrier.window_px, work.window);
    BB_TRY(bb_thread_ranges(frames->rows, ROWS_OF_A_TASK, task_rows, &work));
    BB_TRY(bb_thread_ranges(frames->rows, ROWS_OF_A_TASK, task_columns, &work));
done:
    BB_RELEASE(&work.sums);
    return status;
}

// Determinant of the normal equations, over steps^2, below which steps do not determine a phase.
static const double NO_PHASE = 1e-6;

// Maps a value in [-pi, pi] to (-pi, pi].
static double close_range(double phase)
{
    return phase <= -M_PI ? phase + 2.0 * M_PI : phase;
}

double bb_detection_wrap(double x)
{
    return close_range(x - 2.0 * M_PI * rint(x / (2.0 * M_PI)));
}

void bb_detection_wrap_all(bb_index count, const double *phase, double *wrapped)
{
    for (bb_index i = 0; i < count; ++i) {
        wrapped[i] = bb_detection_wrap(phase[i]);
    }
}

typedef struct detection_work {
    const bb_fringe_detection_config *detection;
    const bb_frames *frames;
    double *phase, *modulation;
    double cosine[BB_DETECTION_FRAMES],
        sine[BB_DETECTION_FRAMES]; // weights of a frame in a1 and a2
} detection_work;

// Cosines and sines of steps without their means, and the determinant of their normal equations.
typedef struct normal {
    double cosine[BB_DETECTION_FRAMES], sine[BB_DETECTION_FRAMES];
    double cc, cs, ss, determinant;
} normal;

static void set_normal(bb_index steps, const double *steps_rad, normal *out)
{
    const double count = (double)steps;
    double mean[2] = {0.0, 0.0};
    *out = (normal){.cc = 0.0};
    for (bb_index n = 0; n < steps; ++n) {
        mean[0] += cos(steps_rad[n]) / count;
        mean[1] += sin(steps_rad[n]) / count;
    }
    for (bb_index n = 0; n < steps; ++n) {
        out->cosine[n] = cos(steps_rad[n]) - mean[0];
        out->sine[n] = sin(steps_rad[n]) - mean[1];
        out->cc += out->cosine[n] * out->cosine[n];
        out->cs += out->cosine[n] * out->sine[n];
        out->ss += out->sine[n] * out->sine[n];
    }
    out->determinant = out->cc * out->ss - out->cs * out->cs;
}

bb_status bb_detection_steps_check(bb_index steps, const double *steps_rad)
{
    bb_status status = BB_OK;
    normal equations;
    BB_REQUIRE(steps >= 3 && steps <= BB_DETECTION_FRAMES, BB_INVALID,
               "%td steps, expected 3 to %d", steps, BB_DETECTION_FRAMES);
    for (bb_index n = 0; n < steps; ++n) {
        BB_REQUIRE(isfinite(steps_rad[n]), BB_INVALID, "step %td is %g, expected a finite number",
                   n, steps_rad[n]);
    }
    set_normal(steps, steps_rad, &equations);
    BB_REQUIRE(
        equations.determinant > NO_PHASE * (double)(steps * steps), BB_INVALID,
        "%td steps that do not determine a phase, expected at least three that differ modulo 2 pi",
        steps);
done:
    return status;
}

// Computes the rows of the pseudo-inverse of [1, cos, sin], by Cramer's rule on the columns without
// their means.
void bb_detection_weights(bb_index count, const double *steps_rad, double *cosines, double *sines)
{
    normal sums;
    set_normal(count, steps_rad, &sums);
    for (bb_index n = 0; n < count; ++n) {
        cosines[n] = (sums.ss * sums.cosine[n] - sums.cs * sums.sine[n]) / sums.determinant;
        sines[n] = (sums.cc * sums.sine[n] - sums.cs * sums.cosine[n]) / sums.determinant;
    }
}

// Detects the phase of a pixel whose intensities are `stride` apart. Returns the modulation.
static double by_steps(const detection_work *work, const double *pixel, bb_index stride,
                       double *phase)
{
    double a1 = 0.0;
    double a2 = 0.0;
    for (bb_index n = 0; n < work->frames->steps; ++n) {
        a1 += work->cosine[n] * pixel[n * stride];
        a2 += work->sine[n] * pixel[n * stride];
    }
    *phase = atan2(-a2, a1);
    return sqrt(a1 * a1 + a2 * a2);
}

static double by_carre(const detection_work *work, const double *pixel, bb_index stride,
                       double *phase)
{
    const double half = 0.5 * (work->frames->steps_rad[1] - work->frames->steps_rad[0]);
    const double a = pixel[0] - pixel[3 * stride];
    const double b = pixel[stride] - pixel[2 * stride];
    const double sine = copysign(sqrt(fmax(0.0, (3.0 * b - a) * (a + b))), b);
    const double cosine = pixel[stride] + pixel[2 * stride] - pixel[0] - pixel[3 * stride];
    *phase = atan2(sine, cosine);
    return sqrt(sine * sine + cosine * cosine) / (8.0 * sin(half) * sin(half) * cos(half));
}

static bb_status task_detect(void *context, bb_index begin, bb_index end)
{
    const detection_work *work = context;
    const bb_index columns = work->frames->columns;
    const bb_index stride = work->frames->rows * columns;
    const bool carre = work->detection->algorithm == BB_DETECTION_CARRE;
    for (bb_index i = begin * columns; i < end * columns; ++i) {
        const double *pixel = work->frames->intensity + i;
        double phase = 0.0;
        double modulation =
            carre ? by_carre(work, pixel, stride, &phase) : by_steps(work, pixel, stride, &phase);
        const bool seen =
            modulation > NO_MODULATION && modulation >= work->detection->least_modulation;
        work->phase[i] = seen ? close_range(phase) : NAN;
        if (work->modulation != NULL) {
            work->modulation[i] = modulation;
        }
    }
    return BB_OK;
}

bb_status bb_detection_run(const bb_fringe_detection_config *detection, const bb_frames *frames,
                           double *phase, double *modulation)
{
    bb_status status = BB_OK;
    detection_work work = {
        .detection = detection, .frames = frames, .phase = phase, .modulation = modulation};
    BB_REQUIRE(detection->algorithm != BB_DETECTION_NONE, BB_INVALID,
               "detection.algorithm: none uses no frames");
    BB_REQUIRE(frames->steps == bb_fringe_config_frames(detection) &&
                   frames->steps <= BB_DETECTION_FRAMES,
               BB_INVALID, "%td frames, expected detection.steps = %td", frames->steps,
               bb_fringe_config_frames(detection));
    if (detection->algorithm == BB_DETECTION_CARRIER) {
        BB_TRY(bb_detection_carrier(detection, frames, phase, modulation));
        goto done;
    }
    bb_detection_weights(frames->steps, frames->steps_rad, work.cosine, work.sine);
    BB_TRY(bb_thread_ranges(frames->rows, ROWS_OF_A_TASK, task_detect, &work));
done:
    return status;
}
