// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/exposure_period.h"

#include "core/memory.h"

// Nodes that get heat in each light step.
static bb_status list_inputs(const bb_wafer_problem *problem, bb_index field,
                             bb_exposure_period *data)
{
    bb_status status = BB_OK;
    const bb_index steps = problem->scan->light_steps;
    int32_t at = 0;
    BB_TRY(bb_exposure_create(problem->mesh, problem->scan, field, problem->absorption,
                              &data->exposure));
    const bb_index covered = data->exposure->count;
    BB_TRY(BB_ALLOCATE(covered, &data->energy));
    BB_TRY(BB_ALLOCATE(steps + 1, &data->input_begin));
    BB_TRY(BB_ALLOCATE(covered * steps, &data->input_where));
    BB_TRY(BB_ALLOCATE(covered * steps, &data->input));
    for (bb_index step = 0; step < steps; ++step) {
        data->input_begin[step] = at;
        (void)bb_exposure_energy(data->exposure, step, 1, data->energy);
        for (bb_index i = 0; i < covered; ++i) {
            if (data->energy[i] != 0.0) {
                data->input_where[at] = data->exposure->node[i];
                data->input[at++] = data->energy[i];
            }
        }
    }
    data->input_begin[steps] = at;
done:
    return status;
}

static bb_loop_output weigh(const bb_dwell *dwell, bb_index offset, bb_index point, double dose)
{
    bb_loop_output out = {.point = (int32_t)point};
    bb_index corner[4];
    double weight[4];
    bb_slit_grid_weigh(&dwell->slit, &dwell->field, offset, dwell->x[point], dwell->y[point],
                       corner, weight);
    for (int k = 0; k < 4; ++k) {
        out.corner[k] = (int32_t)corner[k];
        out.weight[k] = dose * weight[k];
    }
    return out;
}

// Windows of the slit, and the scored points that get dose, in each light step.
static bb_status list_outputs(const bb_wafer_problem *problem, bb_index scored,
                              bb_exposure_period *data)
{
    bb_status status = BB_OK;
    const bb_dwell *dwell = problem->dwells[scored];
    const bb_index steps = problem->scan->light_steps;
    int32_t at = 0;
    BB_TRY(BB_ALLOCATE(steps, &data->window));
    BB_TRY(BB_ALLOCATE(steps + 1, &data->output_begin));
    BB_TRY(BB_ALLOCATE(dwell->count * steps, &data->output));
    for (bb_index step = 0; step < steps; ++step) {
        const bb_index offset = bb_slit_grid_offset(&problem->slit, &dwell->field, step);
        data->window[step] = (int32_t)(offset * problem->slit.columns);
        data->output_begin[step] = at;
        for (bb_index i = 0; i < dwell->count; ++i) {
            const double dose =
                bb_scan_dose_fraction(problem->scan, &dwell->field, step, dwell->x[i], dwell->y[i]);
            if (dose > 0.0) {
                data->output[at++] = weigh(dwell, offset, i, dose);
            }
        }
    }
    data->output_begin[steps] = at;
done:
    return status;
}

bb_status bb_exposure_period_make(const bb_wafer_problem *problem, bb_index field, bb_index scored,
                                  bb_index set, bb_exposure_period *out)
{
    bb_status status = BB_OK;
    *out = (bb_exposure_period){0};
    BB_TRY(list_inputs(problem, field, out));
    if (scored >= 0) {
        BB_TRY(list_outputs(problem, scored, out));
    }
    out->period = (bb_loop_period){.set = scored < 0 ? -1 : set,
                                   .light_steps = problem->scan->light_steps,
                                   .dark_steps = problem->scan->dark_steps,
                                   .input_begin = out->input_begin,
                                   .input_where = out->input_where,
                                   .input = out->input,
                                   .window = out->window,
                                   .output_begin = out->output_begin,
                                   .output = out->output};
done:
    if (status != BB_OK) {
        bb_exposure_period_release(out);
    }
    return status;
}

void bb_exposure_period_release(bb_exposure_period *data)
{
    bb_exposure_destroy(&data->exposure);
    BB_RELEASE(&data->energy);
    BB_RELEASE(&data->input_begin);
    BB_RELEASE(&data->input_where);
    BB_RELEASE(&data->input);
    BB_RELEASE(&data->window);
    BB_RELEASE(&data->output_begin);
    BB_RELEASE(&data->output);
}
