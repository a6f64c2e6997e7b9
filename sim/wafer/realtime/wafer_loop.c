// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/wafer_loop.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"

#include <math.h>

bb_index bb_wafer_loop_scored(const bb_wafer_loop *loop, bb_index period)
{
    const bb_wafer_problem *problem = loop->problem;
    for (bb_index i = 0; i < problem->scored_count; ++i) {
        if (problem->scored[i] == loop->first + period) {
            return i;
        }
    }
    return -1;
}

// Every matrix, one after the other, to the part that has its axis.
static bb_status make_matrices(bb_wafer_loop *loop)
{
    bb_status status = BB_OK;
    const bb_index fields = loop->problem->scored_count;
    const int *axes = loop->study->response.axes.items;
    bb_coded_matrix *matrix = NULL;
    bb_coding_report report;
    for (bb_index i = 0; i < fields * loop->axes; ++i) {
        const int axis = (int)(i % loop->axes);
        bb_log_progress("coding", i, fields * loop->axes);
        BB_TRY(bb_loop_part_encode(loop->study, loop->problem, loop->pipeline, i / loop->axes,
                                   axes[axis], &report, &matrix));
        bb_coding_report_add(&loop->coding, &report);
        BB_TRY(bb_loop_part_take(&loop->parts[axis % loop->gpus], loop->pipeline, i / loop->axes,
                                 axis / loop->gpus, &matrix));
    }
    bb_log_progress("coding", fields * loop->axes, fields * loop->axes);
    for (int g = 0; g < loop->gpus; ++g) {
        loop->device_bytes += loop->parts[g].bytes;
        loop->field_bytes += bb_loop_part_image_bytes(&loop->parts[g]);
    }
done:
    bb_coded_matrix_destroy(&matrix);
    return status;
}

static bb_status create_loop(const bb_wafer_loop *loop, bb_loop_part *part)
{
    const bb_wafer_problem *problem = loop->problem;
    const bb_loop_system system = {.a = &problem->thermal->step_matrix,
                                   .b = problem->thermal->per_joule,
                                   .w = &problem->grid->restriction,
                                   .window_rows = problem->slit.window_points,
                                   .points = loop->points,
                                   .axes = part->axes,
                                   .set_count = part->sets,
                                   .operators = part->operators};
    return bb_control_loop_create(part->device, &system, &part->loop);
}

// A period that is streamed may have either slot.
static bb_status add_period(bb_wafer_loop *loop, bb_index period)
{
    bb_status status = BB_OK;
    bb_loop_part_period data = {0};
    const bb_index scored = bb_wafer_loop_scored(loop, period);
    BB_TRY(bb_loop_part_period_make(loop->problem, loop->first + period, scored,
                                    loop->streamed ? 0 : scored, &data));
    for (int g = 0; g < loop->gpus; ++g) {
        BB_TRY(bb_control_loop_add(loop->parts[g].loop, &data.period));
        if (loop->streamed && scored >= 0) {
            BB_TRY(bb_control_loop_use(loop->parts[g].loop, period, 1));
        }
    }
done:
    bb_loop_part_period_release(&data);
    return status;
}

// After what was queued so far is done with the slot.
static bb_status exchange(bb_wafer_loop *loop, bb_index slot, bb_index scored)
{
    bb_status status = BB_OK;
    loop->holds[slot] = -1;
    for (int g = 0; g < loop->gpus; ++g) {
        const bb_loop_part *part = &loop->parts[g];
        BB_TRY(bb_field_stream_leave(part->stream, (int)slot));
        BB_TRY(bb_field_stream_fetch(part->stream, (int)slot, part->images[scored]));
    }
    loop->holds[slot] = scored;
done:
    return status;
}

static bb_status assemble(bb_wafer_loop *loop, bb_device *const *devices)
{
    bb_status status = BB_OK;
    const bb_wafer_problem *problem = loop->problem;
    for (bb_index i = 0; i < problem->scored_count; ++i) {
        const bb_index count = problem->dwells[i]->count;
        loop->points = count > loop->points ? count : loop->points;
    }
    for (int g = 0; g < loop->gpus; ++g) {
        BB_TRY(bb_loop_part_open(devices[g], loop->streamed,
                                 (loop->axes - g + loop->gpus - 1) / loop->gpus,
                                 problem->scored_count, &loop->parts[g]));
    }
    BB_TRY(make_matrices(loop));
    for (int g = 0; g < loop->gpus; ++g) {
        BB_TRY(create_loop(loop, &loop->parts[g]));
    }
    for (bb_index period = 0; period < loop->period_count; ++period) {
        BB_TRY(add_period(loop, period));
    }
    for (bb_index slot = 0; loop->streamed && slot < BB_FIELD_SLOTS; ++slot) {
        BB_TRY(exchange(loop, slot, slot % problem->scored_count));
    }
done:
    return status;
}

bb_status bb_wafer_loop_create(const bb_wafer_study *study, const bb_wafer_problem *problem,
                               const bb_product_pipeline *pipeline, bb_device *const *devices,
                               bb_index first, bb_wafer_loop **out)
{
    bb_status status = BB_OK;
    bb_wafer_loop *loop = NULL;
    *out = NULL;
    BB_TRY(bb_wafer_loop_check(study, pipeline));
    const bb_index last = problem->scored[problem->scored_count - 1];
    BB_REQUIRE(first >= 0 && first <= last, BB_INVALID,
               "loop from exposure %td on: the last scored one is %td", first, last);
    BB_TRY(BB_ZEROED(1, &loop));
    loop->study = study;
    loop->problem = problem;
    loop->pipeline = pipeline;
    loop->first = first;
    loop->period_count = last + 1 - first;
    loop->steps = problem->scan->light_steps + problem->scan->dark_steps;
    loop->axes = (int)study->response.axes.count;
    loop->gpus = (int)study->realtime.gpus;
    loop->streamed = study->realtime.matrices == (int)BB_LOOP_STREAMED;
    loop->coding = bb_coding_report_start();
    loop->period = -1;
    BB_TRY(assemble(loop, devices));
    *out = loop;
    loop = NULL;
done:
    bb_wafer_loop_destroy(&loop);
    return status;
}

void bb_wafer_loop_destroy(bb_wafer_loop **loop)
{
    if (*loop != NULL) {
        for (int g = 0; g < (*loop)->gpus; ++g) {
            bb_loop_part_close(&(*loop)->parts[g]);
        }
        BB_RELEASE(loop);
    }
}

bb_status bb_wafer_loop_reset(bb_wafer_loop *loop)
{
    bb_status status = BB_OK;
    for (int g = 0; g < loop->gpus; ++g) {
        BB_TRY(bb_control_loop_reset(loop->parts[g].loop));
    }
done:
    return status;
}

static bb_index slot_of(bb_index turn)
{
    return turn % BB_FIELD_SLOTS;
}

bb_status bb_wafer_loop_fetch(bb_wafer_loop *loop, bb_index period)
{
    const bb_index scored = bb_wafer_loop_scored(loop, period);
    return loop->streamed && scored >= 0 ? exchange(loop, slot_of(loop->turn), scored) : BB_OK;
}

// What begins next is in its slot or on its way.
static bb_status send_for(bb_wafer_loop *loop, bb_index period)
{
    const bb_index scored = bb_wafer_loop_scored(loop, period);
    const bool present = loop->holds[slot_of(loop->turn)] == scored;
    return present ? BB_OK : bb_wafer_loop_fetch(loop, period);
}

bb_status bb_wafer_loop_await(bb_wafer_loop *loop, bb_index period, double waited[BB_LOOP_GPUS])
{
    bb_status status = BB_OK;
    const double begin = bb_clock_seconds();
    for (int g = 0; g < loop->gpus; ++g) {
        waited[g] = NAN;
    }
    if (!loop->streamed || bb_wafer_loop_scored(loop, period) < 0) {
        goto done;
    }
    BB_TRY(send_for(loop, period));
    for (int g = 0; g < loop->gpus; ++g) {
        bool ready = false;
        bool late = false;
        for (;; late = true) {
            BB_TRY(bb_field_stream_ready(loop->parts[g].stream, (int)slot_of(loop->turn), &ready));
            if (ready) {
                break;
            }
        }
        waited[g] = late ? bb_clock_seconds() - begin : 0.0;
    }
done:
    return status;
}

bb_status bb_wafer_loop_begin(bb_wafer_loop *loop, bb_index period)
{
    bb_status status = BB_OK;
    const bb_index slot = slot_of(loop->turn);
    const bool enters = loop->streamed && bb_wafer_loop_scored(loop, period) >= 0;
    if (enters) {
        BB_TRY(send_for(loop, period));
    }
    for (int g = 0; g < loop->gpus; ++g) {
        const bb_loop_part *part = &loop->parts[g];
        if (enters) {
            BB_TRY(bb_control_loop_use(part->loop, period, slot));
            BB_TRY(bb_field_stream_enter(part->stream, (int)slot));
        }
        BB_TRY(bb_control_loop_begin(part->loop, period));
    }
    loop->turn += enters;
    loop->period = period;
    loop->step = 0;
done:
    return status;
}

// The slot of the field that runs is free for the one after the next.
static bb_status leave_field(bb_wafer_loop *loop)
{
    const bb_index scored = bb_wafer_loop_scored(loop, loop->period);
    return scored < 0 ? BB_OK
                      : exchange(loop, slot_of(loop->turn - 1),
                                 (scored + BB_FIELD_SLOTS) % loop->problem->scored_count);
}

bb_status bb_wafer_loop_step(bb_wafer_loop *loop)
{
    bb_status status = BB_OK;
    for (int g = 0; g < loop->gpus; ++g) {
        BB_TRY(bb_control_loop_step(loop->parts[g].loop));
    }
    loop->step += 1;
    if (loop->streamed && !loop->keeps && loop->step == loop->problem->scan->light_steps) {
        BB_TRY(leave_field(loop));
    }
done:
    return status;
}

bb_status bb_wafer_loop_wait(bb_wafer_loop *loop)
{
    bb_status status = BB_OK;
    for (int g = 0; g < loop->gpus; ++g) {
        BB_TRY(bb_control_loop_wait(loop->parts[g].loop));
    }
done:
    return status;
}

bb_status bb_wafer_loop_outputs(bb_wafer_loop *loop, double *out)
{
    bb_status status = BB_OK;
    double *own = NULL; // [axes of a part][points]
    BB_TRY(BB_ALLOCATE(loop->axes * loop->points, &own));
    for (int g = 0; g < loop->gpus; ++g) {
        BB_TRY(bb_control_loop_outputs(loop->parts[g].loop, own));
        for (bb_index i = 0; i < loop->parts[g].axes * loop->points; ++i) {
            const bb_index axis = g + i / loop->points * loop->gpus;
            out[axis * loop->points + i % loop->points] = own[i];
        }
    }
done:
    BB_RELEASE(&own);
    return status;
}

void bb_wafer_loop_keep(bb_wafer_loop *loop, bool keeps)
{
    loop->keeps = keeps;
}

bb_status bb_wafer_loop_time(bb_wafer_loop *loop, bb_index period, bool each, double *seconds)
{
    bb_status status = BB_OK;
    double waited[BB_LOOP_GPUS];
    BB_TRY(bb_wafer_loop_await(loop, period, waited));
    const double begin = bb_clock_seconds();
    BB_TRY(bb_wafer_loop_begin(loop, period));
    for (bb_index step = 0; step < loop->steps; ++step) {
        BB_TRY(bb_wafer_loop_step(loop));
        if (each || step + 1 == loop->steps) {
            BB_TRY(bb_wafer_loop_wait(loop));
        }
    }
    *seconds = bb_clock_seconds() - begin;
done:
    return status;
}
