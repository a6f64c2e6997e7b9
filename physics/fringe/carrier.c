// SPDX-License-Identifier: Apache-2.0
#include "physics/fringe/carrier.h"

#include "core/memory.h"
#include "core/thread.h"

#include <math.h>

enum { ROWS_OF_A_TASK = 16, PARTS = 3, LONGEST_WINDOW = 63 };

// What rounding leaves of the modulation of a frame without fringes.
static const double NO_MODULATION = 1e-12;

void bb_carrier_window(bb_index px, double *weights)
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

bb_status bb_carrier_run(const bb_fringe_detection_config *detection, const bb_frames *frames,
                         double *phase, double *modulation)
{
    bb_status status = BB_OK;
    carrier_work work = {.detection = detection,
                         .frames = frames,
                         .mean = mean_of(frames),
                         .phase = phase,
                         .modulation = modulation};
    BB_TRY(BB_ALLOCATE(PARTS * frames->rows * frames->columns, &work.sums));
    bb_carrier_window(detection->carrier.window_px, work.window);
    BB_TRY(bb_thread_ranges(frames->rows, ROWS_OF_A_TASK, task_rows, &work));
    BB_TRY(bb_thread_ranges(frames->rows, ROWS_OF_A_TASK, task_columns, &work));
done:
    BB_RELEASE(&work.sums);
    return status;
}
