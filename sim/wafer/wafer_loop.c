// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_loop.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/wafer/wafer_rows.h"

#include <math.h>

bb_status bb_wafer_loop_check(const bb_wafer_study *study, const bb_product_pipeline *pipeline)
{
    bb_status status = BB_OK;
    BB_REQUIRE(study->mesh.stepping == (int)BB_STEPPING_EXPLICIT, BB_UNSUPPORTED,
               "mesh.stepping: the loop on a GPU steps explicitly, expected explicit");
    BB_REQUIRE(study->mesh.through_thickness == (int)BB_THROUGH_MEAN, BB_UNSUPPORTED,
               "mesh.through_thickness: the loop on a GPU has the mean alone, expected mean");
    BB_REQUIRE(study->mesh.substeps == 1, BB_UNSUPPORTED,
               "mesh.substeps = %td: the loop on a GPU takes whole steps, expected 1",
               study->mesh.substeps);
    BB_REQUIRE(!bb_hood_wanted(&study->hood), BB_UNSUPPORTED,
               "hood.exchange_w_per_m2_k = %g: the loop on a GPU has no hood, expected 0",
               study->hood.exchange_w_per_m2_k);
    BB_REQUIRE(study->wafers.count <= 1, BB_UNSUPPORTED,
               "wafers.count = %td: the loop on a GPU exposes one wafer, expected 1",
               study->wafers.count);
    BB_REQUIRE(!bb_edge_ring_wanted(&study->ring), BB_UNSUPPORTED,
               "ring.width_mm = %g: the loop on a GPU has no ring, expected 0",
               study->ring.width_mm);
    BB_REQUIRE(bb_delivery_on_time(&pipeline->delivery), BB_UNSUPPORTED,
               "pipeline %s, delivery: the loop on a GPU measures when corrections come, expected "
               "none late or missed",
               pipeline->name);
    BB_REQUIRE(pipeline->multiply == (int)BB_FORMAT_FP32, BB_UNSUPPORTED,
               "pipeline %s, multiply: the loop on a GPU multiplies in fp32, not %s",
               pipeline->name, bb_working_format_names[pipeline->multiply]);
    BB_REQUIRE(!bb_coding_unpacks(pipeline), BB_UNSUPPORTED,
               "pipeline %s, storage: the loop on a GPU multiplies coded matrices, and zfp has to "
               "be decoded first; take another codec",
               pipeline->name);
done:
    return status;
}

double bb_wafer_loop_bytes(const bb_product_pipeline *pipeline, double values)
{
    double bits = bb_codec_bits_per_value(&pipeline->storage);
    return values * (isnan(bits) ? 4.0 : bits / 8.0);
}

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

// Codecs that need the range of all values, or more rows at once than the source gives, code from
// an fp64 copy, which goes when they are done.
static bool codes_from_a_copy(const bb_product_pipeline *pipeline)
{
    return pipeline->storage.codec > (int)BB_CODEC_BFP;
}

static bb_status encode(const bb_wafer_loop *loop, const bb_wafer_supply *rows,
                        bb_coding_report *report, bb_coded_matrix **out)
{
    const bb_product_pipeline plain = {.name = "fp64",
                                       .storage = bb_codec_plain(BB_FORMAT_FP64),
                                       .multiply = BB_FORMAT_FP64,
                                       .accumulate = BB_FORMAT_FP64};
    bb_status status = BB_OK;
    bb_coded_matrix *copy = NULL;
    bb_coding_report first = {0};
    bb_exact_rows exact = {rows->source, rows->batch, NULL};
    bb_matrix_layout layout = {.rows = rows->source->rows,
                               .columns = rows->source->columns,
                               .mesh_columns = loop->problem->grid->columns,
                               .row_columns = loop->problem->slit.columns};
    if (codes_from_a_copy(loop->pipeline)) {
        BB_TRY(bb_coding_encode(&plain, &exact, &layout, &first, NULL, &copy));
        layout.range = bb_error_norms_range(&first.norms);
        exact.matrix = copy;
    }
    BB_TRY(bb_coding_encode(loop->pipeline, &exact, &layout, report, NULL, out));
    report->seconds += first.seconds;
done:
    bb_coded_matrix_destroy(&copy);
    return status;
}

static bb_status make_operator(bb_wafer_loop *loop, bb_index field, int axis_index)
{
    bb_status status = BB_OK;
    const int axis = ((const int *)loop->study->response.axes.items)[axis_index];
    const bb_index at = field * loop->axes + axis_index;
    bb_wafer_supply rows = {0};
    bb_coding_report report;
    BB_TRY(bb_wafer_supply_open(loop->study, loop->problem, field, axis, &rows));
    BB_TRY(encode(loop, &rows, &report, &loop->matrices[at]));
    BB_TRY(bb_product_pipeline_operator(loop->pipeline, loop->device, loop->matrices[at],
                                        &loop->operators[at]));
    bb_coding_report_add(&loop->coding, &report);
    loop->device_bytes += (double)bb_coded_operator_bytes(loop->operators[at]);
    bb_log_detail("pipeline %s: %c of field %td coded in %.2f s, %.3f bits a value",
                  loop->pipeline->name, "xyz"[axis], loop -> problem -> scored[field],
                  report.seconds, 8.0 * report.bytes / report.values);
done:
    bb_wafer_supply_release(&rows);
    return status;
}

static bb_status make_operators(bb_wafer_loop *loop)
{
    bb_status status = BB_OK;
    const bb_index fields = loop->problem->scored_count;
    BB_TRY(BB_ZEROED(fields * loop->axes, &loop->matrices));
    BB_TRY(BB_ZEROED(fields * loop->axes, &loop->operators));
    for (bb_index field = 0; field < fields; ++field) {
        for (int axis = 0; axis < loop->axes; ++axis) {
            bb_progress("coding", field * loop->axes + axis, fields * loop->axes);
            BB_TRY(make_operator(loop, field, axis));
        }
    }
    bb_progress("coding", fields * loop->axes, fields * loop->axes);
done:
    return status;
}

// What a period borrows while it is added.
typedef struct exposure_data {
    bb_exposure *exposure;
    double *energy;       // [covered nodes] of a step
    int32_t *input_begin; // [light_steps + 1]
    int32_t *input_where;
    double *input;
    int32_t *window; // [light_steps]
    int32_t *output_begin;
    bb_loop_output *output;
} exposure_data;

static void release_data(exposure_data *data)
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

// Nodes that get heat in each light step.
static bb_status list_inputs(const bb_wafer_problem *problem, bb_index field, exposure_data *data)
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
static bb_status list_outputs(const bb_wafer_problem *problem, bb_index scored, exposure_data *data)
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

static bb_status add_period(bb_wafer_loop *loop, bb_index period)
{
    bb_status status = BB_OK;
    exposure_data data = {0};
    const bb_index scored = bb_wafer_loop_scored(loop, period);
    BB_TRY(list_inputs(loop->problem, loop->first + period, &data));
    if (scored >= 0) {
        BB_TRY(list_outputs(loop->problem, scored, &data));
    }
    const bb_loop_period added = {.set = scored,
                                  .light_steps = loop->problem->scan->light_steps,
                                  .dark_steps = loop->problem->scan->dark_steps,
                                  .input_begin = data.input_begin,
                                  .input_where = data.input_where,
                                  .input = data.input,
                                  .window = data.window,
                                  .output_begin = data.output_begin,
                                  .output = data.output};
    BB_TRY(bb_control_loop_add(loop->loop, &added));
done:
    release_data(&data);
    return status;
}

static bb_status assemble(bb_wafer_loop *loop)
{
    bb_status status = BB_OK;
    const bb_wafer_problem *problem = loop->problem;
    for (bb_index i = 0; i < problem->scored_count; ++i) {
        const bb_index count = problem->dwells[i]->count;
        loop->points = count > loop->points ? count : loop->points;
    }
    BB_TRY(make_operators(loop));
    const bb_loop_system system = {.a = &problem->thermal->step_matrix,
                                   .b = problem->thermal->per_joule,
                                   .w = &problem->grid->restriction,
                                   .window_rows = problem->slit.window_points,
                                   .points = loop->points,
                                   .axes = loop->axes,
                                   .set_count = problem->scored_count,
                                   .operators = loop->operators};
    BB_TRY(bb_control_loop_create(loop->device, &system, &loop->loop));
    for (bb_index period = 0; period < loop->period_count; ++period) {
        BB_TRY(add_period(loop, period));
    }
done:
    return status;
}

bb_status bb_wafer_loop_create(const bb_wafer_study *study, const bb_wafer_problem *problem,
                               const bb_product_pipeline *pipeline, bb_device *device,
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
    loop->device = device;
    loop->first = first;
    loop->period_count = last + 1 - first;
    loop->steps = problem->scan->light_steps + problem->scan->dark_steps;
    loop->axes = (int)study->response.axes.count;
    loop->coding = bb_coding_report_start();
    BB_TRY(assemble(loop));
    *out = loop;
    loop = NULL;
done:
    bb_wafer_loop_destroy(&loop);
    return status;
}

bb_status bb_wafer_loop_time(bb_wafer_loop *loop, bb_index period, bool each, double *seconds)
{
    bb_status status = BB_OK;
    const double begin = bb_clock_seconds();
    BB_TRY(bb_control_loop_begin(loop->loop, period));
    for (bb_index step = 0; step < loop->steps; ++step) {
        BB_TRY(bb_control_loop_step(loop->loop));
        if (each || step + 1 == loop->steps) {
            BB_TRY(bb_control_loop_wait(loop->loop));
        }
    }
    *seconds = bb_clock_seconds() - begin;
done:
    return status;
}

void bb_wafer_loop_destroy(bb_wafer_loop **loop)
{
    bb_wafer_loop *whole = *loop;
    if (whole == NULL) {
        return;
    }
    bb_control_loop_destroy(&whole->loop);
    const bb_index count = whole->problem->scored_count * whole->axes;
    for (bb_index i = 0; whole->operators != NULL && i < count; ++i) {
        bb_coded_operator_destroy(&whole->operators[i]);
        bb_coded_matrix_destroy(&whole->matrices[i]);
    }
    BB_RELEASE(&whole->operators);
    BB_RELEASE(&whole->matrices);
    BB_RELEASE(loop);
}
