// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/night/layer_mixture.h"

#include "core/memory.h"

#include <string.h>

static void add_row(double weight, const double *layer, bb_index count, double *out)
{
    for (bb_index j = 0; j < count; ++j) {
        out[j] += weight * layer[j];
    }
}

static void clear(bb_view out)
{
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        memset(bb_view_row(out, i), 0, (size_t)out.shape[1] * sizeof(double));
    }
}

static void add_held(const bb_layer_mixture *mixture, bb_index row, bb_index column, bb_view out)
{
    const bb_index columns = mixture->source.columns;
    const bb_index items = mixture->source.rows * columns;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        for (bb_index l = 0; l < mixture->layer_count; ++l) {
            add_row(mixture->weight[l], mixture->held + l * items + (row + i) * columns + column,
                    out.shape[1], bb_view_row(out, i));
        }
    }
}

static bb_status add_sources(const bb_layer_mixture *mixture, bb_index row, bb_index column,
                             bb_view out)
{
    bb_status status = BB_OK;
    double *block = NULL; // of one layer
    BB_TRY(BB_ALLOCATE(out.shape[0] * out.shape[1], &block));
    const bb_view view = bb_view_matrix(block, out.shape[0], out.shape[1]);
    for (bb_index l = 0; l < mixture->layer_count; ++l) {
        if (mixture->weight[l] == 0.0) {
            continue;
        }
        BB_TRY(bb_matrix_source_fill(mixture->layers[l], row, column, view));
        for (bb_index i = 0; i < out.shape[0]; ++i) {
            add_row(mixture->weight[l], block + i * out.shape[1], out.shape[1],
                    bb_view_row(out, i));
        }
    }
done:
    BB_RELEASE(&block);
    return status;
}

// Noise couples the two slopes of one subaperture: those of a sensor's subapertures whose slope
// along axis `a` is in a row of the block and along `b` in a column.
static void add_sensor_noise(const bb_sensor *sensor, const bb_slope_noise *noise, int a, int b,
                             bb_index row, bb_index column, bb_view out)
{
    const bb_index first_row = sensor->first + (a == 0 ? 0 : sensor->count) - row;
    const bb_index first_column = sensor->first + (b == 0 ? 0 : sensor->count) - column;
    for (bb_index k = first_row < 0 ? -first_row : 0;
         k < sensor->count && first_row + k < out.shape[0]; ++k) {
        const bb_index j = first_column + k;
        if (j >= 0 && j < out.shape[1]) {
            bb_view_row(out, first_row + k)[j] +=
                a != b ? noise[k].xy : (a == 0 ? noise[k].xx : noise[k].yy);
        }
    }
}

static void add_noise(const bb_layer_mixture *mixture, bb_index row, bb_index column, bb_view out)
{
    for (bb_index s = 0; s < mixture->guides->sensor_count; ++s) {
        const bb_sensor *sensor = &mixture->guides->sensors[s];
        const bb_slope_noise *noise = mixture->noise->subaperture + sensor->first / 2;
        for (int axes = 0; axes < 4; ++axes) {
            add_sensor_noise(sensor, noise, axes / 2, axes % 2, row, column, out);
        }
    }
}

static void add_tilts(const bb_tilt_vectors *tilts, bb_index row, bb_index column, bb_view out)
{
    const bb_index count = tilts->columns;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = bb_view_row(out, i);
        for (bb_index c = 0; c < count; ++c) {
            const double tilt = tilts->variance[c] * tilts->vectors[(row + i) * count + c];
            for (bb_index j = 0; tilt != 0.0 && j < out.shape[1]; ++j) {
                values[j] += tilt * tilts->vectors[(column + j) * count + c];
            }
        }
    }
}

static bb_status fill(const bb_matrix_source *source, bb_index row, bb_index column, bb_view out)
{
    const bb_layer_mixture *mixture = source->context;
    clear(out);
    if (mixture->held != NULL) {
        add_held(mixture, row, column, out);
    } else {
        BB_RETURN_IF_FAILED(add_sources(mixture, row, column, out));
    }
    if (mixture->noise != NULL) {
        add_noise(mixture, row, column, out);
    }
    if (mixture->tilts != NULL) {
        add_tilts(mixture->tilts, row, column, out);
    }
    return BB_OK;
}

void bb_layer_mixture_start(bb_layer_mixture *mixture, const bb_matrix_source *like)
{
    mixture->source = (bb_matrix_source){.rows = like->rows,
                                         .columns = like->columns,
                                         .symmetric = like->symmetric,
                                         .name = like->name,
                                         .unit = like->unit,
                                         .fill = fill,
                                         .context = mixture};
}
