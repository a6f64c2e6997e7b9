// SPDX-License-Identifier: Apache-2.0
//
// Device layout, created in the memory of the CPU device, and both launches replayed on it thread
// by thread with the same index arithmetic.
#include "solvers/operator/transform_stream.h"
#include "tests/cpu_device.h"
#include "tests/precision/codecs/low_rank_problem.h"
#include "tests/solvers/dense.h"

enum { LANES = BB_TRANSFORM_LANES, MOST_VALUES = 2 * BB_TRANSFORM_PANEL_CELLS };

static bool shared_panels; // at least one task had shared panels

static bb_codec_config transform(double tolerance)
{
    bb_codec_config config = low_rank(tolerance);
    config.codec = bb_codec_find("transform");
    return config;
}

static void store(const bb_transform_quad *quad, double *out)
{
    for (uint32_t o = 0; o < quad->count; ++o) {
        out[quad->start + o] = quad->value[o];
    }
}

// x of a panel; each cell occurs once.
static void transform_x(const bb_transform_task *task, uint32_t panel, bool *met, double *out)
{
    const bb_transform_shape *shape = &task->shape;
    double values[BB_TRANSFORM_PANEL_CELLS];
    double half[BB_TRANSFORM_PANEL_CELLS];
    bool taken[BB_TRANSFORM_PANEL_CELLS] = {false};
    assert_true(shape->panel_blocks * shape->cells <= BB_TRANSFORM_PANEL_CELLS);
    for (int i = 0; i < BB_TRANSFORM_PANEL_CELLS; ++i) {
        values[i] = half[i] = out[i] = NAN; // unwritten values are not read
    }
    for (uint32_t work = 0; work < shape->panel_blocks * shape->cells; ++work) {
        uint32_t start = 0;
        uint32_t index = 0;
        if (bb_transform_stream_cell(shape, panel, work, &start, &index)) {
            assert_true(start < shape->extent[2] * shape->extent[3] && !met[start]);
            assert_true(index < BB_TRANSFORM_PANEL_CELLS && !taken[index]);
            met[start] = taken[index] = true;
            values[index] = task->x[start];
        }
    }
    for (uint32_t work = 0; work < bb_transform_stream_cell_works(shape, 2); ++work) {
        bb_transform_quad quad = bb_transform_stream_along_cells(shape, &task->bases, task->basis,
                                                                 panel, 2, work, values);
        store(&quad, half);
    }
    for (uint32_t work = 0; work < bb_transform_stream_cell_works(shape, 3); ++work) {
        bb_transform_quad quad =
            bb_transform_stream_along_cells(shape, &task->bases, task->basis, panel, 3, work, half);
        store(&quad, out);
    }
}

static double chunk_sum(const bb_transform_lane *lane, uint32_t number, const uint32_t *words,
                        const double *x)
{
    double sum = 0.0;
    if (number < lane->narrow) {
        for (int i = 0; i < BB_TRANSFORM_NARROW; ++i) {
            uint32_t entry = words[i / 2] >> 16 * (i % 2);
            int32_t q = bb_transform_stream_entry_narrow(entry);
            sum += q != 0 ? q * x[bb_transform_stream_entry_cell(entry)] : 0.0;
        }
    } else if (lane->is_long == 0) {
        for (int i = 0; i < BB_TRANSFORM_WIDER; ++i) {
            int32_t q = bb_transform_stream_entry_wide(words[i]);
            sum += q != 0 ? q * x[bb_transform_stream_entry_cell(words[i])] : 0.0;
        }
    } else {
        for (int i = 0; i < BB_TRANSFORM_LONG; ++i) {
            int32_t q = (int32_t)words[2 * i + 1];
            sum += q != 0 ? q * x[words[2 * i]] : 0.0;
        }
    }
    return sum;
}

// Slice of one warp; returns the number of chunks read.
static uint32_t multiply_slice(const bb_transform_job *job, uint32_t slice, uint32_t block_rows,
                               const double *x, double *sums, bool *written)
{
    const uint32_t *words = job->lanes + (size_t)slice * LANES;
    const uint32_t *chunk = job->chunks + (size_t)job->slices[slice].chunk * 4;
    double of_lane[LANES] = {0.0};
    uint32_t read = 0;
    bool any = true;
    assert_int_equal((uintptr_t)job->chunks % 16, 0);
    for (uint32_t step = 0; any; ++step) {
        any = false;
        for (uint32_t lane = 0; lane < LANES; ++lane) {
            const bb_transform_lane transform_lane = bb_transform_lane_of(words[lane]);
            uint32_t number = bb_transform_lane_chunk(&transform_lane, lane, step);
            if (number < transform_lane.narrow + transform_lane.others) {
                any = true;
                of_lane[lane] += chunk_sum(&transform_lane, number, chunk + (size_t)read++ * 4, x);
            }
        }
    }
    for (uint32_t lane = 0; lane < LANES; ++lane) {
        const bb_transform_lane transform_lane = bb_transform_lane_of(words[lane]);
        uint32_t lanes = 1U << transform_lane.log_lanes;
        if (transform_lane.present == 0 || lane % lanes != 0) {
            continue;
        }
        assert_true(transform_lane.row < block_rows && lane + lanes <= LANES &&
                    !written[transform_lane.row]);
        written[transform_lane.row] = true;
        for (uint32_t l = lane; l < lane + lanes; ++l) {
            assert_int_equal(words[l], words[lane]);
            sums[transform_lane.row] += of_lane[l];
        }
        sums[transform_lane.row] = transform_lane.poisoned != 0 ? NAN : sums[transform_lane.row];
    }
    return read;
}

static void transform_back(const bb_transform_task *task, uint32_t block, uint32_t first,
                           uint32_t groups, const double *sums)
{
    const bb_transform_shape *shape = &task->shape;
    const uint32_t all = groups * (uint32_t)task->count;
    double values[MOST_VALUES];
    uint32_t number = 0;
    uint32_t c = 0;
    uint32_t k = 0;
    for (uint32_t work = 0; work < bb_transform_stream_row_works(shape, 0, all); ++work) {
        bb_transform_stream_row_work(shape, 0, all, work, &number, &c, &k);
        bb_transform_quad quad = bb_transform_stream_along_rows(
            shape, &task->bases, task->basis, first + number % groups, 0, c, k,
            sums + (size_t)number * shape->block_rows);
        store(&quad, values + (size_t)number * shape->block_rows);
    }
    for (uint32_t work = 0; work < bb_transform_stream_row_works(shape, 1, all); ++work) {
        bb_transform_stream_row_work(shape, 1, all, work, &number, &c, &k);
        bb_transform_quad quad = bb_transform_stream_along_rows(
            shape, &task->bases, task->basis, first + number % groups, 1, c, k,
            values + (size_t)number * shape->block_rows);
        double *parts = task->jobs[number / groups].parts + (size_t)block * task->part_pitch;
        for (uint32_t o = 0; o < quad.count; ++o) {
            uint64_t row = bb_transform_stream_row(shape, first + number % groups, quad.start + o);
            if (row >= task->row && row < task->row + task->rows) {
                parts[row - task->row] = quad.value[o];
            }
        }
    }
}

// A block of the first launch.
static void multiply_share(const bb_transform_task *task, uint32_t block, bool *met, bool *none)
{
    const bb_transform_shape *shape = &task->shape;
    const uint32_t at_once = bb_transform_stream_groups_at_once(task);
    const uint32_t begin = task->band * shape->count[1];
    const uint32_t end = begin + task->bands * shape->count[1];
    double x[BB_TRANSFORM_PANEL_CELLS];
    bb_transform_slices slices;
    uint32_t panel = 0;
    uint32_t share = 0;
    uint32_t shares = 0;
    bb_transform_stream_share_of(task, block, &panel, &share, &shares);
    assert_true(share < shares && (block < task->shape.panels) == (share == 0));
    if (share > 0) {
        memset(none, 0, (size_t)task->shape.extent[2] * task->shape.extent[3] * sizeof *none);
    }
    transform_x(task, panel, share == 0 ? met : none, x);
    assert_true(at_once > 0);
    for (uint32_t which = 0; which < (uint32_t)task->count * task->bands; ++which) {
        bb_transform_stream_find_slices(task, panel, which, &slices);
    }
    for (uint32_t first = begin; first < end; first += at_once) {
        uint32_t groups = end - first < at_once ? end - first : at_once;
        double sums[BB_TRANSFORM_SUMS] = {0.0};
        bool written[BB_TRANSFORM_SUMS] = {false};
        int job = 0;
        uint32_t slice = 0;
        for (uint32_t i = share; bb_transform_slice_at(task, &slices, i, &job, &slice);
             i += shares) {
            uint32_t group = task->jobs[job].slices[slice].group - first;
            if (group < groups) {
                size_t index = ((size_t)job * groups + group) * shape->block_rows;
                (void)multiply_slice(&task->jobs[job], slice, shape->block_rows, x, sums + index,
                                     written + index);
            }
        }
        transform_back(task, block, first, groups, sums);
    }
}

static void replay(const bb_transform_stream *const *streams, int count, const double *x,
                   bb_index row, bb_index rows, bb_index columns, double *const *y)
{
    for (bb_index done = 0; done < rows;) {
        bb_transform_task task;
        bb_index taken = bb_transform_stream_task(streams, count, row + done, rows - done, &task);
        assert_true(taken > 0 && taken <= rows - done);
        task.x = x;
        autofree bool *met = new_zeros(bool, columns);
        autofree bool *none = new_zeros(bool, columns);
        for (uint32_t block = 0; block < task.blocks; ++block) {
            for (int j = 0; j < count; ++j) {
                for (uint32_t i = 0; i < task.rows; ++i) {
                    task.jobs[j].parts[(size_t)block * task.part_pitch + i] = INFINITY;
                }
            }
            multiply_share(&task, block, met, none);
        }
        for (bb_index i = 0; i < columns; ++i) {
            assert_true(met[i]);
        }
        for (int j = 0; j < count; ++j) {
            for (bb_index i = 0; i < taken; ++i) {
                double sum = 0.0;
                for (uint32_t p = 0; p < task.blocks; ++p) {
                    sum += task.jobs[j].parts[(size_t)p * task.part_pitch + (size_t)i];
                }
                y[j][done + i] = sum * task.jobs[j].step;
            }
        }
        done += taken;
        shared_panels |= task.blocks > task.shape.panels;
    }
}

// Replayed windows against decoded rows times x. Coefficients cancel less than values, by up to
// sqrt(values) of a block.
static void check_rows(const bb_coded_matrix *matrix, const double *x, bb_index row, bb_index rows,
                       const double *y)
{
    bb_index columns = bb_coded_matrix_columns(matrix);
    autofree double *values = dense_new(columns);
    for (bb_index i = 0; i < rows; ++i) {
        double exact = 0.0;
        double magnitude = 0.0;
        bb_coded_matrix_decode(matrix, row + i, 0, columns, values);
        for (bb_index j = 0; j < columns; ++j) {
            exact += values[j] * x[j];
            magnitude += fabs(values[j] * x[j]);
        }
        check_close(y[i], exact, 1e-12, magnitude + 1e-30);
    }
}

static void compare(const response *answer, const bb_codec_config *config)
{
    autoptr(bb_coded_matrix) matrix = low_rank_encode(answer, config);
    autofree double *x = dense_new(answer->layout.columns);
    autofree double *y = dense_new(answer->layout.rows);
    dense_random(answer->layout.columns, 5, x);
    autoptr(bb_transform_stream) stream = new_object(bb_transform_stream, cpu, matrix);
    const bb_transform_stream *alone = stream;
    for (bb_index first = 0; first < answer->layout.rows; first += 23) {
        bb_index rows = answer->layout.rows - first;
        replay(&alone, 1, x, first, rows, answer->layout.columns, &y);
        check_rows(matrix, x, first, rows, y);
        rows = rows < 9 ? rows : 9; // interior of a band
        replay(&alone, 1, x, first, rows, answer->layout.columns, &y);
        check_rows(matrix, x, first, rows, y);
    }
}

TEST_FULL(launches_replayed_give_the_product)
{
    static const bb_index meshes[][2] = {{64, 40}, {61, 47}, {33, 3}, {500, 1}};
    for (int m = 0; m < 4; ++m) {
        autorelease(response) rows = response_make(7, 13, meshes[m][0], meshes[m][1], 1.0);
        rows.layout.mesh_columns = m == 3 ? 0 : rows.layout.mesh_columns;
        for (double tolerance = 1e-9; tolerance < 1e-2; tolerance *= 1e3) {
            bb_codec_config config = transform(tolerance);
            compare(&rows, &config);
            config.band_lines = 1; // more bands than in one task
            compare(&rows, &config);
            config.band_lines = 4;
            config.band_columns = 3; // a shorter block on either axis of the rows
            config.tile_columns = 32;
            config.tile_rows = 16; // two blocks per panel
            compare(&rows, &config);
        }
    }
}

// Quotients of 22 bits and more, which have separate words, and blocks of single cells and rows.
TEST(wide_coefficients_are_kept)
{
    autorelease(response) rows = response_make(5, 9, 61, 47, 1.0);
    static const double tolerances[] = {1e-7, 3e-8, 5e-9};
    for (int k = 0; k < 3; ++k) {
        bb_codec_config config = transform(tolerances[k]);
        compare(&rows, &config);
        config.band_lines = config.band_columns = 1;
        config.tile_rows = 1;
        compare(&rows, &config);
        config.band_lines = 16;
        config.band_columns = 5;
        config.tile_columns = config.tile_rows = 3;
        compare(&rows, &config);
    }
    assert_true(shared_panels);
}

TEST(zeros_and_noise_are_products_too)
{
    autorelease(response) rows = response_make(5, 6, 61, 47, 0.0);
    bb_codec_config config = transform(1e-3);
    compare(&rows, &config);
    dense_random(rows.layout.rows * rows.layout.columns, 6, rows.values);
    compare(&rows, &config);
    config.tolerance = 1e-7;
    config.band_lines = 4;
    compare(&rows, &config);
}

// Many blocks across a line of rows: sums that do not fit into one pass.
TEST(sums_are_taken_in_turns)
{
    autorelease(response) rows = response_make(91, 8, 33, 20, 1.0);
    bb_codec_config config = transform(1e-5);
    config.band_lines = 8;
    config.band_columns = 3;
    bb_coded_matrix *matrices[3] = {NULL};
    bb_transform_stream *streams[3] = {NULL};
    autofree double *x = dense_new(rows.layout.columns);
    double *y[3] = {NULL};
    dense_random(rows.layout.columns, 5, x);
    for (int j = 0; j < 3; ++j) {
        config.tolerance *= 3.0; // steps of their own
        matrices[j] = low_rank_encode(&rows, &config);
        check_ok(bb_transform_stream_create(cpu, matrices[j], &streams[j]));
        assert_true(bb_transform_stream_alike(streams[0], streams[j]));
        y[j] = dense_new(rows.layout.rows);
    }
    const bb_transform_stream *const all[] = {streams[0], streams[1], streams[2]};
    replay(all, 3, x, 100, 600, rows.layout.columns, y);
    for (int j = 0; j < 3; ++j) {
        check_rows(matrices[j], x, 100, 600, y[j]);
        bb_transform_stream_destroy(&streams[j]);
        bb_coded_matrix_destroy(&matrices[j]);
        BB_RELEASE(&y[j]);
    }
}

TEST(poison_reaches_its_blocks_rows_alone)
{
    autorelease(response) rows = response_make(3, 8, 64, 40, 1.0);
    bb_codec_config config = transform(1e-4);
    double x[2560] = {0.0};
    double y[24];
    double *target = y;
    config.band_lines = 2;
    rows.values[10 * 2560 + 25 * 64 + 40] = NAN;
    autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
    autoptr(bb_transform_stream) stream = new_object(bb_transform_stream, cpu, matrix);
    const bb_transform_stream *alone = stream;
    replay(&alone, 1, x, 0, 24, 2560, &target);
    for (int i = 0; i < 24; ++i) {
        assert_true(!!isnan(y[i]) == (i / 6 == 1));
    }
}

TEST(lanes_and_entries_are_read_as_written)
{
    const bb_transform_lane lane = {255, 5, 128, 512, 1, 1, 1};
    const bb_transform_lane back = bb_transform_lane_of(bb_transform_lane_word(&lane));
    assert_memory_equal(&lane, &back, sizeof lane);
    assert_int_equal(bb_transform_stream_entry_narrow(0xffffU), -1);
    assert_int_equal(bb_transform_stream_entry_narrow(0xabcd8000U), -32);
    assert_int_equal(bb_transform_stream_entry_narrow(31U << 10 | 5U), 31);
    assert_int_equal(bb_transform_stream_entry_cell(31U << 10 | 5U), 5);
    assert_int_equal(bb_transform_stream_entry_wide(0x80000000U), -(1 << 21));
    assert_int_equal(bb_transform_stream_entry_wide(0x7fffffffU), (1 << 21) - 1);
    assert_int_equal(bb_transform_lane_chunk(&(bb_transform_lane){.log_lanes = 2}, 7, 3), 15);
}

TEST_GROUP(.begin = open_cpu, .end = close_cpu);
