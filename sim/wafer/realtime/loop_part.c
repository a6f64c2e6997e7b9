// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/loop_part.h"

#include "core/memory.h"

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
                               const bb_coded_matrix *matrix, bb_index at)
{
    bb_status status = BB_OK;
    BB_TRY(bb_product_pipeline_operator(pipeline, part->device, matrix, &part->operators[at]));
    part->bytes += (double)bb_coded_operator_bytes(part->operators[at]);
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

static bb_status take_resident(bb_loop_part *part, const bb_product_pipeline *pipeline, bb_index at,
                               bb_coded_matrix **matrix)
{
    bb_status status = BB_OK;
    BB_TRY(make_operator(part, pipeline, *matrix, at));
    hold(part, matrix, &part->matrices[at]);
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
