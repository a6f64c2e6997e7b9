// SPDX-License-Identifier: Apache-2.0
#include "lib/storage.h"

#include "core/memory.h"
#include "core/thread.h"
#include "lib/options.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 16, GROUPS = 2 };

struct bb_storage {
    atomic_int references;
    bb_coded_matrix *matrix;
    bb_row_certificate *certificates; // [rows]
    bb_storage_report report;
};

// clang-format off
static const bb_key layout_keys[] = {
    {.name = "scale", .kind = BB_KEY_CHOICE, .choices = bb_row_scale_names, .default_text = "none",
     .offset = offsetof(bb_storage_config, scale),
     .meaning = "row: each row is scaled by a power of two before it is rounded."},
    {.name = "mesh_columns", .kind = BB_KEY_INTEGER, .minimum = 0.0, .maximum = 1e9,
     .default_text = "0", .offset = offsetof(bb_storage_config, mesh_columns),
     .meaning = "Columns are points of a mesh, x fastest, this many across; 0: a line."},
    {.name = "row_columns", .kind = BB_KEY_INTEGER, .minimum = 0.0, .maximum = 1e9,
     .default_text = "0", .offset = offsetof(bb_storage_config, row_columns),
     .meaning = "Rows are points of a grid, this many across; 0: no grid."},
};
// clang-format on
static const bb_schema layout_schema = BB_SCHEMA("layout", bb_storage_config, layout_keys);

bb_status bb_storage_config_read(const char *text, bb_storage_config *out)
{
    bb_status status = BB_OK;
    const bb_option_group groups[GROUPS] = {
        {.prefix = "", .schema = &bb_codec_schema, .record = &out->codec},
        {.prefix = "", .schema = &layout_schema, .record = out},
    };
    const bb_options options = {
        .subject = "storage", .first = "codec", .groups = groups, .count = GROUPS};
    bb_arena arena = {0};
    char sentence[200];
    BB_TRY(bb_options_read(&options, text, &arena));
    BB_REQUIRE(bb_codec_check(&out->codec, (bb_row_scale)out->scale, sentence, sizeof sentence),
               BB_INVALID, "storage '%.80s': %s", text, sentence);
done:
    bb_arena_release(&arena);
    return status;
}

// Smallest and largest finite value of ranges of ROWS rows.
typedef struct bounding {
    bb_index columns;
    const double *values;
    double *bounds; // [ranges][2]
} bounding;

static bb_status bound_rows(void *context, bb_index begin, bb_index end)
{
    const bounding *work = context;
    double lowest = INFINITY;
    double highest = -INFINITY;
    for (bb_index i = begin * work->columns; i < end * work->columns; ++i) {
        if (isfinite(work->values[i])) {
            lowest = fmin(lowest, work->values[i]);
            highest = fmax(highest, work->values[i]);
        }
    }
    work->bounds[begin / ROWS * 2] = lowest;
    work->bounds[begin / ROWS * 2 + 1] = highest;
    return BB_OK;
}

bb_status bb_storage_config_layout(const bb_storage_config *config, bb_index rows, bb_index columns,
                                   const double *values, bb_matrix_layout *out)
{
    bb_status status = BB_OK;
    double lowest = INFINITY;
    double highest = -INFINITY;
    bounding work = {.columns = columns, .values = values};
    BB_REQUIRE(rows > 0 && columns > 0 && rows <= PTRDIFF_MAX / 8 / columns, BB_INVALID,
               "matrix of %td x %td: expected at least one row and column", rows, columns);
    BB_TRY(BB_ALLOCATE((rows + ROWS - 1) / ROWS * 2, &work.bounds));
    BB_TRY(bb_thread_ranges(rows, ROWS, bound_rows, &work));
    for (bb_index i = 0; i * ROWS < rows; ++i) {
        lowest = fmin(lowest, work.bounds[2 * i]);
        highest = fmax(highest, work.bounds[2 * i + 1]);
    }
    *out = (bb_matrix_layout){.rows = rows,
                              .columns = columns,
                              .mesh_columns = config->mesh_columns,
                              .row_columns = config->row_columns,
                              .range = highest >= lowest ? highest - lowest : 0.0};
done:
    BB_RELEASE(&work.bounds);
    return status;
}

static bb_storage_report report_of(const bb_coded_matrix *matrix, const bb_coding_loss *loss)
{
    const bb_error_norms *norms = &loss->norms;
    bb_storage_report report = {.rows = bb_coded_matrix_rows(matrix),
                                .columns = bb_coded_matrix_columns(matrix),
                                .bytes = loss->bytes,
                                .max_error = norms->max_error,
                                .rms_error = bb_error_norms_rmse(norms),
                                .mean_error = bb_error_norms_bias(norms),
                                .psnr_db = bb_error_norms_psnr_db(norms),
                                .saturated = (bb_index)loss->saturated,
                                .underflowed = (bb_index)loss->underflowed,
                                .non_finite = (bb_index)loss->non_finite};
    report.bits_per_value = 8.0 * report.bytes / ((double)report.rows * (double)report.columns);
    bb_codec_describe(bb_coded_matrix_config(matrix), report.description,
                      sizeof report.description);
    return report;
}

static bb_status allocate(bb_index rows, bb_storage **out)
{
    bb_status status = BB_OK;
    bb_storage *storage = NULL;
    BB_TRY(BB_ZEROED(1, &storage));
    atomic_init(&storage->references, 1);
    BB_TRY(BB_ALLOCATE(rows, &storage->certificates));
    *out = storage;
    storage = NULL;
done:
    BB_RELEASE(&storage);
    return status;
}

// Encodes values in `encoded`, or compares them with a finished matrix if it is NULL.
static bb_status code(const double *values, const bb_coded_matrix *matrix, bb_coded_matrix *encoded,
                      bb_row_certificate *certificates, bb_coding_loss *loss)
{
    const bb_view view = bb_view_matrix((double *)(uintptr_t)values, bb_coded_matrix_rows(matrix),
                                        bb_coded_matrix_columns(matrix));
    const bb_matrix_source source = bb_matrix_source_dense(&view, "matrix", "1");
    const bb_exact_rows exact = {&source, 1, NULL};
    const bb_matrix_coding coding = {
        .rows = &exact, .certificates = certificates, .allows_non_finite = true};
    return encoded != NULL ? bb_matrix_coding_encode(&coding, encoded, loss)
                           : bb_matrix_coding_compare(&coding, matrix, loss);
}

bb_status bb_storage_config_encode(const bb_storage_config *config, const bb_matrix_layout *layout,
                                   const double *values, bb_row_certificate *certificates,
                                   bb_coding_loss *loss, bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    bb_coded_matrix *matrix = NULL;
    BB_TRY(bb_coded_matrix_create(&config->codec, (bb_row_scale)config->scale, layout, &matrix));
    BB_TRY(code(values, matrix, matrix, certificates, loss));
    *out = matrix;
    matrix = NULL;
done:
    bb_coded_matrix_destroy(&matrix);
    return status;
}

bb_status bb_storage_of_matrix(bb_coded_matrix **matrix, const double *values, bb_storage **out)
{
    bb_status status = BB_OK;
    bb_storage *storage = NULL;
    bb_coding_loss loss = {0};
    BB_TRY(allocate(bb_coded_matrix_rows(*matrix), &storage));
    storage->matrix = *matrix;
    *matrix = NULL;
    BB_TRY(code(values, storage->matrix, NULL, storage->certificates, &loss));
    storage->report = report_of(storage->matrix, &loss);
    *out = storage;
    storage = NULL;
done:
    bb_storage_destroy(&storage);
    bb_coded_matrix_destroy(matrix);
    return status;
}

bb_index bb_storage_count(void)
{
    return bb_codec_count();
}

const char *bb_storage_name(bb_index index)
{
    return index >= 0 && index < bb_codec_count() ? bb_codec_name((int)index) : NULL;
}

// The codec is the first key of its schema; the others and those of the layout are listed.
static const bb_key *key_at(bb_index index)
{
    const bb_index own = bb_codec_schema.key_count - 1;
    if (index < 0 || index >= bb_storage_key_count()) {
        return NULL;
    }
    return index < own ? &bb_codec_schema.keys[index + 1] : &layout_keys[index - own];
}

bb_index bb_storage_key_count(void)
{
    return bb_codec_schema.key_count - 1 + layout_schema.key_count;
}

bb_status bb_storage_key(bb_index index, const char **name, const char **meaning, char *words,
                         size_t words_bytes)
{
    bb_status status = BB_OK;
    const bb_key *key = key_at(index);
    size_t length = 0;
    BB_REQUIRE_POINTER(name);
    BB_REQUIRE_POINTER(meaning);
    BB_REQUIRE_POINTER(words);
    BB_REQUIRE(key != NULL, BB_INVALID, "key %td of storages: expected 0 to %td", index,
               bb_storage_key_count() - 1);
    *name = key->name;
    *meaning = key->meaning;
    for (int w = 0; words_bytes > 0 && key->choices != NULL && key->choices[w] != NULL; ++w) {
        const int written = snprintf(words + length, words_bytes - length, "%s%s",
                                     w == 0 ? "" : " ", key->choices[w]);
        BB_REQUIRE(written > 0 && length + (size_t)written < words_bytes, BB_INVALID,
                   "words of %s: the buffer of %zu bytes is too small", key->name, words_bytes);
        length += (size_t)written;
    }
    if (words_bytes > 0) {
        words[length] = '\0';
    }
done:
    return status;
}

bb_status bb_storage_check(const char *text, char *description, size_t description_bytes,
                           double *bits_per_value)
{
    bb_status status = BB_OK;
    bb_storage_config config;
    BB_TRY(bb_storage_config_read(text, &config));
    if (description != NULL) {
        bb_codec_describe(&config.codec, description, description_bytes);
    }
    if (bits_per_value != NULL) {
        *bits_per_value = bb_codec_bits_per_value(&config.codec);
    }
done:
    return status;
}

bb_status bb_storage_bound(const char *text, double range, double magnitude, double block_magnitude,
                           double *bound)
{
    bb_status status = BB_OK;
    bb_storage_config config;
    BB_REQUIRE_POINTER(bound);
    BB_TRY(bb_storage_config_read(text, &config));
    BB_REQUIRE(magnitude >= 0.0 && block_magnitude >= magnitude && isfinite(block_magnitude),
               BB_INVALID, "bound of magnitude %g in a block of %g: expected 0 <= %g <= %g < inf",
               magnitude, block_magnitude, magnitude, block_magnitude);
    const bool relative = !isnan(config.codec.tolerance_of_range);
    BB_REQUIRE(!relative || (range >= 0.0 && isfinite(range)), BB_INVALID,
               "bound of a tolerance of the range: range = %g, expected a finite range", range);
    const double tolerance =
        relative ? config.codec.tolerance_of_range * range : config.codec.tolerance;
    *bound = bb_codec_bound(&config.codec, tolerance, magnitude, block_magnitude);
done:
    return status;
}

bb_status bb_storage_encode(const char *text, bb_index rows, bb_index columns, const double *values,
                            bb_storage **out)
{
    bb_status status = BB_OK;
    bb_storage_config config;
    bb_matrix_layout layout;
    bb_storage *storage = NULL;
    bb_coding_loss loss = {0};
    BB_REQUIRE_POINTER(out);
    *out = NULL;
    BB_REQUIRE_POINTER(values);
    BB_TRY(bb_library_prepare());
    BB_TRY(bb_storage_config_read(text, &config));
    BB_TRY(bb_storage_config_layout(&config, rows, columns, values, &layout));
    BB_TRY(allocate(rows, &storage));
    BB_TRY(
        bb_status_prefix(bb_storage_config_encode(&config, &layout, values, storage->certificates,
                                                  &loss, &storage->matrix),
                         "storage '%.80s'", text));
    storage->report = report_of(storage->matrix, &loss);
    *out = storage;
    storage = NULL;
done:
    bb_storage_destroy(&storage);
    return status;
}

bb_storage *bb_storage_share(const bb_storage *storage)
{
    bb_storage *shared = (bb_storage *)(uintptr_t)storage;
    (void)atomic_fetch_add(&shared->references, 1);
    return shared;
}

void bb_storage_destroy(bb_storage **storage)
{
    if (storage == NULL || *storage == NULL) {
        return;
    }
    if (atomic_fetch_sub(&(*storage)->references, 1) == 1) {
        bb_coded_matrix_destroy(&(*storage)->matrix);
        BB_RELEASE(&(*storage)->certificates);
        BB_RELEASE(storage);
    }
    *storage = NULL;
}

const bb_coded_matrix *bb_storage_matrix(const bb_storage *storage)
{
    return storage->matrix;
}

const bb_row_certificate *bb_storage_certificates(const bb_storage *storage)
{
    return storage->certificates;
}

// Rows to decode.
typedef struct decoding {
    const bb_coded_matrix *matrix;
    bb_index row;
    double *out;
} decoding;

static bb_status decode_rows(void *context, bb_index begin, bb_index end)
{
    const decoding *work = context;
    const bb_index columns = bb_coded_matrix_columns(work->matrix);
    for (bb_index i = begin; i < end; ++i) {
        double *values = work->out + i * columns;
        const double inverse = 1.0 / bb_coded_matrix_row_scale(work->matrix, work->row + i);
        bb_coded_matrix_decode(work->matrix, work->row + i, 0, columns, values);
        for (bb_index j = 0; inverse != 1.0 && j < columns; ++j) {
            values[j] *= inverse;
        }
    }
    return BB_OK;
}

bb_status bb_storage_decode(const bb_storage *storage, bb_index row, bb_index rows, double *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE_POINTER(storage);
    BB_REQUIRE_POINTER(out);
    BB_TRY(bb_library_prepare());
    const bb_index count = bb_coded_matrix_rows(storage->matrix);
    BB_REQUIRE(row >= 0 && rows >= 0 && row <= count - rows, BB_INVALID,
               "%td rows from row %td: expected rows of a matrix with %td", rows, row, count);
    decoding work = {storage->matrix, row, out};
    BB_TRY(rows == count ? bb_matrix_coding_decode(storage->matrix, out)
                         : bb_thread_ranges(rows, 1, decode_rows, &work));
done:
    return status;
}

bb_status bb_storage_describe(const bb_storage *storage, bb_storage_report *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE_POINTER(storage);
    BB_REQUIRE_POINTER(out);
    *out = storage->report;
done:
    return status;
}

bb_status bb_storage_quantise(const char *text, bb_index rows, bb_index columns,
                              const double *values, double *out, bb_storage_report *report)
{
    bb_status status = BB_OK;
    bb_storage *storage = NULL;
    BB_REQUIRE_POINTER(out);
    BB_TRY(bb_storage_encode(text, rows, columns, values, &storage));
    BB_TRY(bb_matrix_coding_decode(storage->matrix, out));
    if (report != NULL) {
        *report = storage->report;
    }
done:
    bb_storage_destroy(&storage);
    return status;
}
