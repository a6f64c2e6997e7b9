// SPDX-License-Identifier: Apache-2.0
//
// Partition of a zfp matrix into panels, on the CPU. Panels decoded one by one from the device
// layout contain every value of the matrix once, at the row and column that the product assigns to
// it. Sums of panels are stored where the rows read them.
#include "solvers/operator/coded_operator.h"
#include "solvers/operator/zfp_panels.h"
#include "tests/cpu_device.h"
#include "tests/solvers/operator/zfp_problem.h"

// Decoded data of a warp's panel.
typedef struct replay {
    const bb_zfp_task *task;
    bb_index columns, matrix_rows;
    float *values;       // [matrix rows][columns]
    unsigned char *seen; // the same
    const float *x;
    double *sums; // bb_zfp_panels_place_count of them
} replay;

static uint64_t bit_of_run(const bb_zfp_task *task, bb_index band, bb_index run)
{
    const bb_zfp_operand *operand = &task->operand[0];
    uint64_t bit = operand->places[2 * band];
    if (operand->lengths == NULL) {
        return bit + (uint64_t)(run * task->cut.run_blocks) * operand->settings.maximum_bits;
    }
    bb_index group = band * task->groups + run / BB_ZFP_GROUP_RUNS;
    bit += operand->bases[group];
    for (bb_index r = 0; r < run % BB_ZFP_GROUP_RUNS; ++r) {
        bit += operand->lengths[group * BB_ZFP_GROUP_RUNS + r];
    }
    return bit;
}

// Values of a block at (x, y) of the mesh; in three and four dimensions those of several rows.
static void take_block(const replay *record, bb_index slab, bb_index panel,
                       const bb_zfp_corner *corner, const float *block)
{
    const bb_zfp_cut *cut = &record->task->cut;
    const bb_index band = slab / cut->band_slabs;
    const int lines = cut->dimensions == 1 ? 1 : 4;
    for (bb_index r = 0; r < cut->slab_rows; ++r) {
        const bb_index z = slab % cut->band_slabs * 4 + r % 4;
        const bb_index row = band * cut->band_rows + r / 4 * cut->line_rows + z;
        const bool present = z < cut->line_rows && row < record->matrix_rows;
        double sum = 0.0;
        if (present) {
            const bb_zfp_row_place place = bb_zfp_row_place_of(cut, row);
            assert_int_equal(place.slab, slab);
            assert_int_equal(place.row, r);
        }
        for (bb_index y = 0; y < lines && corner->y + y < cut->ny; ++y) {
            for (bb_index x = 0; x < 4 && corner->x + x < cut->nx; ++x) {
                const bb_index column = (corner->y + y) * cut->nx + corner->x + x;
                const float value = block[16 * r + 4 * y + x];
                sum += (double)(value * record->x[column]);
                if (present) {
                    assert_int_equal(record->seen[row * record->columns + column]++, 0);
                    record->values[row * record->columns + column] = value;
                }
            }
        }
        record->sums[bb_zfp_panels_place_of(cut, slab - record->task->slabs.first, r, panel)] +=
            sum;
    }
}

static void take_panel(const replay *record, bb_index slab, bb_index index)
{
    const bb_zfp_cut *cut = &record->task->cut;
    const bb_zfp_operand *operand = &record->task->operand[0];
    const bb_zfp_panel panel = bb_zfp_panel_of(cut, slab, index);
    const bb_zfp_shape mesh = {2, cut->nx, cut->ny, 1, 1};
    // The device finds the places of one group of runs in three and four dimensions.
    if (cut->dimensions >= 3 && panel.begin < panel.end) {
        assert_int_equal(panel.begin / BB_ZFP_GROUP_RUNS, (panel.end - 1) / BB_ZFP_GROUP_RUNS);
    } else {
        assert_int_equal(panel.begin % BB_ZFP_GROUP_RUNS, 0);
    }
    for (bb_index run = panel.begin; run < panel.end; ++run) {
        const bb_index first = (run - panel.first_run) * cut->run_blocks;
        bb_zfp_reader reader =
            bb_zfp_reader_open(&operand->words, bit_of_run(record->task, panel.band, run));
        bb_zfp_corner corner = bb_zfp_corner_of(&mesh, first);
        for (bb_index i = 0; i < cut->run_blocks && first + i < cut->blocks; ++i) {
            float block[BB_ZFP_BLOCK_MOST];
            bb_zfp_decode_block_f32(&reader, &operand->settings, cut->dimensions,
                                    record->task->reversible, block);
            take_block(record, slab, index, &corner, block);
            bb_zfp_corner_step(&mesh, &corner);
        }
    }
}

static void play(const bb_zfp_task *task, const replay *record)
{
    for (bb_index s = 0; s < task->slabs.count; ++s) {
        for (bb_index panel = 0; panel < task->cut.panels; ++panel) {
            take_panel(record, task->slabs.first + s, panel);
        }
    }
}

// Requested rows against the CPU's product, all decoded values against the CPU's values.
static void compare(const bb_coded_matrix *matrix, const replay *record, const double *x)
{
    const bb_zfp_task *task = record->task;
    const bb_gemv_arithmetic seed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    autofree double *row = dense_new(record->columns);
    autofree double *expected = dense_new(task->rows);
    double seconds = 0.0;
    autoptr(bb_coded_operator) operation = new_object(bb_coded_operator, cpu, matrix, seed);
    check_ok(bb_coded_operator_apply(operation, task->row, task->rows, x, expected, &seconds));
    for (bb_index i = 0; i < task->rows; ++i) {
        const bb_zfp_row_place place = bb_zfp_row_place_of(&task->cut, task->row + i);
        const bb_index first =
            bb_zfp_panels_place_of(&task->cut, place.slab - task->slabs.first, place.row, 0);
        double sum = 0.0;
        double magnitude = 0.0;
        assert_true(place.slab >= task->slabs.first &&
                    place.slab < task->slabs.first + task->slabs.count);
        bb_coded_matrix_decode(matrix, task->row + i, 0, record->columns, row);
        for (bb_index j = 0; j < record->columns; ++j) {
            const bb_index index = (task->row + i) * record->columns + j;
            assert_int_equal(record->seen[index], 1);
            assert_true((double)record->values[index] == row[j]);
            magnitude += fabs(row[j] * x[j]);
        }
        for (bb_index panel = 0; panel < task->cut.panels; ++panel) {
            sum += record->sums[first + panel];
        }
        check_close(sum / task->operand[0].scales[task->row + i], expected[i], 1e-12, magnitude);
    }
}

static void check_window(const bb_coded_matrix *matrix, const bb_zfp_panels *panels,
                         const double *x, bb_index row, bb_index rows)
{
    bb_zfp_task task = bb_zfp_panels_task(panels, row, rows);
    const bb_index count = bb_coded_matrix_rows(matrix) * bb_coded_matrix_columns(matrix);
    replay record = {.task = &task,
                     .columns = bb_coded_matrix_columns(matrix),
                     .matrix_rows = bb_coded_matrix_rows(matrix)};
    autofree float *narrow = new_zeros(float, record.columns);
    check_ok(BB_ZEROED(count, &record.values));
    check_ok(BB_ZEROED(count, &record.seen));
    record.sums = dense_new(bb_zfp_panels_place_count(&task.cut, task.slabs.count));
    fill_array(narrow, record.columns, j, (float)x[j]);
    record.x = narrow;
    play(&task, &record);
    compare(matrix, &record, x);
    BB_RELEASE(&record.values);
    BB_RELEASE(&record.seen);
    BB_RELEASE(&record.sums);
}

static void check_shape(const zfp_shape *shape, int dimensions, const zfp_kind *kind)
{
    autofree double *values = zfp_values(shape, 1);
    autofree double *x = dense_new(zfp_columns(shape));
    autoptr(bb_coded_matrix) matrix = zfp_encode(shape, dimensions, kind, values);
    const bb_index rows = zfp_rows(shape);
    dense_random(zfp_columns(shape), 2, x);
    autoptr(bb_zfp_panels) panels = new_object(bb_zfp_panels, cpu, matrix);
    check_window(matrix, panels, x, 0, rows);
    check_window(matrix, panels, x, rows - 1, 1);
    check_window(matrix, panels, x, rows / 3, rows / 2);
    assert_int_equal(bb_zfp_panels_task(panels, 0, 0).slabs.count, 0);
    // Rates too: the index of a variable rate is stored next to the stream.
    assert_true(bb_zfp_panels_bytes(panels) > 0);
    if (kind->mode == BB_ZFP_RATE) {
        assert_true(bb_zfp_panels_task(panels, 0, rows).operand[0].lengths == NULL);
    }
}

// Lines that fill no block, blocks that fill no run, runs that fill no group, and incomplete bands.
static const zfp_shape shapes[] = {
    {1, 1, 1, 1}, {6, 5, 19, 55}, {5, 21, 40, 64}, {9, 3, 33, 37}, {4, 8, 1, 90}, {2, 4, 70, 70},
};

TEST_FULL(panels_hold_every_value_once)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        for (int dimensions = 1; dimensions <= 4; ++dimensions) {
            for (int k = 0; k < ZFP_KINDS; ++k) {
                check_shape(&shapes[s], dimensions, &zfp_kinds[k]);
            }
        }
    }
}

// Rows of 33667 columns: several panels each, and slabs that begin inside a group of runs.
TEST(rows_of_many_panels_are_whole)
{
    static const zfp_shape wide = {2, 2, 131, 257};
    for (int dimensions = 1; dimensions <= 4; ++dimensions) {
        check_shape(&wide, dimensions, &zfp_kinds[3]);
    }
}

TEST(poisoned_rows_have_no_scale)
{
    const zfp_shape shape = {6, 5, 19, 55};
    autofree double *values = zfp_values(&shape, 1);
    values[7 * zfp_columns(&shape) + 500] = 0x1p126;
    values[29 * zfp_columns(&shape) + 1] = NAN;
    for (int dimensions = 1; dimensions <= 4; ++dimensions) {
        autoptr(bb_coded_matrix) matrix = zfp_encode(&shape, dimensions, &zfp_kinds[3], values);
        autofree double *row = dense_new(zfp_columns(&shape));
        autoptr(bb_zfp_panels) panels = new_object(bb_zfp_panels, cpu, matrix);
        const double *scales = bb_zfp_panels_task(panels, 0, 30).operand[0].scales;
        for (bb_index i = 0; i < 30; ++i) {
            bool poisoned = false;
            bb_coded_matrix_decode(matrix, i, 0, zfp_columns(&shape), row);
            for (bb_index j = 0; j < zfp_columns(&shape); ++j) {
                poisoned = poisoned || isnan(row[j]);
            }
            assert_true(poisoned ? isnan(scales[i]) : scales[i] == 1.0);
        }
        assert_true(isnan(scales[7]) && isnan(scales[29]));
    }
}

TEST(only_matrices_of_a_kind_go_together)
{
    const zfp_shape shape = {6, 5, 19, 55};
    const zfp_shape turned = {6, 5, 55, 19};
    autofree double *values = zfp_values(&shape, 1);
    bb_coded_matrix *matrix[4] = {zfp_encode(&shape, 2, &zfp_kinds[2], values),
                                  zfp_encode(&shape, 2, &zfp_kinds[3], values),
                                  zfp_encode(&shape, 3, &zfp_kinds[3], values),
                                  zfp_encode(&turned, 2, &zfp_kinds[3], values)};
    bb_zfp_panels *panels[4];
    for (int i = 0; i < 4; ++i) {
        check_ok(bb_zfp_panels_create(cpu, matrix[i], &panels[i]));
    }
    assert_true(bb_zfp_panels_alike(panels[0], panels[1]));
    assert_false(bb_zfp_panels_alike(panels[0], panels[2]));
    assert_false(bb_zfp_panels_alike(panels[0], panels[3]));
    for (int i = 0; i < 4; ++i) {
        bb_zfp_panels_destroy(&panels[i]);
        bb_coded_matrix_destroy(&matrix[i]);
    }
}

TEST_GROUP(.begin = open_cpu, .end = close_cpu);
