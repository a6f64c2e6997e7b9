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
