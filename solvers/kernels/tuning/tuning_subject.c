// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/tuning/tuning_subject.h"

#include "core/memory.h"

const bb_index bb_trial_shapes[BB_TRIAL_SHAPES][BB_TRIAL_EXTENTS] = {
    {1, 1, 1, 1},     {131, 7, 3, 2},  {63, 65, 5, 3},  {257, 3, 33, 2},
    {1027, 17, 5, 3}, {8209, 2, 3, 2}, {2, 8209, 3, 2}, {20011, 3, 1, 1},
};

bb_status bb_trial_data_allocate(const bb_program *program, bb_trial_data *data)
{
    bb_status status = BB_OK;
    data->count = program->object_count;
    for (int i = 0; i < program->object_count; ++i) {
        bb_program_data *object = &data->objects[i];
        BB_TRY(bb_memory_zeroed(object->columns * object->rows,
                                bb_element_type_row(program->objects[i].type)->bytes,
                                &object->elements));
    }
done:
    return status;
}

void bb_trial_data_release(bb_trial_data *data)
{
    for (int i = 0; i < data->count; ++i) {
        BB_RELEASE(&data->objects[i].elements);
    }
    *data = (bb_trial_data){.count = 0};
}

size_t bb_trial_data_object_bytes(const bb_program *program, const bb_trial_data *data, int object)
{
    return bb_element_type_row(program->objects[object].type)->bytes *
           (size_t)(data->objects[object].columns * data->objects[object].rows);
}

double bb_trial_data_bytes(const bb_program *program, const bb_trial_data *data)
{
    double bytes = 0.0;
    for (int i = 0; i < program->object_count; ++i) {
        bytes += (double)bb_trial_data_object_bytes(program, data, i);
    }
    return bytes;
}
