// SPDX-License-Identifier: Apache-2.0
#include "physics/fringe/detection.h"

#include "core/thread.h"
#include "physics/fringe/carrier.h"

#include <math.h>

enum { ROWS_OF_A_TASK = 16 };

// Determinant of the normal equations, over steps^2, under which steps say nothing.
static const double NO_PHASE = 1e-6;

// What rounding leaves of the modulation of frames that are all alike.
static const double NO_MODULATION = 1e-12;

// (-pi, pi] of a value in [-pi, pi].
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
        sine[BB_DETECTION_FRAMES]; // of a1 and a2: what a frame counts
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
    BB_REQUIRE(equations.determinant > NO_PHASE * (double)(steps * steps), BB_INVALID,
               "%td steps that do not determine a phase, expected three that differ by more than "
               "whole turns",
               steps);
done:
    return status;
}

// Rows of the pseudo-inverse of [1, cos, sin], by Cramer's rule on the columns without their means.
void bb_detection_weights(bb_index count, const double *steps_rad, double *cosines, double *sines)
{
    normal sums;
    set_normal(count, steps_rad, &sums);
    for (bb_index n = 0; n < count; ++n) {
        cosines[n] = (sums.ss * sums.cosine[n] - sums.cs * sums.sine[n]) / sums.determinant;
        sines[n] = (sums.cc * sums.sine[n] - sums.cs * sums.cosine[n]) / sums.determinant;
    }
}

// A pixel's intensities lie `stride` apart. Returns the modulation.
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
               "detection.algorithm: none has no frames");
    BB_REQUIRE(frames->steps == bb_fringe_config_frames(detection) &&
                   frames->steps <= BB_DETECTION_FRAMES,
               BB_INVALID, "%td frames, expected detection.steps = %td", frames->steps,
               bb_fringe_config_frames(detection));
    if (detection->algorithm == BB_DETECTION_CARRIER) {
        BB_TRY(bb_carrier_run(detection, frames, phase, modulation));
        goto done;
    }
    bb_detection_weights(frames->steps, frames->steps_rad, work.cosine, work.sine);
    BB_TRY(bb_thread_ranges(frames->rows, ROWS_OF_A_TASK, task_detect, &work));
done:
    return status;
}
