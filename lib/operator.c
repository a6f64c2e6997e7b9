// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"
#include "core/csr.h"
#include "core/memory.h"
#include "lib/options.h"
#include "lib/storage.h"
#include "solvers/operator/coded_operator.h"

#include <math.h>
#include <string.h>

struct bb_operator {
    bb_storage *storage;      // shared; NULL for sparse rows
    bb_device *device;        // NULL for sparse rows
    bb_coded_matrix *plain;   // fp32 copy, for storages that a device decodes once
    bb_coded_operator *coded; // product with the storage
    bb_csr csr;               // sparse rows
    bb_sum_rounding rounding;
    bb_operator_report report;
};

static const char work_name[] = "a product with a storage";
static const unsigned offered = 1U << BB_DEVICE_CPU | 1U << BB_DEVICE_CUDA;

// Parsed arithmetic text.
typedef struct gemv_config {
    int multiply, accumulate; // bb_format
    bb_index run;
} gemv_config;

static const char *const format_names[] = {"fp64", "fp32", NULL}; // in bb_format's order

// clang-format off
static const bb_key gemv_keys[] = {
    {.name = "multiply", .kind = BB_KEY_CHOICE, .choices = format_names, .default_text = "fp64",
     .offset = offsetof(gemv_config, multiply)},
    {.name = "accumulate", .kind = BB_KEY_CHOICE, .choices = format_names, .default_text = "fp64",
     .offset = offsetof(gemv_config, accumulate)},
    {.name = "run", .kind = BB_KEY_INTEGER, .minimum = 1.0, .maximum = BB_GEMV_RUN_MOST,
     .default_text = "1", .offset = offsetof(gemv_config, run)},
};
// clang-format on
static const bb_schema gemv_schema = BB_SCHEMA("arithmetic", gemv_config, gemv_keys);

static bb_status read_arithmetic(const char *text, gemv_config *out)
{
    const bb_option_group groups[] = {{.prefix = "", .schema = &gemv_schema, .record = out}};
    const bb_options options = {.subject = "arithmetic", .groups = groups, .count = 1};
    bb_arena arena = {0};
    const bb_status status = bb_options_read(&options, text, &arena);
    bb_arena_release(&arena);
    return status;
}

static bb_status create_coded(bb_operator *self, const gemv_config *config)
{
    bb_status status = BB_OK;
    const bb_coded_matrix *matrix = bb_storage_matrix(self->storage);
    const bb_codec_config *codec = bb_coded_matrix_config(matrix);
    const bb_device_kind kind = bb_device_kind_of(self->device);
    const bb_gemv_arithmetic arithmetic = {(bb_format)config->multiply,
                                           (bb_format)config->accumulate};
    const char *absent = bb_codec_absent(codec, kind);
    double seconds = 0.0;
    BB_REQUIRE(absent == NULL, BB_UNSUPPORTED, "device %s, storage %s: %s", bb_device_names[kind],
               bb_codec_name(codec->codec), absent);
    if (bb_codec_unpacks(codec, kind)) {
        BB_TRY(bb_matrix_coding_unpack(matrix, &seconds, &self->plain));
    }
    BB_TRY(bb_coded_operator_create(self->device, self->plain != NULL ? self->plain : matrix,
                                    arithmetic, &self->coded));
    BB_TRY(config->run > 1 ? bb_coded_operator_sum_in_runs(self->coded, config->run) : BB_OK);
    const bb_index rows = bb_coded_matrix_rows(matrix);
    const bb_index columns = bb_coded_matrix_columns(matrix);
    self->rounding = bb_coded_operator_rounding(codec, arithmetic, config->run, columns);
    self->report =
        (bb_operator_report){.rows = rows,
                             .columns = columns,
                             .bytes = (double)bb_coded_operator_bytes(self->coded),
                             .flops = bb_coded_operator_flops(rows, columns),
                             .operand_bytes = bb_format_describe(arithmetic.multiply)->bytes};
done:
    return status;
}

bb_status bb_operator_create(const bb_storage *storage, const char *arithmetic, const char *device,
                             bb_operator **out)
{
    bb_status status = BB_OK;
    bb_operator *self = NULL;
    gemv_config config;
    BB_REQUIRE_POINTER(out);
    *out = NULL;
    BB_REQUIRE_POINTER(storage);
    BB_TRY(bb_library_prepare());
    BB_TRY(read_arithmetic(arithmetic, &config));
    BB_TRY(BB_ZEROED(1, &self));
    BB_TRY(bb_library_open_device(device, offered, work_name, NULL, &self->device));
    self->storage = bb_storage_share(storage);
    BB_TRY(create_coded(self, &config));
    *out = self;
    self = NULL;
done:
    bb_operator_destroy(&self);
    return status;
}

bb_status bb_operator_create_dense(const char *text, bb_index rows, bb_index columns,
                                   const double *values, const char *arithmetic, const char *device,
                                   bb_operator **out)
{
    bb_status status = BB_OK;
    bb_storage *storage = NULL;
    BB_REQUIRE_POINTER(out);
    *out = NULL;
    BB_TRY(bb_storage_encode(text, rows, columns, values, &storage));
    BB_TRY(bb_operator_create(storage, arithmetic, device, out));
done:
    bb_storage_destroy(&storage);
    return status;
}

static bb_index index_at(const void *indices, int bytes, bb_index place)
{
    return bytes == 4 ? ((const int32_t *)indices)[place]
                      : (bb_index)((const int64_t *)indices)[place];
}

static bb_status assemble(bb_index rows, bb_index columns, int index_bytes, const void *row_start,
                          const void *column, const double *value, bb_csr *out)
{
    bb_status status = BB_OK;
    bb_triplets list = {0};
    bb_index begin = index_at(row_start, index_bytes, 0);
    BB_REQUIRE(begin == 0, BB_INVALID, "row_start[0] = %td, expected 0", begin);
    for (bb_index i = 0; i < rows; ++i) {
        const bb_index end = index_at(row_start, index_bytes, i + 1);
        BB_REQUIRE(end >= begin, BB_INVALID, "row_start[%td] = %td is less than row_start[%td]",
                   i + 1, end, i);
        for (bb_index k = begin; k < end; ++k) {
            const bb_index j = index_at(column, index_bytes, k);
            BB_REQUIRE(j >= 0 && j < columns, BB_INVALID,
                       "column[%td] = %td, expected 0 to %td; check index_bytes", k, j,
                       columns - 1);
            BB_TRY(bb_triplets_add(&list, i, j, value[k]));
        }
        begin = end;
    }
    BB_TRY(bb_csr_assemble(rows, columns, &list, out));
done:
    bb_triplets_release(&list);
    return status;
}

bb_status bb_operator_create_csr(bb_index rows, bb_index columns, int index_bytes,
                                 const void *row_start, const void *column, const double *value,
                                 bb_operator **out)
{
    bb_status status = BB_OK;
    bb_operator *self = NULL;
    BB_REQUIRE_POINTER(out);
    *out = NULL;
    BB_REQUIRE_POINTER(row_start);
    BB_TRY(bb_library_prepare());
    BB_REQUIRE(index_bytes == 4 || index_bytes == 8, BB_INVALID,
               "index_bytes = %d, expected 4 (int32) or 8 (int64)", index_bytes);
    BB_REQUIRE(rows > 0 && columns > 0 && rows < INT32_MAX && columns < INT32_MAX, BB_INVALID,
               "sparse matrix of %td x %td: expected 1 to %d rows and columns", rows, columns,
               INT32_MAX - 1);
    BB_REQUIRE(index_at(row_start, index_bytes, rows) == 0 || (column != NULL && value != NULL),
               BB_INVALID, "sparse matrix: column or value is NULL; pass an address");
    BB_TRY(BB_ZEROED(1, &self));
    BB_TRY(assemble(rows, columns, index_bytes, row_start, column, value, &self->csr));
    const double entries = (double)bb_csr_nonzeros(&self->csr);
    self->report = (bb_operator_report){.rows = rows,
                                        .columns = columns,
                                        .bytes = entries * (sizeof(double) + sizeof(int32_t)) +
                                                 (double)(rows + 1) * sizeof(bb_index),
                                        .flops = 2.0 * entries,
                                        .operand_bytes = sizeof(double)};
    *out = self;
    self = NULL;
done:
    bb_operator_destroy(&self);
    return status;
}

void bb_operator_destroy(bb_operator **operation)
{
    if (operation == NULL || *operation == NULL) {
        return;
    }
    bb_operator *self = *operation;
    bb_coded_operator_destroy(&self->coded);
    bb_coded_matrix_destroy(&self->plain);
    bb_storage_destroy(&self->storage);
    bb_device_close(&self->device);
    bb_csr_release(&self->csr);
    BB_RELEASE(operation);
}

bb_status bb_operator_describe(const bb_operator *operation, bb_operator_report *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE_POINTER(operation);
    BB_REQUIRE_POINTER(out);
    *out = operation->report;
done:
    return status;
}

bb_status bb_operator_apply(bb_operator *operation, bb_index count, const double *x, double *y,
                            double *seconds)
{
    bb_status status = BB_OK;
    double spent = 0.0;
    BB_REQUIRE_POINTER(operation);
    BB_REQUIRE_POINTER(x);
    BB_REQUIRE_POINTER(y);
    BB_TRY(bb_library_prepare());
    BB_REQUIRE(count >= 0, BB_INVALID, "%td vectors: expected 0 or more", count);
    const bb_index rows = operation->report.rows;
    const double begin = bb_clock_seconds();
    for (bb_index v = 0; v < count; ++v) {
        const double *from = x + v * operation->report.columns;
        BB_TRY(operation->coded != NULL
                   ? bb_coded_operator_apply(operation->coded, 0, rows, from, y + v * rows, &spent)
                   : bb_csr_multiply(&operation->csr, from, y + v * rows));
    }
    if (seconds != NULL) {
        *seconds = operation->coded != NULL ? spent : bb_clock_seconds() - begin;
    }
done:
    return status;
}

// A product on the user's stream.
typedef struct queued {
    bb_coded_operator *operation;
    const void *x;
    double *y;
    bb_queue *queue;
} queued;

static bb_status queue_there(bb_queue *own, bb_index begin, bb_index rows, void *arguments)
{
    const queued *work = arguments;
    const bb_coded_window window = {.row = begin, .rows = rows};
    double *const y[] = {work->y};
    (void)own; // the product is queued on the user's stream
    return bb_coded_operator_queue(&work->operation, 1, &window, work->x, y, work->queue);
}

// Launched to make the GPU current.
static const bb_kernel queue_kernel = {
    .name = "operator_queue", .grain = 1, .run[BB_DEVICE_CUDA] = queue_there};

bb_status bb_operator_queue(bb_operator *operation, const void *x, void *y, void *stream)
{
    bb_status status = BB_OK;
    BB_REQUIRE_POINTER(operation);
    BB_REQUIRE_POINTER(x);
    BB_REQUIRE_POINTER(y);
    BB_REQUIRE(operation->coded != NULL && bb_device_kind_of(operation->device) == BB_DEVICE_CUDA,
               BB_UNSUPPORTED,
               "bb_operator_queue: the operator is on the cpu; create it on cuda or use "
               "bb_operator_apply");
    queued work = {operation->coded, x, y, stream};
    BB_TRY(bb_device_launch(operation->device, &queue_kernel, operation->report.rows, &work));
done:
    return status;
}

// Bound of the rounding of a sparse row, relative to |a| |x|: one product and at most as many sums
// as entries.
static double bound_row(const bb_csr *csr, bb_index row, const double *x)
{
    static const double unit = 0x1p-53, smallest = 0x1p-1074;
    const double count = (double)(csr->row_start[row + 1] - csr->row_start[row]);
    double sum = 0.0;
    for (bb_index k = csr->row_start[row]; k < csr->row_start[row + 1]; ++k) {
        sum += fabs(csr->value[k] * x[csr->column[k]]);
    }
    const double bound =
        expm1((count + 1.0) * unit) * sum * (1.0 + 4.0 * count * unit) + count * smallest;
    return isfinite(bound) ? bound : INFINITY;
}

bb_status bb_operator_bound(const bb_operator *operation, const double *x, double *coding,
                            double *rounding)
{
    bb_status status = BB_OK;
    BB_REQUIRE_POINTER(operation);
    BB_REQUIRE_POINTER(x);
    const bb_vector_norms norms = bb_vector_norms_of(x, operation->report.columns);
    const bb_row_certificate *rows =
        operation->storage == NULL ? NULL : bb_storage_certificates(operation->storage);
    for (bb_index i = 0; i < operation->report.rows; ++i) {
        if (coding != NULL) {
            coding[i] = rows == NULL ? 0.0 : bb_row_certificate_coding(&rows[i], &norms);
        }
        if (rounding != NULL) {
            rounding[i] = rows == NULL
                              ? bound_row(&operation->csr, i, x)
                              : bb_row_certificate_rounding(&rows[i], &norms, &operation->rounding);
        }
    }
done:
    return status;
}
