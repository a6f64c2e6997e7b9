// SPDX-License-Identifier: Apache-2.0
//
// y = C x for the window of a slit with C as factors, low-rank tiles or transformed blocks: 378
// rows of 756, in three bands of the former or two of the latter. A value decreases as 1 over the
// distance from a point of the slit and has a texture of burls, 5 % at 2.5 mm of source and of
// output, so that it is not translation-invariant; the cells form a disc of 300 mm. The tolerance
// is the 1e-12 of Bamakhrama et al. for a similar range. `error` is ||y - C x|| / ||C x||.
//
// On the cpu the peer is reading as many bytes as the bands of the window have. On a cuda device
// copies of matrix and x that exceed the last-level cache alternate, each product is a graph that
// is launched and waited for, and the bar is 10 us.
#include "bench/bench.h"
#include "bench/ceiling.h"
#include "core/memory.h"
#include "core/thread.h"
#include "solvers/operator/coded_operator.h"
#include "solvers/operator/low_rank_product.h"
#include "solvers/operator/transform_product.h"

#include <math.h>
#include <stdio.h>

enum { MESH = 512, ROW_COLUMNS = 21, ROUNDS = 20, COPIES = 32, RUN = 32 };

static const double cold_bytes = 256e6; // several times the last-level cache
static const double bar_s = 10e-6;
static const bb_gemv_arithmetic mixed = {BB_FORMAT_FP32, BB_FORMAT_FP64};

static const double disc_mm = 300.0;

static double texture(double x, double y)
{
    const double wave = 2.0 * 3.14159265358979323846 / 2.5;
    return 1.0 + 0.05 * cos(wave * x) * cos(wave * y);
}

static void fill_row(const bb_matrix_layout *layout, bb_index row, double *out)
{
    double px = 20.0 + 1.3 * (double)(row % ROW_COLUMNS);
    const bb_index line = row / ROW_COLUMNS;
    double py = 10.0 + 0.33 * (double)line;
    double of_point = 1.9e-8 * texture(px, py);
    const bb_index lines = layout->columns / MESH;
    double pitch_y = disc_mm / (double)lines;
    for (bb_index j = 0; j < layout->columns; ++j) {
        const bb_index mesh_line = j / MESH;
        double x = (disc_mm / MESH) * ((double)(j % MESH) + 0.5) - 0.5 * disc_mm;
        double y = pitch_y * ((double)mesh_line + 0.5) - 0.5 * disc_mm;
        double dx = px - x;
        double dy = py - y;
        bool inside = x * x + y * y < 0.25 * disc_mm * disc_mm;
        out[j] = inside ? of_point * texture(x, y) * 0.8 * dx / (0.64 + dx * dx + dy * dy) : 0.0;
    }
}

typedef struct contest {
    bb_matrix_layout layout;
    bb_index row, rows;    // rows of the window
    double *x, *y, *exact; // exact result [rows]
    double matrix_bytes;   // bytes of all rows, on the device of the product
    double touched;        // fraction of the bands in the window
    bb_coded_matrix *matrix;
    bb_coded_operator *copies[COPIES];
    int copy_count, next;
    bb_ceiling ceiling;
    bb_bench_times own, read;
    bb_device *device;
    void *device_x[COPIES], *device_y;
    bb_device_graph *graphs[COPIES];
} contest;

// Encodes the rows of a band and computes the exact product for those of the window.
static bb_status encode_band(void *context, bb_index band)
{
    bb_status status = BB_OK;
    const contest *task = context;
    bb_index step = bb_coded_matrix_band(task->matrix);
    bb_index columns = task->layout.columns;
    bb_index first = band * step;
    bb_index rest = task->layout.rows - first;
    bb_index rows = rest < step ? rest : step;
    double *panel = NULL;
    BB_TRY(BB_ALLOCATE(rows * columns, &panel));
    for (bb_index i = 0; i < rows; ++i) {
        double *values = panel + i * columns;
        bb_index of_window = first + i - task->row;
        fill_row(&task->layout, first + i, values);
        if (of_window >= 0 && of_window < task->rows) {
            double sum = 0.0;
            for (bb_index j = 0; j < columns; ++j) {
                sum += values[j] * task->x[j];
            }
            task->exact[of_window] = sum;
        }
    }
    BB_TRY(bb_coded_matrix_encode(task->matrix, first, bb_view_matrix(panel, rows, columns)));
done:
    BB_RELEASE(&panel);
    return status;
}

// Sets the temperatures of a warm disc with a hot slit.
static void fill_x(contest *task)
{
    const bb_index lines = task->layout.columns / MESH;
    for (bb_index j = 0; j < task->layout.columns; ++j) {
        const bb_index line = j / MESH;
        double dx = (double)(j % MESH) / MESH - 0.6;
        double dy = (double)line / (double)lines - 0.55;
        task->x[j] = 0.1 + exp(-200.0 * dx * dx - 2000.0 * dy * dy);
    }
}

static bb_index bands_of(const bb_coded_matrix *matrix)
{
    bb_index step = bb_coded_matrix_band(matrix);
    return (bb_coded_matrix_rows(matrix) + step - 1) / step;
}

static bb_status prepare(const bb_bench_case *self, const bb_bench_setup *setup, contest *task)
{
    bb_status status = BB_OK;
    bb_codec_config config;
    BB_REQUIRE(bb_codec_read(self->storage, &config), BB_INTERNAL, "internal: invalid storage %s",
               self->storage);
    task->rows = ROW_COLUMNS * (setup->quick ? 2 : 18);
    task->row = ROW_COLUMNS * (setup->quick ? 1 : 9);
    task->layout = (bb_matrix_layout){.rows = ROW_COLUMNS * (setup->quick ? 4 : 36),
                                      .columns = (bb_index)MESH * (setup->quick ? 20 : 500),
                                      .mesh_columns = MESH,
                                      .row_columns = ROW_COLUMNS};
    BB_TRY(BB_ALLOCATE(task->layout.columns, &task->x));
    BB_TRY(BB_ALLOCATE(task->rows, &task->y));
    BB_TRY(BB_ALLOCATE(task->rows, &task->exact));
    fill_x(task);
    BB_TRY(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &task->layout, &task->matrix));
    BB_TRY(bb_thread_for(bands_of(task->matrix), encode_band, task));
    task->matrix_bytes = (double)bb_coded_matrix_bytes(task->matrix);
    bb_index step = bb_coded_matrix_band(task->matrix);
    bb_index past = (task->row + task->rows + step - 1) / step;
    bb_index first = task->row / step;
    task->touched = (double)(past - first) / (double)bands_of(task->matrix);
done:
    return status;
}

static void release(contest *task)
{
    for (int k = 0; k < task->copy_count; ++k) {
        bb_device_graph_destroy(&task->graphs[k]);
        bb_coded_operator_destroy(&task->copies[k]);
        bb_device_release(task->device, &task->device_x[k]);
    }
    bb_device_release(task->device, &task->device_y);
    bb_coded_matrix_destroy(&task->matrix);
    bb_ceiling_release(&task->ceiling);
    BB_RELEASE(&task->x);
    BB_RELEASE(&task->y);
    BB_RELEASE(&task->exact);
}

static void set_outcome(const contest *task, bb_bench_outcome *out)
{
    const double values = (double)task->layout.rows * (double)task->layout.columns;
    double difference = 0.0;
    double norm = 0.0;
    for (bb_index i = 0; i < task->rows; ++i) {
        difference += (task->y[i] - task->exact[i]) * (task->y[i] - task->exact[i]);
        norm += task->exact[i] * task->exact[i];
    }
    out->best_s = bb_bench_best(&task->own);
    out->median_s = bb_bench_median(&task->own);
    out->flops = bb_coded_matrix_low_rank_mesh(task->matrix) != NULL
                     ? bb_low_rank_product_flops(task->matrix, task->row, task->rows)
                     : bb_transform_product_flops(task->matrix, task->row, task->rows);
    out->bytes =
        task->touched * task->matrix_bytes + 8.0 * (double)(task->layout.columns + task->rows);
    (void)snprintf(out->detail, sizeof out->detail,
                   "%td of %td x %td, %.3f bits per value, error %.1e", task->rows,
                   task->layout.rows, task->layout.columns, 8.0 * task->matrix_bytes / values,
                   sqrt(difference / norm));
}

static bb_status apply_again(void *context)
{
    const contest *task = context;
    double seconds = 0.0;
    return bb_coded_operator_apply(task->copies[0], task->row, task->rows, task->x, task->y,
                                   &seconds);
}

bb_status bb_bench_factors(const bb_bench_case *self, const bb_bench_setup *setup,
                           bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    contest task = {.device = setup->device};
    BB_TRY(prepare(self, setup, &task));
    BB_TRY(bb_coded_operator_create(setup->device, task.matrix, mixed, &task.copies[0]));
    task.copy_count = 1;
    BB_TRY(bb_ceiling_create(task.touched * task.matrix_bytes, false, &task.ceiling));
    for (int round = 0; round < (setup->quick ? 3 : ROUNDS); ++round) {
        double seconds = 0.0;
        BB_TRY(bb_ceiling_read(&task.ceiling, &seconds));
        bb_bench_add(&task.read, seconds);
        seconds = 0.0;
        BB_TRY(
            bb_coded_operator_apply(task.copies[0], task.row, task.rows, task.x, task.y, &seconds));
        bb_bench_add(&task.own, seconds);
    }
    set_outcome(&task, out);
    out->ratio = bb_bench_best(&task.read) / out->best_s;
    out->peer = 1e-9 * task.touched * task.matrix_bytes / bb_bench_best(&task.read);
    out->binds = "instructions";
    BB_TRY(bb_bench_measure_energy(BB_DEVICE_CPU, apply_again, &task, 1.0, NULL, out));
done:
    release(&task);
    return status;
}

static bb_status queue_next(bb_queue *stream, bb_index begin, bb_index items, void *arguments)
{
    contest *task = arguments;
    const int k = task->next++ % task->copy_count;
    const bb_coded_window window = {task->row, task->rows, NULL};
    double *y = task->device_y;
    (void)begin;
    (void)items;
    return bb_coded_operator_queue(&task->copies[k], 1, &window, task->device_x[k], &y, stream);
}

static bb_status launch_next(void *context)
{
    static const bb_kernel kernel = {.name = "product of factors",
                                     .run[BB_DEVICE_CUDA] = queue_next};
    contest *task = context;
    return bb_device_launch(task->device, &kernel, 1, task);
}

static bb_status prepare_device(contest *task)
{
    bb_status status = BB_OK;
    const size_t x_bytes = (size_t)task->layout.columns * sizeof(float);
    double bytes = 0.0;
    float *narrow = NULL;
    BB_TRY(BB_ALLOCATE(task->layout.columns, &narrow));
    for (bb_index j = 0; j < task->layout.columns; ++j) {
        narrow[j] = (float)task->x[j];
    }
    BB_TRY(bb_device_allocate(task->device, (size_t)task->rows * sizeof *task->y, &task->device_y));
    while (task->copy_count < COPIES && bytes < cold_bytes) {
        const int k = task->copy_count++;
        BB_TRY(bb_coded_operator_create(task->device, task->matrix, mixed, &task->copies[k]));
        BB_TRY(bb_coded_operator_sum_in_runs(task->copies[k], RUN));
        BB_TRY(bb_device_allocate(task->device, x_bytes, &task->device_x[k]));
        BB_TRY(bb_device_upload(task->device, task->device_x[k], narrow, x_bytes));
        bytes += (double)bb_coded_operator_bytes(task->copies[k]) + (double)x_bytes;
    }
    BB_TRY(bb_device_wait(task->device));
    task->matrix_bytes = (double)bb_coded_operator_bytes(task->copies[0]);
    for (int k = 0; k < task->copy_count; ++k) {
        BB_TRY(bb_device_graph_create(task->device, launch_next, task, &task->graphs[k]));
    }
done:
    BB_RELEASE(&narrow);
    return status;
}

// Measures the mean time of a product over all copies; each is launched and waited for.
static bb_status time_alone(const contest *task, double *mean)
{
    bb_status status = BB_OK;
    *mean = 0.0;
    for (int k = 0; k < task->copy_count; ++k) {
        double seconds = 0.0;
        BB_TRY(bb_device_timer_start(task->device));
        BB_TRY(bb_device_graph_replay(task->graphs[k]));
        BB_TRY(bb_device_timer_stop(task->device, &seconds));
        *mean += seconds / task->copy_count;
    }
done:
    return status;
}

static bb_status multiply_again(void *context)
{
    double seconds = 0.0;
    return time_alone(context, &seconds);
}

bb_status bb_bench_factors_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                                bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    contest task = {.device = setup->device};
    BB_TRY(prepare(self, setup, &task));
    BB_TRY(prepare_device(&task));
    for (int round = -2; round < (setup->quick ? 3 : ROUNDS); ++round) { // negative rounds warm up
        double alone = 0.0;
        BB_TRY(time_alone(&task, &alone));
        if (round >= 0) {
            bb_bench_add(&task.own, alone);
        }
    }
    BB_TRY(
        bb_device_download(task.device, task.y, task.device_y, (size_t)task.rows * sizeof *task.y));
    set_outcome(&task, out);
    out->ratio = bar_s / out->best_s;
    out->binds = "latency";
    BB_TRY(
        bb_bench_measure_energy(BB_DEVICE_CUDA, multiply_again, &task, task.copy_count, NULL, out));
done:
    release(&task);
    return status;
}
