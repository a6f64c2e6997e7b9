// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/loop_part.h"

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
    if (bb_codec_needs_copy(&pipeline->storage)) { // which goes when its codec is done
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
    bb_log_detail("pipeline %s: %c of field %td coded in %.2f s, %.3f bits a value", pipeline->name,
                  bb_axis_letter(axis), problem->scored[field], report->seconds,
                  8.0 * report->bytes / report->values);
done:
    bb_wafer_row_source_release(&rows);
    return status;
}

bb_status bb_loop_part_open(bb_device *device, bool streamed, int axes, bb_index fields,
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

void bb_loop_part_close(bb_loop_part *part)
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

// Of a set.
static bb_status make_operator(bb_loop_part *part, const bb_product_pipeline *pipeline,
                               const bb_coded_matrix *matrix, bb_index index)
{
    bb_status status = BB_OK;
    BB_TRY(bb_product_pipeline_operator(pipeline, part->device, matrix, &part->operators[index]));
    part->bytes += (double)bb_coded_operator_bytes(part->operators[index]);
done:
    return status;
}

// The cpu multiplies in place: a matrix stays as long as its operator.
static void hold(const bb_loop_part *part, bb_coded_matrix **matrix, bb_coded_matrix **place)
{
    if (bb_device_kind_of(part->device) == BB_DEVICE_CPU) {
        *place = *matrix;
        *matrix = NULL;
    }
}

static bb_status take_resident(bb_loop_part *part, const bb_product_pipeline *pipeline,
                               bb_index index, bb_coded_matrix **matrix)
{
    bb_status status = BB_OK;
    BB_TRY(make_operator(part, pipeline, *matrix, index));
    hold(part, matrix, &part->matrices[index]);
done:
    return status;
}

// The first field's matrices give the slots their shape; what they hold does not matter.
static bb_status take_streamed(bb_loop_part *part, const bb_product_pipeline *pipeline,
                               bb_index field, int axis, bb_coded_matrix **matrix)
{
    bb_status status = BB_OK;
    BB_TRY(bb_product_pipeline_operator(pipeline, part->device, *matrix, &part->fresh[axis]));
    for (int slot = 0; field == 0 && slot < BB_FIELD_SLOTS; ++slot) {
        BB_TRY(make_operator(part, pipeline, *matrix, slot * part->axes + axis));
    }
    hold(part, matrix, &part->fresh_matrices[axis]);
    if (axis + 1 < part->axes) {
        goto done;
    }
    if (field == 0) {
        BB_TRY(bb_field_stream_create(part->device, part->axes, part->operators, &part->stream));
    }
    BB_TRY(bb_field_image_take(part->stream, part->fresh, &part->images[field]));
    drop_fresh(part);
done:
    return status;
}

bb_status bb_loop_part_take(bb_loop_part *part, const bb_product_pipeline *pipeline, bb_index field,
                            int axis, bb_coded_matrix **matrix)
{
    bb_status status = BB_OK;
    BB_TRY(part->streamed ? take_streamed(part, pipeline, field, axis, matrix)
                          : take_resident(part, pipeline, field * part->axes + axis, matrix));
    bb_coded_matrix_destroy(matrix);
done:
    return status;
}

double bb_loop_part_image_bytes(const bb_loop_part *part)
{
    return part->streamed ? (double)bb_field_image_bytes(part->images[0]) : 0.0;
}

// Nodes that get heat in each light step.
static bb_status list_inputs(const bb_wafer_problem *problem, bb_index field,
                             bb_loop_part_period *data)
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
                              bb_loop_part_period *data)
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
                data->output[index++] = weigh(dwell, offset, i, dose);
            }
        }
    }
    data->output_begin[steps] = index;
done:
    return status;
}

bb_status bb_loop_part_period_make(const bb_wafer_problem *problem, bb_index field, bb_index scored,
                                   bb_index set, bb_loop_part_period *out)
{
    bb_status status = BB_OK;
    *out = (bb_loop_part_period){0};
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
        bb_loop_part_period_release(out);
    }
    return status;
}

void bb_loop_part_period_release(bb_loop_part_period *data)
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
