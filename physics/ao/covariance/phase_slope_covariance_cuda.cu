// SPDX-License-Identifier: Apache-2.0
//
// Covariance of phase and slopes on a cuda device: counterpart of phase_slope_covariance.c, with
// its bits. A fill launches one kernel per direction, sensor and axis, with one thread per entry:
// both ends of the slope over all layers, so that an end shared by two slopes is evaluated twice.
// For METIS, 57,000 points by 11,752 slopes over 9 layers with averaged gradients, these are 3.6e10
// evaluations of D, whose coefficients neighbouring threads read from the caches.
#include "core/device/device_cuda.h"
#include "core/device/device_source.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/covariance/edge_average_core.h"
#include "physics/ao/covariance/phase_slope_covariance.h"
#include "physics/ao/covariance/twin_block_cuda.h"

namespace
{

const int threads = 128;
const int most_rows = 32768; // per grid
const int terms = BB_STRUCTURE_DEGREE + 1;

// Slopes of one sensor and axis, their ends on every layer.
struct twin_axis {
    const int32_t *minus, *plus; // [slopes]
    const double *x, *y;         // [layers][ends]
    const double *half_x;        // [layers] half an edge
    const double *half_y;
    bb_index first; // measurement
    int slopes, ends;
    bool averaged;
    double size_m;
};

struct twin {
    const bb_phase_looks *host;
    int ordinal;
    bb_device *device;
    void *block; // device memory that all following pointers point into
    bb_structure_table structure;
    const double *strength;       // [layers]
    const double *x, *y;          // [points]
    const bb_sensor_layer *looks; // [looks][layers]
    const double *sees;           // [sensors][layers] scale of a layer, 0 above the star
    twin_axis *axes;              // [sensors][2], on the host
};

struct job {
    twin_axis axis;
    bb_structure_table structure;
    const double *strength, *x, *y, *sees;
    const bb_sensor_layer *look;
    int layers, rows, first_row;
    int begin, end; // slopes of the axis
    double unit;
    double *out; // for the first of them
    int64_t stride;
};

__constant__ const double node[3] = {-0.77459666924148337704, 0.0, 0.77459666924148337704};
__constant__ const double share[3] = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};

// Corrects the three-node rule for a close edge. The call is rare and not inlined, which would cost
// registers.
__device__ __noinline__ double correct_near(const bb_structure_table &table, double half_x,
                                            double half_y, double u, double v)
{
    bb_edge_pair edge = {};
    edge.bx = half_x;
    edge.by = half_y;
    double far = 0.0;
    for (int k = 0; k < 3; ++k) {
        const double du = u - node[k] * half_x;
        const double dv = v - node[k] * half_y;
        far += share[k] * bb_structure_table_value(table, du * du + dv * dv);
    }
    return bb_edge_average_inner(table, &edge, u, v) - far;
}

// Sums over the layers the strength times D from a point to an end.
__device__ double sum_layers(const job &work, double point_x, double point_y, int end)
{
    const double close = 8.0;
    double sum = 0.0;
    for (int l = 0; l < work.layers; ++l) {
        if (work.sees[l] <= 0.0) {
            continue;
        }
        const bb_sensor_layer &seen = work.look[l];
        const double strength = work.strength[l];
        const double x = seen.scale * point_x + seen.offset_x_m;
        const double y = seen.scale * point_y + seen.offset_y_m;
        const double to_x = work.axis.x[l * work.axis.ends + end];
        const double to_y = work.axis.y[l * work.axis.ends + end];
        const double u = x - to_x;
        const double v = y - to_y;
        if (!work.axis.averaged) {
            sum += strength * bb_structure_table_value(work.structure, u * u + v * v);
            continue;
        }
        const double half_x = work.axis.half_x[l];
        const double half_y = work.axis.half_y[l];
        for (int k = 0; k < 3; ++k) {
            const double du = (x - node[k] * half_x) - to_x;
            const double dv = (y - node[k] * half_y) - to_y;
            sum +=
                strength * share[k] * bb_structure_table_value(work.structure, du * du + dv * dv);
        }
        if (u * u + v * v < close * close * (half_x * half_x + half_y * half_y)) {
            sum += strength * correct_near(work.structure, half_x, half_y, u, v);
        }
    }
    return sum;
}

__global__ void __launch_bounds__(threads) add_look(const __grid_constant__ job work)
{
    const int slope =
        work.begin + static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
    if (slope >= work.end) {
        return;
    }
    for (int row = static_cast<int>(blockIdx.y); row < work.rows;
         row += static_cast<int>(gridDim.y)) {
        const double x = work.x[work.first_row + row];
        const double y = work.y[work.first_row + row];
        const double minus = sum_layers(work, x, y, work.axis.minus[slope]);
        const double plus = sum_layers(work, x, y, work.axis.plus[slope]);
        work.out[row * work.stride + slope - work.begin] += work.unit * (minus - plus);
    }
}

// Adds the slopes of one axis within a block, over all directions.
bb_status add_axis(const twin *t, bb_index sensor, int axis, bb_index row, bb_index column,
                   const bb_view &out, cudaStream_t stream)
{
    const twin_axis &own = t->axes[2 * sensor + axis];
    const bb_index layers = t->host->atmosphere->layer_count;
    const double wave_m = BB_R0_WAVELENGTH_M / (2.0 * BB_PI);
    const bb_index begin = own.first > column ? own.first : column;
    const bb_index last = column + out.shape[1];
    const bb_index end = own.first + own.slopes < last ? own.first + own.slopes : last;
    if (begin >= end) {
        return BB_OK;
    }
    job work = {};
    work.axis = own;
    work.structure = t->structure;
    work.strength = t->strength;
    work.x = t->x;
    work.y = t->y;
    work.sees = t->sees + sensor * layers;
    work.layers = static_cast<int>(layers);
    work.rows = static_cast<int>(out.shape[0]);
    work.first_row = static_cast<int>(row);
    work.begin = static_cast<int>(begin - own.first);
    work.end = static_cast<int>(end - own.first);
    work.out = static_cast<double *>(out.data) + (begin - column);
    work.stride = out.strides[0];
    const dim3 grid(static_cast<unsigned>((end - begin + threads - 1) / threads),
                    static_cast<unsigned>(work.rows < most_rows ? work.rows : most_rows));
    for (bb_index k = 0; k < t->host->count; ++k) {
        work.look = t->looks + k * layers;
        work.unit = 0.5 * t->host->weight[k] * wave_m * wave_m * BB_ARCSEC_PER_RADIAN / own.size_m;
        add_look<<<grid, threads, 0, stream>>>(work);
        BB_CUDA_CHECK_LAUNCH();
    }
    return BB_OK;
}

bb_status fill(const bb_device_source *source, bb_queue *queue, bb_index row, bb_index column,
               bb_view out)
{
    const twin *t = static_cast<const twin *>(source->context);
    cudaStream_t stream = bb_queue_stream(queue);
    BB_CUDA_TRY(cudaSetDevice(t->ordinal));
    if (out.type != BB_F64) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "covariance of phase and slopes: expected an fp64 block");
    }
    BB_CUDA_TRY(cudaMemset2DAsync(out.data, static_cast<size_t>(out.strides[0]) * sizeof(double), 0,
                                  static_cast<size_t>(out.shape[1]) * sizeof(double),
                                  static_cast<size_t>(out.shape[0]), stream));
    for (bb_index s = 0; s < t->host->guides->sensor_count; ++s) {
        for (int axis = 0; axis < 2; ++axis) {
            BB_RETURN_IF_FAILED(add_axis(t, s, axis, row, column, out, stream));
        }
    }
    return BB_OK;
}

const int32_t *put_places(bb_twin_block *block, const bb_index *places, bb_index count)
{
    const int32_t *device = nullptr;
    int32_t *host = bb_twin_block_load(block, count, &device);
    for (bb_index i = 0; host != nullptr && i < count; ++i) {
        host[i] = static_cast<int32_t>(places[i]);
    }
    return device;
}

void put_axis(bb_twin_block *block, const bb_sensor *sensor, int axis, bb_index layers,
              twin_axis *out)
{
    const bb_slope_ends *ends = &sensor->ends[axis];
    out->minus = put_places(block, ends->minus, sensor->count);
    out->plus = put_places(block, ends->plus, sensor->count);
    out->x = bb_twin_block_store(block, ends->layer_x_m, layers * ends->count);
    out->y = bb_twin_block_store(block, ends->layer_y_m, layers * ends->count);
    double *half_x = bb_twin_block_load(block, layers, &out->half_x);
    double *half_y = bb_twin_block_load(block, layers, &out->half_y);
    for (bb_index l = 0; half_x != nullptr && l < layers; ++l) {
        bb_sensor_frame_edge(&sensor->frame, &sensor->layer[l], axis, &half_x[l], &half_y[l]);
    }
    out->first = sensor->first + axis * sensor->count;
    out->slopes = static_cast<int>(sensor->count);
    out->ends = static_cast<int>(ends->count);
    out->averaged = bb_sensor_averages(sensor);
    out->size_m = sensor->size_m;
}

void lay_out(bb_twin_block *block, void *context)
{
    twin *t = static_cast<twin *>(context);
    const bb_phase_looks *looks = t->host;
    const bb_atmosphere *atmosphere = looks->atmosphere;
    const bb_index layers = atmosphere->layer_count;
    t->structure = atmosphere->structure;
    t->structure.coefficients =
        bb_twin_block_store(block, atmosphere->structure.coefficients,
                            static_cast<bb_index>(BB_STRUCTURE_INTERVALS + 2) * terms);
    t->strength = bb_twin_block_store(block, atmosphere->strength, layers);
    t->x = bb_twin_block_store(block, looks->points.x_m, looks->points.count);
    t->y = bb_twin_block_store(block, looks->points.y_m, looks->points.count);
    t->looks = bb_twin_block_store(block, looks->points.layer, looks->count * layers);
    double *sees = bb_twin_block_load(block, looks->guides->sensor_count * layers, &t->sees);
    for (bb_index s = 0; s < looks->guides->sensor_count; ++s) {
        const bb_sensor *sensor = &looks->guides->sensors[s];
        for (bb_index l = 0; sees != nullptr && l < layers; ++l) {
            sees[s * layers + l] = sensor->layer[l].scale;
        }
        for (int axis = 0; axis < 2; ++axis) {
            put_axis(block, sensor, axis, layers, &t->axes[2 * s + axis]);
        }
    }
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
    void *axes = t->axes;
    bb_memory_release(&axes);
    bb_memory_release(&source->context);
}

bb_status start(const bb_phase_looks *looks, bb_device *device, twin *t)
{
    void *axes = nullptr;
    t->host = looks;
    t->device = device;
    BB_RETURN_IF_FAILED(
        bb_memory_zeroed(2 * looks->guides->sensor_count, sizeof(twin_axis), &axes));
    t->axes = static_cast<twin_axis *>(axes);
    BB_RETURN_IF_FAILED(bb_twin_block_upload(device, lay_out, t, &t->block));
    BB_CUDA_TRY(cudaGetDevice(&t->ordinal)); // the allocation made the device current
    return BB_OK;
}

} // namespace

extern "C" bb_status bb_phase_slope_covariance_twin(const bb_matrix_source *source,
                                                    bb_device *device, bb_device_source **out)
{
    bb_status status = BB_OK;
    void *made = nullptr;
    bb_device_source *twin_source = nullptr;
    BB_TRY(bb_memory_zeroed(1, sizeof(bb_device_source), &made));
    twin_source = static_cast<bb_device_source *>(made);
    twin_source->release = release;
    twin_source->fill = fill;
    twin_source->device = device;
    BB_TRY(bb_memory_zeroed(1, sizeof(twin), &twin_source->context));
    BB_TRY(start(static_cast<const bb_phase_looks *>(source->context), device,
                 static_cast<twin *>(twin_source->context)));
    *out = twin_source;
    twin_source = nullptr;
done:
    bb_device_source_destroy(&twin_source);
    return status;
}
