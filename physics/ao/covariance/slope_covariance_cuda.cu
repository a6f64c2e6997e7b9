// SPDX-License-Identifier: Apache-2.0
//
// Slope covariance on a cuda device: counterpart of slope_covariance.c, with its bits.
//
// All inputs of a fill are placed in one block of device memory at creation: displacement tables,
// lenslets, layers, noise, the structure function. A fill divides its block into runs of one sensor
// and axis and launches one kernel per pair of runs; it neither allocates nor waits.
// slope_covariance_kernels_cuda.cu documents its cost.
#include "core/device/device_cuda.h"
#include "physics/ao/covariance/slope_covariance_kernels_cuda.h"
#include "physics/ao/covariance/slope_covariance_pairs.h"
#include "physics/ao/covariance/twin_block_cuda.h"

#include <cmath>

namespace
{

const int terms = BB_STRUCTURE_DEGREE + 1;

struct twin_sensor {
    const int32_t *subaperture;   // [lenslets][lenslets]
    const int32_t *site;          // [count]
    const bb_sensor_layer *layer; // [layers]
    const bb_slope_noise *noise;  // [count], or NULL
};

struct twin_table {
    const double *values[3]; // xx, yy, crossed; NULL without a table
};

struct twin {
    const bb_slope_covariance *host;
    bb_device *device;
    int ordinal;
    void *block; // device memory that all following pointers point into
    bb_structure_table structure;
    int window;              // first interval copied to shared memory
    const double *strength;  // [layers]
    twin_sensor *sensors[2]; // sensors of rows and of columns, on the host
    twin_table *tables;      // [pairs], on the host
};

// Consecutive measurements of one sensor and axis.
struct run {
    bb_measurement origin;
    const twin_sensor *sensor;
    int subaperture, count;
};

run find_run(const bb_sensor_array *array, const twin_sensor *sensors, bb_index index,
             bb_index wanted)
{
    const bb_measurement choose = bb_measurement_locate(array, index);
    const bb_index rest = choose.sensor->count - choose.subaperture;
    return run{choose, sensors + (choose.sensor - array->sensors),
               static_cast<int>(choose.subaperture),
               static_cast<int>(wanted < rest ? wanted : rest)};
}

bb_direct_side make_side(const run &r)
{
    const bb_sensor *sensor = r.origin.sensor;
    const int first_site = static_cast<int>(sensor->site[r.subaperture]);
    const int last_site = static_cast<int>(sensor->site[r.subaperture + r.count - 1]);
    return bb_direct_side{bb_slope_segment_make(r.sensor->subaperture,
                                                static_cast<int>(sensor->lenslets), r.origin.axis,
                                                r.subaperture, r.count, first_site, last_site),
                          sensor->frame, r.sensor->layer};
}

bb_status fill_runs(const twin *t, const run &row, const run &column, bb_view out,
                    cudaStream_t stream)
{
    bool swapped = false;
    const bb_displacement_table *table =
        bb_slope_covariance_table(t->host, row.origin.sensor, column.origin.sensor, &swapped);
    if (table == nullptr) {
        // Noise and tilt apply within one sensor, which always has a table.
        const bb_direct_job job = {
            {make_side(row), make_side(column)},
            t->structure,
            t->window,
            t->strength,
            static_cast<int>(t->host->parts.atmosphere->layer_count),
            bb_slope_covariance_unit(row.origin.sensor, column.origin.sensor),
            bb_slope_covariance_averages(row.origin.sensor, column.origin.sensor),
            swapped,
            out.data,
            out.strides[0]};
        return bb_slope_covariance_fill_directly(&job, out.type, stream);
    }
    const bool parallel = row.origin.axis == column.origin.axis;
    const int axes = parallel ? row.origin.axis : 2;
    const bool one_sensor = row.origin.sensor == column.origin.sensor;
    const bool noisy = one_sensor && t->host->parts.noise != nullptr;
    const bb_table_job job = {t->tables[table - t->host->tables].values[axes],
                              row.sensor->site + row.subaperture,
                              column.sensor->site + column.subaperture,
                              row.count,
                              column.count,
                              static_cast<int>(table->centre),
                              swapped ? -1 : 1,
                              noisy ? row.sensor->noise + row.subaperture : nullptr,
                              axes,
                              row.subaperture - column.subaperture,
                              bb_slope_covariance_tilt(t->host, &row.origin, &column.origin),
                              out.data,
                              out.strides[0]};
    return bb_slope_covariance_fill_from_table(&job, out.type, stream);
}

bb_status fill(const bb_device_source *source, bb_queue *stream, bb_index row, bb_index column,
               bb_view out)
{
    const twin *t = static_cast<const twin *>(source->context);
    const bb_slope_covariance_parts *parts = &t->host->parts;
    BB_CUDA_TRY(cudaSetDevice(t->ordinal));
    bb_index rows = 0;
    for (bb_index i = 0; i < out.shape[0]; i += rows) {
        const run down = find_run(parts->rows, t->sensors[0], row + i, out.shape[0] - i);
        rows = down.count;
        bb_index columns = 0;
        for (bb_index j = 0; j < out.shape[1]; j += columns) {
            const run across =
                find_run(parts->columns, t->sensors[1], column + j, out.shape[1] - j);
            columns = across.count;
            BB_RETURN_IF_FAILED(fill_runs(t, down, across, bb_view_block(out, i, rows, j, columns),
                                          bb_queue_stream(stream)));
        }
    }
    return BB_OK;
}

twin_sensor put_sensor(bb_twin_block *block, const bb_slope_covariance *host,
                       const bb_sensor *sensor)
{
    twin_sensor out = {};
    const bb_index edge = sensor->lenslets;
    int32_t *subaperture = bb_twin_block_load(block, edge * edge, &out.subaperture);
    int32_t *site = bb_twin_block_load(block, sensor->count, &out.site);
    for (bb_index k = 0; subaperture != nullptr && k < edge * edge; ++k) {
        subaperture[k] = -1;
    }
    for (bb_index i = 0; site != nullptr && i < sensor->count; ++i) {
        const bb_index stride = 2 * edge - 1;
        site[i] = static_cast<int32_t>(sensor->site[i]);
        subaperture[sensor->site[i] / stride * edge + sensor->site[i] % stride] =
            static_cast<int32_t>(i);
    }
    out.layer = bb_twin_block_store(block, sensor->layer, host->parts.atmosphere->layer_count);
    if (host->parts.noise != nullptr) {
        out.noise = bb_twin_block_store(block, host->parts.noise->subaperture + sensor->first / 2,
                                        sensor->count);
    }
    return out;
}

twin_table put_table(bb_twin_block *block, const bb_displacement_table *table)
{
    twin_table out = {};
    if (table->crossed != nullptr) {
        const bb_index values = table->edge * table->edge;
        out.values[0] = bb_twin_block_store(block, table->parallel[BB_AXIS_X], values);
        out.values[1] = bb_twin_block_store(block, table->parallel[BB_AXIS_Y], values);
        out.values[2] = bb_twin_block_store(block, table->crossed, values);
    }
    return out;
}

void lay_out(bb_twin_block *block, void *context)
{
    twin *t = static_cast<twin *>(context);
    const bb_slope_covariance_parts *parts = &t->host->parts;
    const bb_atmosphere *atmosphere = parts->atmosphere;
    t->structure = atmosphere->structure;
    t->structure.coefficients =
        bb_twin_block_store(block, atmosphere->structure.coefficients,
                            static_cast<bb_index>(BB_STRUCTURE_INTERVALS + 2) * terms);
    t->strength = bb_twin_block_store(block, atmosphere->strength, atmosphere->layer_count);
    for (bb_index s = 0; s < parts->rows->sensor_count; ++s) {
        t->sensors[0][s] = put_sensor(block, t->host, &parts->rows->sensors[s]);
    }
    for (bb_index s = 0; t->sensors[1] != t->sensors[0] && s < parts->columns->sensor_count; ++s) {
        t->sensors[1][s] = put_sensor(block, t->host, &parts->columns->sensors[s]);
    }
    for (bb_index p = 0; p < t->host->pair_count; ++p) {
        t->tables[p] = put_table(block, &t->host->tables[p]);
    }
}

// Computes the largest distance of an end of a sensor from the axis, m.
double reach(const bb_sensor_array *array)
{
    double maximum = 0.0;
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
            const bb_slope_ends *ends = &array->sensors[s].ends[axis];
            for (bb_index k = 0; k < array->layer_count * ends->count; ++k) {
                maximum = std::fmax(maximum, std::hypot(ends->layer_x_m[k], ends->layer_y_m[k]));
            }
        }
    }
    return maximum;
}

// The window ends with the octave of the largest separation: most separations are of its order.
int place_window(const bb_slope_covariance_parts *parts)
{
    const double maximum = reach(parts->rows) + reach(parts->columns);
    const int octave =
        std::ilogb(maximum * maximum * parts->atmosphere->structure.inverse_square_scale);
    const int lowest = static_cast<int>(BB_STRUCTURE_LOW_OCTAVE);
    const int highest = static_cast<int>(BB_STRUCTURE_HIGH_OCTAVE);
    int end = octave + 1;
    end = end > highest ? highest : end;
    end = end < lowest + BB_DIRECT_OCTAVES ? lowest + BB_DIRECT_OCTAVES : end;
    return 1 + ((end - BB_DIRECT_OCTAVES - lowest) << BB_STRUCTURE_SPLIT_BITS);
}

bb_status upload(twin *t)
{
    BB_RETURN_IF_FAILED(bb_twin_block_upload(t->device, lay_out, t, &t->block));
    BB_CUDA_TRY(cudaGetDevice(&t->ordinal)); // the allocation made the device current
    return bb_slope_covariance_kernels_prepare();
}

template <typename Item> bb_status make(bb_index count, Item **out)
{
    void *block = nullptr;
    BB_RETURN_IF_FAILED(bb_memory_zeroed(count, sizeof(Item), &block));
    *out = static_cast<Item *>(block);
    return BB_OK;
}

void drop(void *block)
{
    bb_memory_release(&block);
}

void release(bb_device_source *source)
{
    twin *t = static_cast<twin *>(source->context);
    if (t == nullptr) {
        return;
    }
    if (t->block != nullptr) {
        bb_device_release(t->device, &t->block);
    }
    if (t->sensors[1] != t->sensors[0]) {
        drop(t->sensors[1]);
    }
    drop(t->sensors[0]);
    drop(t->tables);
    drop(t);
    source->context = nullptr;
}

bb_status start(const bb_slope_covariance *host, bb_device *device, twin *t)
{
    const bb_slope_covariance_parts *parts = &host->parts;
    t->host = host;
    t->device = device;
    t->window = place_window(parts);
    BB_RETURN_IF_FAILED(make(host->pair_count, &t->tables));
    BB_RETURN_IF_FAILED(make(parts->rows->sensor_count, &t->sensors[0]));
    if (parts->rows == parts->columns) {
        t->sensors[1] = t->sensors[0];
    } else {
        BB_RETURN_IF_FAILED(make(parts->columns->sensor_count, &t->sensors[1]));
    }
    return upload(t);
}

} // namespace

extern "C" bb_status bb_slope_covariance_twin(const bb_matrix_source *source, bb_device *device,
                                              bb_device_source **out)
{
    bb_status status = BB_OK;
    bb_device_source *made = nullptr;
    twin *t = nullptr;
    BB_TRY(make(1, &made));
    made->release = release;
    made->fill = fill;
    made->device = device;
    BB_TRY(make(1, &t));
    made->context = t;
    BB_TRY(start(static_cast<const bb_slope_covariance *>(source->context), device, t));
    *out = made;
    made = nullptr;
done:
    bb_device_source_destroy(&made);
    return status;
}
