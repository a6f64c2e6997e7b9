// SPDX-License-Identifier: Apache-2.0
//
// Images are identified by their products: an image represents the operators of a field, which the
// test creates and whose products have the same bits.
#include "tests/sim/wafer/realtime/emulated_stream.h"

#include "core/clock.h"
#include "core/memory.h"
#include "tests/check.h"

enum { EMULATED_FIELDS = 3, EMULATED_AXES = 3, EMULATED_STREAMS = 3 };

double emulated_copy_s;
bb_index emulated_copies;

// Operators of every field, and their replacements in slots.
static bb_coded_matrix *emulated_matrix[EMULATED_FIELDS * EMULATED_AXES];
static bb_coded_operator *emulated_field[EMULATED_FIELDS * EMULATED_AXES];
static struct {
    const bb_coded_operator *slot;
    bb_coded_operator *own;
} emulated_place[EMULATED_STREAMS * BB_FIELD_SLOTS * EMULATED_AXES];

struct bb_field_stream {
    int axes;
    bb_coded_operator *const *slots;
    double copied[BB_FIELD_SLOTS]; // completion times, s
};

struct bb_field_image {
    bb_coded_operator *own[EMULATED_AXES];
};

void emulated_know(const bb_wafer_study *study, const bb_wafer_problem *problem,
                   const bb_product_pipeline *pipeline, bb_device *cpu)
{
    const int *axes = study->response.axes.items;
    const bb_index count = study->response.axes.count;
    bb_coding_report report;
    assert_true(problem->scored_count <= EMULATED_FIELDS && count <= EMULATED_AXES);
    for (bb_index i = 0; i < problem->scored_count * count; ++i) {
        check_ok(bb_loop_part_encode(study, problem, pipeline, i / count, axes[i % count], &report,
                                     &emulated_matrix[i]));
        check_ok(
            bb_product_pipeline_operator(pipeline, cpu, emulated_matrix[i], &emulated_field[i]));
    }
}

void emulated_forget(void)
{
    for (int i = 0; i < EMULATED_FIELDS * EMULATED_AXES; ++i) {
        bb_coded_operator_destroy(&emulated_field[i]);
        bb_coded_matrix_destroy(&emulated_matrix[i]);
    }
    memset(emulated_place, 0, sizeof emulated_place);
}

bb_coded_operator *emulated_operator(bb_coded_operator *operation)
{
    for (size_t i = 0; i < sizeof emulated_place / sizeof *emulated_place; ++i) {
        if (emulated_place[i].slot == operation && operation != NULL) {
            return emulated_place[i].own;
        }
    }
    return operation;
}

static void emulated_stand(const bb_coded_operator *slot, bb_coded_operator *operator)
{
    const size_t count = sizeof emulated_place / sizeof *emulated_place;
    size_t index = 0;
    while (index < count && emulated_place[index].slot != slot) {
        ++index;
    }
    for (size_t i = 0; index == count && i < count; ++i) {
        index = emulated_place[i].slot == NULL ? i : count;
    }
    assert_true(index < count);
    emulated_place[index].slot = slot;
    emulated_place[index].own = operator;
}

bb_status bb_field_stream_create(bb_device *device, int axes, bb_coded_operator *const *slots,
                                 bb_field_stream **out)
{
    bb_status status = BB_OK;
    (void)device;
    BB_TRY(BB_ZEROED(1, out));
    (*out)->axes = axes;
    (*out)->slots = slots;
done:
    return status;
}

void bb_field_stream_destroy(bb_field_stream **stream)
{
    // Other operators may reuse the addresses of its slots.
    for (size_t i = 0; *stream != NULL && i < sizeof emulated_place / sizeof *emulated_place; ++i) {
        for (int k = 0; k < BB_FIELD_SLOTS * (*stream)->axes; ++k) {
            if (emulated_place[i].slot == (*stream)->slots[k]) {
                emulated_place[i].slot = NULL;
            }
        }
    }
    BB_RELEASE(stream);
}

// Product of all rows with a vector without symmetry.
static void emulated_probe(bb_coded_operator *operation, double *x, double *y)
{
    double seconds = 0.0;
    for (bb_index j = 0; j < bb_coded_operator_columns(operation); ++j) {
        x[j] = 1.0 / (double)(j + 3);
    }
    check_ok(
        bb_coded_operator_apply(operation, 0, bb_coded_operator_rows(operation), x, y, &seconds));
}

bb_status bb_field_image_create(bb_field_stream *stream, bb_coded_operator *const *operators,
                                bb_field_image **out)
{
    bb_status status = BB_OK;
    autofree double *x = NULL;
    double *y[2] = {NULL, NULL};
    const size_t bytes = (size_t)bb_coded_operator_rows(operators[0]) * sizeof **y;
    BB_TRY(BB_ZEROED(1, out));
    BB_TRY(BB_ALLOCATE(bb_coded_operator_columns(operators[0]), &x));
    BB_TRY(BB_ALLOCATE(bb_coded_operator_rows(operators[0]), &y[0]));
    BB_TRY(BB_ALLOCATE(bb_coded_operator_rows(operators[0]), &y[1]));
    for (int axis = 0; axis < stream->axes; ++axis) {
        emulated_probe(operators[axis], x, y[0]);
        for (int i = 0; i < EMULATED_FIELDS * EMULATED_AXES && emulated_field[i] != NULL; ++i) {
            emulated_probe(emulated_field[i], x, y[1]);
            if (memcmp(y[0], y[1], bytes) == 0) {
                (*out)->own[axis] = emulated_field[i];
            }
        }
        assert_non_null((*out)->own[axis]);
    }
done:
    BB_RELEASE(&y[0]);
    BB_RELEASE(&y[1]);
    return status;
}

void bb_field_image_destroy(bb_field_image **image)
{
    BB_RELEASE(image);
}

size_t bb_field_image_bytes(const bb_field_image *image)
{
    (void)image;
    return 1000;
}

bb_status bb_field_stream_fetch(bb_field_stream *stream, int slot, const bb_field_image *image)
{
    const double now = bb_clock_seconds();
    double begin = now;
    for (int other = 0; other < BB_FIELD_SLOTS; ++other) {
        begin = stream->copied[other] > begin ? stream->copied[other] : begin;
    }
    stream->copied[slot] = begin + emulated_copy_s;
    emulated_copies += 1;
    for (int axis = 0; axis < stream->axes; ++axis) {
        emulated_stand(stream->slots[slot * stream->axes + axis], image->own[axis]);
    }
    return BB_OK;
}

bb_status bb_field_stream_ready(bb_field_stream *stream, int slot, bool *ready)
{
    *ready = bb_clock_seconds() >= stream->copied[slot];
    return BB_OK;
}

bb_status bb_field_stream_begin_use(bb_field_stream *stream, int slot)
{
    while (bb_clock_seconds() < stream->copied[slot]) {
    }
    return BB_OK;
}

bb_status bb_field_stream_end_use(bb_field_stream *stream, int slot)
{
    (void)stream;
    (void)slot;
    return BB_OK;
}

bb_status bb_field_stream_seconds(bb_field_stream *stream, int slot, double *copied,
                                  double *remainder)
{
    (void)stream;
    (void)slot;
    *copied = *remainder = emulated_copy_s;
    return BB_OK;
}
