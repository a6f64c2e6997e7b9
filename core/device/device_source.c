// SPDX-License-Identifier: Apache-2.0
#include "core/device/device_source.h"

#include "core/memory.h"

// Defined in device_source_cuda.cu.
bb_status bb_device_source_copy_block(const bb_device_source *source, bb_queue *queue, bb_index row,
                                      bb_index column, bb_view out);

static bb_status create_copied(const bb_matrix_source *source, bb_device *device,
                               bb_device_source **out)
{
    (void)source;
    BB_RETURN_IF_FAILED(BB_ZEROED(1, out));
    **out = (bb_device_source){.device = device, .fill = BB_CUDA_TWIN(bb_device_source_copy_block)};
    return BB_OK;
}

bb_status bb_device_source_create(const bb_matrix_source *source, bb_device *device,
                                  bb_device_source **out)
{
    bb_status status = BB_OK;
    bb_matrix_twin twin = source->twin != NULL ? source->twin : create_copied;
    *out = NULL;
    BB_REQUIRE(bb_device_kind_of(device) == BB_DEVICE_CUDA, BB_UNSUPPORTED,
               "matrix %s: requested on device %s, expected cuda", source->name,
               bb_device_names[bb_device_kind_of(device)]);
    BB_TRY(twin(source, device, out));
    (*out)->rows = source->rows;
    (*out)->columns = source->columns;
    (*out)->symmetric = source->symmetric;
    (*out)->name = source->name;
    (*out)->host = source;
done:
    return status;
}

void bb_device_source_destroy(bb_device_source **source)
{
    if (*source != NULL) {
        if ((*source)->release != NULL) {
            (*source)->release(*source);
        }
        BB_RELEASE(source);
    }
}

bb_status bb_device_source_fill(const bb_device_source *source, bb_queue *queue, bb_index row,
                                bb_index column, bb_view out)
{
    bb_status status = BB_OK;
    BB_REQUIRE((out.type == BB_F64 || out.type == BB_F32) && out.rank == 2 && out.strides[1] == 1 &&
                   out.space == BB_SPACE_CUDA,
               BB_INVALID,
               "matrix %s: a block on a device must be fp64 or fp32, of rank 2, with unit column "
               "stride, in its memory",
               source->name);
    BB_TRY(bb_matrix_source_block_check(source->name, source->rows, source->columns, row, column,
                                        &out));
    BB_TRY(source->fill(source, queue, row, column, out));
done:
    return status;
}

bb_view bb_device_matrix(void *data, bb_type type, bb_index rows, bb_index columns, bb_index stride)
{
    return (bb_view){.data = data,
                     .type = type,
                     .space = BB_SPACE_CUDA,
                     .rank = 2,
                     .shape = {rows, columns},
                     .strides = {stride, 1}};
}
