// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/frames/frame_controller.h"

#include "core/memory.h"

#include <cblas.h>
#include <math.h>
#include <stdbool.h>

static const double tolerance = 1e-9; // of a frame: 4 ms at 500 Hz are two of them

// A command is needed one frame at least after it is made where sensors see it.
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
               BB_INVALID, "a loop of gain %g, %g frames of exposure and %g frames of delay%s",
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

// The command of frame k, NULL before the first.
static const double *command_of(const bb_frame_controller *loop, bb_index k)
{
    return k >= 0 ? loop->commands + k % (loop->lag + 1) * loop->law->rows : NULL;
}

// What sensors see and what the controller makes of it.
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

// command <- (1 - gain) command + gain Q s; what is in it counts for nothing with a gain of 1.
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
