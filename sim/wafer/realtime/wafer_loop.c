// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/wafer_loop.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/wafer/wafer_rows.h"

#include <math.h>

static bb_status encode(const bb_wafer_problem *problem, const bb_product_pipeline *pipeline,
                        const bb_wafer_row_source *rows, bb_coding_report *report,
                        bb_coded_matrix **out)
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
                               .mesh_columns = problem->grid->columns,
                               .row_columns = problem->slit.columns};
    if (bb_codec_needs_copy(&pipeline->storage)) { // the copy is freed with its codec
        BB_TRY(bb_product_coding_encode(&plain, &exact, &layout, &first, NULL, &copy));
        layout.range = bb_error_norms_range(&first.norms);
        exact.matrix = copy;
    }
    BB_TRY(bb_product_coding_encode(pipeline, &exact, &layout, report, NULL, out));
    report->seconds += first.seconds;
done:
    bb_coded_matrix_destroy(&copy);
    return status;
}

bb_status bb_loop_part_encode(const bb_wafer_study *study, const bb_wafer_problem *problem,
                              const bb_product_pipeline *pipeline, bb_index field, int axis,
                              bb_coding_report *report, bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    bb_wafer_row_source rows = {0};
    *out = NULL;
    BB_TRY(bb_wafer_row_source_open(study, problem, field, axis, &rows));
    BB_TRY(encode(problem, pipeline, &rows, report, out));
    bb_log_detail("pipeline %s: %c of field %td encoded in %.2f s, %.3f bits per value",
                  pipeline->name, bb_axis_letter(axis), problem->scored[field], report->seconds,
                  8.0 * report->bytes / report->values);
done:
    bb_wafer_row_source_release(&rows);
    return status;
}

static bb_status open_part(bb_device *device, bool streamed, int axes, bb_index fields,
                           bb_loop_part *out)
{
    bb_status status = BB_OK;
    *out = (bb_loop_part){.device = device,
                          .streamed = streamed,
                          .axes = axes,
                          .fields = fields,
                          .sets = streamed ? BB_FIELD_SLOTS : fields};
    BB_TRY(BB_ZEROED(out->sets * axes, &out->matrices));
    BB_TRY(BB_ZEROED(out->sets * axes, &out->operators));
    if (streamed) {
        BB_TRY(BB_ZEROED(fields, &out->images));
    }
done:
    return status;
}

static void drop_fresh(bb_loop_part *part)
{
    for (int axis = 0; axis < part->axes; ++axis) {
        bb_coded_operator_destroy(&part->fresh[axis]);
        bb_coded_matrix_destroy(&part->fresh_matrices[axis]);
    }
}

static void close_part(bb_loop_part *part)
{
    bb_control_loop_destroy(&part->loop);
    bb_field_stream_destroy(&part->stream);
    for (bb_index field = 0; part->images != NULL && field < part->fields; ++field) {
        bb_field_image_destroy(&part->images[field]);
    }
    drop_fresh(part);
    for (bb_index i = 0; i < part->sets * part->axes; ++i) {
        if (part->operators != NULL) {
            bb_coded_operator_destroy(&part->operators[i]);
        }
        if (part->matrices != NULL) {
            bb_coded_matrix_destroy(&part->matrices[i]);
        }
    }
    BB_RELEASE(&part->images);
    BB_RELEASE(&part->operators);
    BB_RELEASE(&part->matrices);
}

// Creates an operator of a set.
static bb_status make_operator(bb_loop_part *part, const bb_product_pipeline *pipeline,
                               const bb_coded_matrix *matrix, bb_index index)
{
    bb_status status = BB_OK;
    BB_TRY(bb_product_pipeline_operator(pipeline, part->device, matrix, &part->operators[index]));
    part->bytes += (double)bb_coded_operator_bytes(part->operators[index]);
done:
    return status;
}

// The cpu multiplies with the encoded matrix itself, so the matrix lives as long as its operator.
static void keep_matrix(const bb_loop_part *part, bb_coded_matrix **matrix, bb_coded_matrix **place)
{
    if (bb_device_kind_of(part->device) == BB_DEVICE_CPU) {
        *place = *matrix;
        *matrix = NULL;
    }
}

static bb_status add_resident(bb_loop_part *part, const bb_product_pipeline *pipeline,
                              bb_index index, bb_coded_matrix **matrix)
{
    bb_status status = BB_OK;
    BB_TRY(make_operator(part, pipeline, *matrix, index));
    keep_matrix(part, matrix, &part->matrices[index]);
done:
    return status;
}

// Sizes the slots by the first field's matrices; the contents of the slots are arbitrary.
static bb_status add_streamed(bb_loop_part *part, const bb_product_pipeline *pipeline,
                              bb_index field, int axis, bb_coded_matrix **matrix)
{
    bb_status status = BB_OK;
    BB_TRY(bb_product_pipeline_operator(pipeline, part->device, *matrix, &part->fresh[axis]));
    for (int slot = 0; field == 0 && slot < BB_FIELD_SLOTS; ++slot) {
        BB_TRY(make_operator(part, pipeline, *matrix, slot * part->axes + axis));
    }
    keep_matrix(part, matrix, &part->fresh_matrices[axis]);
    if (axis + 1 < part->axes) {
        goto done;
    }
    if (field == 0) {
        BB_TRY(bb_field_stream_create(part->device, part->axes, part->operators, &part->stream));
    }
    BB_TRY(bb_field_image_create(part->stream, part->fresh, &part->images[field]));
    drop_fresh(part);
done:
    return status;
}

// Adds the matrix of a field and of one of the part's axes: takes ownership of it and sets it to
// NULL. Call in ascending order of fields and of axes within a field.
static bb_status add_matrix(bb_loop_part *part, const bb_product_pipeline *pipeline, bb_index field,
                            int axis, bb_coded_matrix **matrix)
{
    bb_status status = BB_OK;
    BB_TRY(part->streamed ? add_streamed(part, pipeline, field, axis, matrix)
                          : add_resident(part, pipeline, field * part->axes + axis, matrix));
    bb_coded_matrix_destroy(matrix);
done:
    return status;
}

// A period and the arrays that it borrows while it is added to the loop.
typedef struct loop_period {
    bb_loop_period period;
    bb_exposure *exposure;
    double *energy;       // [covered nodes] energy of a step
    int32_t *input_begin; // [light_steps + 1]
    int32_t *input_where;
    double *input;
    int32_t *window; // [light_steps]
    int32_t *output_begin;
    bb_loop_output *output;
} loop_period;

// Lists the heated nodes of each light step.
static bb_status list_inputs(const bb_wafer_problem *problem, bb_index field, loop_period *data)
{
    bb_status status = BB_OK;
    const bb_index steps = problem->scan->light_steps;
    int32_t index = 0;
    BB_TRY(bb_exposure_create(problem->mesh, problem->scan, field, problem->absorption,
                              &data->exposure));
    const bb_index covered = data->exposure->count;
    BB_TRY(BB_ALLOCATE(covered, &data->energy));
    BB_TRY(BB_ALLOCATE(steps + 1, &data->input_begin));
    BB_TRY(BB_ALLOCATE(covered * steps, &data->input_where));
    BB_TRY(BB_ALLOCATE(covered * steps, &data->input));
    for (bb_index step = 0; step < steps; ++step) {
        data->input_begin[step] = index;
        (void)bb_exposure_energy(data->exposure, step, 1, data->energy);
        for (bb_index i = 0; i < covered; ++i) {
            if (data->energy[i] != 0.0) {
                data->input_where[index] = data->exposure->node[i];
                data->input[index++] = data->energy[i];
            }
        }
    }
    data->input_begin[steps] = index;
done:
    return status;
}

static bb_loop_output compute_weights(const bb_dwell *dwell, bb_index offset, bb_index point,
                                      double dose)
{
    bb_loop_output out = {.point = (int32_t)point};
    bb_index corner[4];
    double weight[4];
    bb_slit_grid_weights(&dwell->slit, &dwell->field, offset, dwell->x[point], dwell->y[point],
                         corner, weight);
    for (int k = 0; k < 4; ++k) {
        out.corner[k] = (int32_t)corner[k];
        out.weight[k] = dose * weight[k];
    }
    return out;
}

// Lists the slit window of each light step and the scored points that receive dose in it.
static bb_status list_outputs(const bb_wafer_problem *problem, bb_index scored, loop_period *data)
{
    bb_status status = BB_OK;
    const bb_dwell *dwell = problem->dwells[scored];
    const bb_index steps = problem->scan->light_steps;
    int32_t index = 0;
    BB_TRY(BB_ALLOCATE(steps, &data->window));
    BB_TRY(BB_ALLOCATE(steps + 1, &data->output_begin));
    BB_TRY(BB_ALLOCATE(dwell->count * steps, &data->output));
    for (bb_index step = 0; step < steps; ++step) {
        const bb_index offset = bb_slit_grid_offset(&problem->slit, &dwell->field, step);
        data->window[step] = (int32_t)(offset * problem->slit.columns);
        data->output_begin[step] = index;
        for (bb_index i = 0; i < dwell->count; ++i) {
            const double dose =
                bb_scan_dose_fraction(problem->scan, &dwell->field, step, dwell->x[i], dwell->y[i]);
            if (dose > 0.0) {
                data->output[index++] = compute_weights(dwell, offset, i, dose);
            }
        }
    }
    data->output_begin[steps] = index;
done:
    return status;
}

static void release_period(loop_period *data)
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

// Creates the period of exposure `field`. Scored exposure number `scored` is multiplied with
// operator set `set`; with `scored` -1 the period has heat only.
static bb_status make_period(const bb_wafer_problem *problem, bb_index field, bb_index scored,
                             bb_index set, loop_period *out)
{
    bb_status status = BB_OK;
    *out = (loop_period){0};
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
        release_period(out);
    }
    return status;
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

// Encodes every matrix in turn and passes it to the part with its axis.
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
        BB_TRY(add_matrix(&loop->parts[axis % loop->gpus], loop->pipeline, i / loop->axes,
                          axis / loop->gpus, &matrix));
    }
    bb_log_progress("coding", fields * loop->axes, fields * loop->axes);
    for (int g = 0; g < loop->gpus; ++g) {
        loop->device_bytes += loop->parts[g].bytes;
        loop->field_bytes +=
            loop->streamed ? (double)bb_field_image_bytes(loop->parts[g].images[0]) : 0.0;
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

// A period of a streamed loop can use either slot.
static bb_status add_period(bb_wafer_loop *loop, bb_index period)
{
    bb_status status = BB_OK;
    loop_period data = {0};
    const bb_index scored = bb_wafer_loop_scored(loop, period);
    BB_TRY(make_period(loop->problem, loop->first + period, scored, loop->streamed ? 0 : scored,
                       &data));
    for (int g = 0; g < loop->gpus; ++g) {
        BB_TRY(bb_control_loop_add(loop->parts[g].loop, &data.period));
        if (loop->streamed && scored >= 0) {
            BB_TRY(bb_control_loop_use(loop->parts[g].loop, period, 1));
        }
    }
done:
    release_period(&data);
    return status;
}

// Starts the transfer to a slot after all queued work that reads the slot.
static bb_status queue_transfer(bb_wafer_loop *loop, bb_index slot, bb_index scored)
{
    bb_status status = BB_OK;
    loop->slot_fields[slot] = -1;
    for (int g = 0; g < loop->gpus; ++g) {
        const bb_loop_part *part = &loop->parts[g];
        BB_TRY(bb_field_stream_end_use(part->stream, (int)slot));
        BB_TRY(bb_field_stream_fetch(part->stream, (int)slot, part->images[scored]));
    }
    loop->slot_fields[slot] = scored;
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
        BB_TRY(open_part(devices[g], loop->streamed, (loop->axes - g + loop->gpus - 1) / loop->gpus,
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
        BB_TRY(queue_transfer(loop, slot, slot % problem->scored_count));
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
            close_part(&(*loop)->parts[g]);
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
    return loop->streamed && scored >= 0 ? queue_transfer(loop, slot_of(loop->turn), scored)
                                         : BB_OK;
}

// Sends the matrices of the next field unless they are in a slot or in flight.
static bb_status prefetch(bb_wafer_loop *loop, bb_index period)
{
    const bb_index scored = bb_wafer_loop_scored(loop, period);
    const bool present = loop->slot_fields[slot_of(loop->turn)] == scored;
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
    BB_TRY(prefetch(loop, period));
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
    const bool is_scored = loop->streamed && bb_wafer_loop_scored(loop, period) >= 0;
    if (is_scored) {
        BB_TRY(prefetch(loop, period));
    }
    for (int g = 0; g < loop->gpus; ++g) {
        const bb_loop_part *part = &loop->parts[g];
        if (is_scored) {
            BB_TRY(bb_control_loop_use(part->loop, period, slot));
            BB_TRY(bb_field_stream_begin_use(part->stream, (int)slot));
        }
        BB_TRY(bb_control_loop_begin(part->loop, period));
    }
    loop->turn += is_scored;
    loop->period = period;
    loop->step = 0;
done:
    return status;
}

// Refills the slot of the current field with the matrices of the second next scored field.
static bb_status refill_slot(bb_wafer_loop *loop)
{
    const bb_index scored = bb_wafer_loop_scored(loop, loop->period);
    return scored < 0 ? BB_OK
                      : queue_transfer(loop, slot_of(loop->turn - 1),
                                       (scored + BB_FIELD_SLOTS) % loop->problem->scored_count);
}

bb_status bb_wafer_loop_step(bb_wafer_loop *loop)
{
    bb_status status = BB_OK;
    for (int g = 0; g < loop->gpus; ++g) {
        BB_TRY(bb_control_loop_step(loop->parts[g].loop));
    }
    loop->step += 1;
    if (loop->streamed && !loop->no_prefetch && loop->step == loop->problem->scan->light_steps) {
        BB_TRY(refill_slot(loop));
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
