// SPDX-License-Identifier: Apache-2.0
#include "core/array.h"

#include "core/memory.h"

#include <assert.h>

static const struct {
    const char *name;
    size_t bytes;
} types[BB_TYPE_COUNT] = {
    [BB_F64] = {"f64", 8},
    [BB_F32] = {"f32", 4},
    [BB_U16] = {"u16", 2},
    [BB_U8] = {"u8", 1},
};

size_t bb_type_bytes(bb_type type)
{
    return types[type].bytes;
}

const char *bb_type_name(bb_type type)
{
    return types[type].name;
}

bb_view bb_view_matrix(double *data, bb_index rows, bb_index columns)
{
    return (bb_view){
        .data = data, .type = BB_F64, .rank = 2, .shape = {rows, columns}, .strides = {columns, 1}};
}

bb_view bb_view_vector(double *data, bb_index count)
{
    return (bb_view){.data = data, .type = BB_F64, .rank = 1, .shape = {count}, .strides = {1}};
}

bb_view bb_view_block(bb_view view, bb_index row, bb_index rows, bb_index column, bb_index columns)
{
    assert(view.rank == 2 && row >= 0 && rows >= 0 && row + rows <= view.shape[0]);
    assert(column >= 0 && columns >= 0 && column + columns <= view.shape[1]);
    bb_view block = view;
    bb_index offset = row * view.strides[0] + column * view.strides[1];
    block.data = (char *)view.data + (size_t)offset * bb_type_bytes(view.type);
    block.shape[0] = rows;
    block.shape[1] = columns;
    return block;
}

double *bb_view_row(bb_view view, bb_index row)
{
    assert(view.type == BB_F64 && view.rank == 2 && view.space == BB_SPACE_HOST);
    return (double *)view.data + row * view.strides[0];
}

bb_index bb_view_items(bb_view view)
{
    bb_index items = 1;
    for (int axis = 0; axis < view.rank; ++axis) {
        items *= view.shape[axis];
    }
    return items;
}

bool bb_view_contiguous(bb_view view)
{
    bb_index expected = 1;
    for (int axis = view.rank - 1; axis >= 0; --axis) {
        if (view.strides[axis] != expected) {
            return false;
        }
        expected *= view.shape[axis];
    }
    return true;
}

bb_status bb_array_create(bb_type type, int rank, const bb_index *shape, bb_array *out)
{
    bb_status status = BB_OK;
    *out = (bb_array){.view = {.type = type, .rank = rank}};
    BB_REQUIRE(rank >= 1 && rank <= BB_MAX_RANK, BB_INVALID, "array of %d axes, expected 1..%d",
               rank, BB_MAX_RANK);
    bb_index items = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
        out->view.shape[axis] = shape[axis];
        out->view.strides[axis] = items;
        BB_REQUIRE(shape[axis] >= 0 && !__builtin_mul_overflow(items, shape[axis], &items),
                   BB_INVALID, "array axis %d of %td items: negative or too large", axis,
                   shape[axis]);
    }
    BB_TRY(bb_memory_zeroed(items, bb_type_bytes(type), &out->view.data));
done:
    return status;
}

void bb_array_release(bb_array *array)
{
    bb_memory_release(&array->view.data);
    array->view = (bb_view){0};
}
