// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/objects/numerical_object.h"

#include "core/memory.h"

#include <string.h>

static const bb_index most_elements = (bb_index)1 << 40;
enum { MOST_OPERANDS = 2 };

struct bb_numerical_object {
    bb_kernel_context *context;
    bb_element_type type;
    bb_index columns, rows;
    void *host, *block; // NULL until used there
    bool is_zero;       // never written: the host elements, if any, are zeros
    bool on_host, on_device;
    bb_numerical_traffic traffic;
};

static size_t bytes_of(const bb_numerical_object *object)
{
    return (size_t)object->columns * (size_t)object->rows *
           bb_element_type_row(object->type)->bytes;
}

bb_status bb_numerical_object_matrix(bb_kernel_context *context, bb_element_type type,
                                     bb_index columns, bb_index rows, bb_numerical_object **out)
{
    bb_status status = BB_OK;
    *out = NULL;
    BB_REQUIRE(type == BB_ELEMENT_SP || type == BB_ELEMENT_DP, BB_INVALID,
               "numerical object of type %s, expected SP or DP", bb_element_type_row(type)->name);
    BB_REQUIRE(columns >= 1 && rows >= 1 && columns <= most_elements / rows, BB_INVALID,
               "numerical object of %td x %td, expected 1 to 2^40 elements", columns, rows);
    BB_TRY(BB_ZEROED(1, out));
    (*out)->context = context;
    (*out)->type = type;
    (*out)->columns = columns;
    (*out)->rows = rows;
    (*out)->is_zero = true;
done:
    return status;
}

bb_status bb_numerical_object_vector(bb_kernel_context *context, bb_element_type type,
                                     bb_index length, bb_numerical_object **out)
{
    return bb_numerical_object_matrix(context, type, length, 1, out);
}

void bb_numerical_object_destroy(bb_numerical_object **object)
{
    if (*object == NULL) {
        return;
    }
    bb_device_release(bb_kernel_context_device((*object)->context), &(*object)->block);
    bb_memory_release(&(*object)->host);
    BB_RELEASE(object);
}

bb_element_type bb_numerical_object_type(const bb_numerical_object *object)
{
    return object->type;
}

bb_index bb_numerical_object_columns(const bb_numerical_object *object)
{
    return object->columns;
}

bb_index bb_numerical_object_rows(const bb_numerical_object *object)
{
    return object->rows;
}

bb_numerical_traffic bb_numerical_object_traffic(const bb_numerical_object *object)
{
    return object->traffic;
}

static bb_status download(bb_numerical_object *object)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(object->context);
    BB_TRY(bb_device_download(device, object->host, object->block, bytes_of(object)));
    BB_TRY(bb_device_wait(device));
    ++object->traffic.downloads;
    object->traffic.downloaded_bytes += (double)bytes_of(object);
done:
    return status;
}

bb_status bb_numerical_object_host(bb_numerical_object *object, bb_numerical_access access,
                                   void **elements)
{
    bb_status status = BB_OK;
    *elements = NULL;
    if (object->host == NULL) {
        BB_TRY(bb_memory_zeroed((bb_index)bytes_of(object), 1, &object->host));
    }
    if (!object->is_zero && !object->on_host && access != BB_NUMERICAL_OVERWRITE) {
        BB_TRY(download(object));
    }
    object->on_host = !object->is_zero;
    if (access != BB_NUMERICAL_READ) {
        // Waits, because queued work may still read the elements that are about to change.
        BB_TRY(bb_device_wait(bb_kernel_context_device(object->context)));
        object->is_zero = false;
        object->on_host = true;
        object->on_device = false;
    }
    *elements = object->host;
done:
    return status;
}

static bb_status allocate_block(bb_numerical_object *object)
{
    return object->block != NULL ? BB_OK
                                 : bb_device_allocate(bb_kernel_context_device(object->context),
                                                      bytes_of(object), &object->block);
}

// Makes an operand's elements available on the device.
static bb_status upload(bb_numerical_object *object)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(object->context);
    BB_TRY(allocate_block(object));
    if (object->is_zero) {
        BB_TRY(bb_device_zero(device, object->block, bytes_of(object)));
        object->on_host = object->host != NULL; // zeros
    } else if (!object->on_device) {
        BB_TRY(bb_device_upload(device, object->block, object->host, bytes_of(object)));
        ++object->traffic.uploads;
        object->traffic.uploaded_bytes += (double)bytes_of(object);
    }
    object->is_zero = false;
    object->on_device = true;
done:
    return status;
}

// Runs a shipped kernel whose objects are the operands and then a result.
typedef struct operation {
    const char *file;
    bb_numerical_object *operands[MOST_OPERANDS];
    int operand_count;
    bb_numerical_object *result;
    bool is_flat; // the kernel treats the elements as vectors
    double parameter;
} operation;

static bb_status check_operation(const operation *work)
{
    bb_status status = BB_OK;
    const bb_numerical_object *result = work->result;
    for (int i = 0; i < work->operand_count; ++i) {
        const bb_numerical_object *operand = work->operands[i];
        BB_REQUIRE(operand != result, BB_INVALID, "kernel %s: operand %d is also the result",
                   work->file, i + 1);
        BB_REQUIRE(operand->context == result->context, BB_INVALID,
                   "kernel %s: operand %d belongs to another context than the result", work->file,
                   i + 1);
        BB_REQUIRE(operand->type == result->type, BB_INVALID,
                   "kernel %s: operand %d is %s, but the result is %s", work->file, i + 1,
                   bb_element_type_row(operand->type)->name,
                   bb_element_type_row(result->type)->name);
    }
done:
    return status;
}

static bb_program_data sizes_of(const bb_numerical_object *object, bool flat)
{
    return flat ? (bb_program_data){object->columns * object->rows, 1, NULL}
                : (bb_program_data){object->columns, object->rows, NULL};
}

static bb_status run(const operation *work)
{
    bb_status status = BB_OK;
    bb_numerical_object *result = work->result;
    bb_program_data sizes[MOST_OPERANDS + 1];
    void *blocks[MOST_OPERANDS + 1];
    const int count = work->operand_count;
    const bb_scalar parameter = {{work->parameter, 0.0}, 0};
    const bb_kernel_use use = {.file = work->file,
                               .types = {{"T", bb_element_type_row(result->type)->name}},
                               .type_count = 1};
    BB_TRY(check_operation(work));
    for (int i = 0; i < count; ++i) {
        BB_TRY(upload(work->operands[i]));
        sizes[i] = sizes_of(work->operands[i], work->is_flat);
        blocks[i] = work->operands[i]->block;
    }
    BB_TRY(allocate_block(result));
    sizes[count] = sizes_of(result, work->is_flat);
    blocks[count] = result->block;
    BB_TRY(bb_kernel_context_run(result->context, &use, sizes, &parameter, blocks));
    result->is_zero = false;
    result->on_host = false;
    result->on_device = true;
done:
    return status;
}

static bb_status check_shape(const char *what, const bb_numerical_object *object, bb_index columns,
                             bb_index rows)
{
    bb_status status = BB_OK;
    BB_REQUIRE(object->columns == columns && object->rows == rows, BB_INVALID,
               "%s is %td x %td, expected %td x %td", what, object->columns, object->rows, columns,
               rows);
done:
    return status;
}

bb_status bb_numerical_object_fill(bb_numerical_object *object, double value)
{
    return run(
        &(operation){.file = "fill.kernel", .result = object, .is_flat = true, .parameter = value});
}

// Runs an operation that maps every element of `a` to one of `out`.
static bb_status run_same(const char *file, bb_numerical_object *a, double parameter, bool flat,
                          bb_numerical_object *out)
{
    bb_status status = BB_OK;
    BB_TRY(check_shape("the result", out, a->columns, a->rows));
    BB_TRY(run(&(operation){.file = file,
                            .operands = {a},
                            .operand_count = 1,
                            .result = out,
                            .is_flat = flat,
                            .parameter = parameter}));
done:
    return status;
}

bb_status bb_numerical_object_copy(bb_numerical_object *a, bb_numerical_object *out)
{
    return run_same("copy.kernel", a, 0.0, true, out);
}

bb_status bb_numerical_object_scale(bb_numerical_object *a, double factor, bb_numerical_object *out)
{
    return run_same("scale.kernel", a, factor, true, out);
}

bb_status bb_numerical_object_laplace(bb_numerical_object *u, bb_numerical_object *v)
{
    return run_same("laplace5.kernel", u, 0.0, false, v);
}

bb_status bb_numerical_object_add(bb_numerical_object *a, bb_numerical_object *b,
                                  bb_numerical_object *out)
{
    bb_status status = BB_OK;
    BB_TRY(check_shape("the second term", b, a->columns, a->rows));
    BB_TRY(check_shape("the sum", out, a->columns, a->rows));
    BB_TRY(run(
        &(operation){.file = "add.kernel", .operands = {a, b}, .operand_count = 2, .result = out}));
done:
    return status;
}

// Runs an operation that reduces all elements to one.
static bb_status run_reduction(const char *file, bb_numerical_object *a, bb_numerical_object *out)
{
    bb_status status = BB_OK;
    BB_TRY(check_shape("the result", out, 1, 1));
    BB_TRY(run(&(operation){
        .file = file, .operands = {a}, .operand_count = 1, .result = out, .is_flat = true}));
done:
    return status;
}

bb_status bb_numerical_object_norm(bb_numerical_object *a, bb_numerical_object *out)
{
    return run_reduction("l2norm.kernel", a, out);
}

bb_status bb_numerical_object_max(bb_numerical_object *a, bb_numerical_object *out)
{
    return run_reduction("max.kernel", a, out);
}

bb_status bb_numerical_object_multiply(bb_numerical_object *a, bb_numerical_object *x,
                                       bb_numerical_object *y)
{
    bb_status status = BB_OK;
    BB_TRY(check_shape("x of A x", x, a->columns, 1));
    BB_TRY(check_shape("y = A x", y, a->rows, 1));
    BB_TRY(run(
        &(operation){.file = "gemv.kernel", .operands = {a, x}, .operand_count = 2, .result = y}));
done:
    return status;
}

bb_status bb_numerical_object_multiply_transposed(bb_numerical_object *a, bb_numerical_object *x,
                                                  bb_numerical_object *y)
{
    bb_status status = BB_OK;
    BB_TRY(check_shape("x of A^T x", x, a->rows, 1));
    BB_TRY(check_shape("y = A^T x", y, a->columns, 1));
    BB_TRY(run(&(operation){
        .file = "gemv_transposed.kernel", .operands = {a, x}, .operand_count = 2, .result = y}));
done:
    return status;
}
