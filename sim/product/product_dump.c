// SPDX-License-Identifier: Apache-2.0
#include "sim/product/product_dump.h"

#include "core/memory.h"
#include "sim/dump.h"
#include "sim/study.h"

#include <stdio.h>
#include <string.h>

enum { UNIT_BYTES = 160 };

struct bb_product_dump {
    bb_results *results; // borrowed: they own this
    bool wants_y, wants_matrix;
    double *y[BB_STUDY_PIPELINES]; // [vectors][rows]
    bb_view views[BB_STUDY_PIPELINES];
    bb_coded_matrix *matrices[BB_STUDY_PIPELINES];
    bb_matrix_source y_sources[BB_STUDY_PIPELINES], matrix_sources[BB_STUDY_PIPELINES];
    // The files that units were read from are closed before this one is written.
    char units[BB_STUDY_PIPELINES][UNIT_BYTES], y_units[BB_STUDY_PIPELINES][UNIT_BYTES];
};

static void release(void *object)
{
    bb_product_dump *dump = object;
    for (bb_index p = 0; p < BB_STUDY_PIPELINES; ++p) {
        BB_RELEASE(&dump->y[p]);
        bb_coded_matrix_destroy(&dump->matrices[p]);
    }
    BB_RELEASE(&dump);
}

bb_status bb_product_dump_create(bb_results *results, const char *names, bb_product_dump **out)
{
    bb_status status = BB_OK;
    bb_product_dump *dump = NULL;
    *out = NULL;
    if (!bb_dump_wanted(names, "Y") && !bb_dump_wanted(names, "C")) {
        goto done;
    }
    BB_TRY(BB_ZEROED(1, &dump));
    dump->results = results;
    dump->wants_y = bb_dump_wanted(names, "Y");
    dump->wants_matrix = bb_dump_wanted(names, "C");
    BB_TRY(bb_results_keep(results, dump, release));
    *out = dump;
done:
    return status;
}

static bb_status add(bb_product_dump *dump, const char *letter, const char *what, bb_index index,
                     const char *pipeline, const bb_matrix_source *source)
{
    char name[64];
    char long_name[192];
    (void)snprintf(name, sizeof name, "%s_%td", letter, index);
    (void)snprintf(long_name, sizeof long_name, "%s of pipeline %.120s", what, pipeline);
    return bb_results_operator(dump->results, name, long_name, source);
}

bb_status bb_product_dump_y(bb_product_dump *dump, bb_index index, const char *pipeline,
                            const char *unit, bb_index vectors, bb_index rows, const double *y)
{
    bb_status status = BB_OK;
    if (dump == NULL || !dump->wants_y) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(vectors * rows, &dump->y[index]));
    memcpy(dump->y[index], y, (size_t)(vectors * rows) * sizeof *y);
    dump->views[index] = bb_view_matrix(dump->y[index], vectors, rows);
    (void)snprintf(dump->y_units[index], sizeof dump->y_units[index], "%s", unit);
    dump->y_sources[index] = bb_matrix_source_dense(&dump->views[index], "Y", dump->y_units[index]);
    BB_TRY(add(dump, "Y", "products, a vector a row,", index, pipeline, &dump->y_sources[index]));
done:
    return status;
}

static bb_status fill_decoded(const bb_matrix_source *source, bb_index row, bb_index column,
                              bb_view out)
{
    const bb_coded_matrix *matrix = source->context;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = (double *)out.data + i * out.strides[0];
        const double scale = bb_coded_matrix_row_scale(matrix, row + i);
        bb_coded_matrix_decode(matrix, row + i, column, out.shape[1], values);
        for (bb_index j = 0; j < out.shape[1]; ++j) {
            values[j] /= scale;
        }
    }
    return BB_OK;
}

bb_status bb_product_dump_matrix(bb_product_dump *dump, bb_index index, const char *pipeline,
                                 const char *unit, int axis, bb_coded_matrix *matrix, bool *taken)
{
    bb_status status = BB_OK;
    bb_matrix_metadata metadata = {0};
    *taken = false;
    if (dump == NULL || !dump->wants_matrix) {
        goto done;
    }
    dump->matrices[index] = matrix;
    *taken = true;
    (void)snprintf(dump->units[index], sizeof dump->units[index], "%s", unit);
    dump->matrix_sources[index] = (bb_matrix_source){.rows = bb_coded_matrix_rows(matrix),
                                                     .columns = bb_coded_matrix_columns(matrix),
                                                     .name = "C",
                                                     .unit = dump->units[index],
                                                     .fill = fill_decoded,
                                                     .context = matrix};
    BB_TRY(add(dump, "C", "matrix, decoded,", index, pipeline, &dump->matrix_sources[index]));
    if (axis >= 0) {
        metadata.axis[0] = "xyz"[axis];
    }
    bb_results_operator_metadata(dump->results, &metadata);
done:
    return status;
}

double bb_product_dump_bytes(const char *names, double pipelines, double rows, double columns,
                             double vectors)
{
    return 8.0 * pipelines * rows *
           ((bb_dump_wanted(names, "Y") ? vectors : 0.0) +
            (bb_dump_wanted(names, "C") ? columns : 0.0));
}
