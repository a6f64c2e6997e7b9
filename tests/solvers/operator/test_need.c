// SPDX-License-Identifier: Apache-2.0
//
// Predicted memory of operators against the CPU's allocations, for a codec of every form. The
// workspace of tiles and blocks has a bound for any shape, far above these shapes, so only its
// lower side is checked.
#include "solvers/operator/coded_operator.h"
#include "solvers/operator/device_coding.h"
#include "tests/need.h"
#include "tests/precision/codec_rows.h"
#include "tests/precision/coded.h"

enum { ACROSS = 40, DOWN = 32, COLUMNS = ACROSS * DOWN, ROW_COLUMNS = 8, ROWS = 64 };

static codec_rows rows;
static bool seen[BB_FORM_KINDS];
static double panel[ROWS * COLUMNS], x[COLUMNS], y[ROWS];

static void fill(void)
{
    for (bb_index k = 0; k < (bb_index)ROWS * COLUMNS; ++k) {
        const bb_index row = k / COLUMNS;
        panel[k] = sin(0.01 * (double)(k % COLUMNS)) * cos(0.1 * (double)row);
        x[k % COLUMNS] = 1.0;
    }
}

static void apply(bb_device *cpu, const bb_coded_matrix *matrix, bb_format multiply)
{
    const bb_gemv_arithmetic arithmetic = {multiply, multiply};
    double seconds = 0.0;
    autoptr(bb_coded_operator) operation = new_object(bb_coded_operator, cpu, matrix, arithmetic);
    check_ok(bb_coded_operator_apply(operation, 0, ROWS, x, y, &seconds));
}

// Needs of products in fp64 and in fp32. fp32 has its own copy of x but needs no piece of bfp8.
static void hold(bb_device *cpu, const bb_coded_matrix *matrix, const char *name)
{
    const bb_codec_config *storage = bb_coded_matrix_config(matrix);
    const bb_codec_form_kind form = bb_codec_form_of(storage).kind;
    // A piece of zfp consists of columns, other pieces of a row; the CPU multiplies decoded zfp
    // anyway.
    const bool bounded =
        form == BB_FORM_TILES || form == BB_FORM_COEFFICIENTS || form == BB_FORM_STREAMS;
    need_start();
    apply(cpu, matrix, BB_FORMAT_FP64);
    apply(cpu, matrix, BB_FORMAT_FP32);
    need_stop();
    const bb_need need = bb_need_together(
        bb_coded_operator_need(storage, ROWS, COLUMNS, BB_DEVICE_CPU),
        bb_coded_operator_apply_need(storage, ROWS, COLUMNS, (double)bb_threads_count()));
    need_hold(name, need, bounded ? INFINITY : NEED_LOOSENESS);
    assert_true(need.device_bytes == 0.0);
}

TEST(needs_cover_every_form)
{
    const bb_matrix_layout layout = {.rows = ROWS,
                                     .columns = COLUMNS,
                                     .mesh_columns = ACROSS,
                                     .row_columns = ROW_COLUMNS,
                                     .range = 2.0};
    bb_device *cpu = NULL;
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &cpu));
    fill();
    rows.width.brief = true;
    codec_rows_list(&rows);
    for (int c = 0; c < rows.count; ++c) {
        char name[64];
        const bb_codec_config *config = &rows.configs[c];
        const bb_codec_form_kind form = bb_codec_form_of(config).kind;
        if (seen[form] || bb_codec_absent(config, BB_DEVICE_CPU) != NULL ||
            bb_matrix_layout_check(&layout, config) != BB_OK) {
            bb_status_clear();
            continue;
        }
        seen[form] = true;
        bb_codec_describe(config, name, sizeof name);
        autoptr(bb_coded_matrix) matrix = coded_matrix(config, BB_ROW_SCALE_NONE, &layout, panel);
        hold(cpu, matrix, name);
    }
    bb_device_close(&cpu);
    // A copy on a GPU: its values, x, y, and the workspace of sums.
    const bb_codec_config fp32 = bb_codec_plain(BB_FORMAT_FP32);
    const bb_need there = bb_coded_operator_need(&fp32, ROWS, COLUMNS, BB_DEVICE_CUDA);
    assert_true(there.device_bytes >= 4.0 * ROWS * COLUMNS + 8.0 * (ROWS + COLUMNS));
    // An assembled operator: its scales and its kernel remain on the host.
    const bb_need assembled = bb_coded_operator_need(&fp32, ROWS, COLUMNS, BB_DEVICE_OPENCL);
    assert_true(assembled.device_bytes == there.device_bytes);
    assert_true(assembled.host_bytes >= there.host_bytes + 8.0 * ROWS);
}

// Errors of every segment of 1024 columns and of every row; the quantiser also has places of its
// tiles, a transform matrix words.
TEST(workspace_of_encoding_on_a_gpu_grows_with_what_is_compared)
{
    const double errors = sizeof(bb_error_norms) + 3.0 * sizeof(double);
    const bb_codec_config fp32 = bb_codec_plain(BB_FORMAT_FP32);
    const bb_codec_config quantiser = codec_of("quantiser tolerance=1e-3");
    const bb_codec_config transform = codec_of("transform tolerance=1e-3");
    const bb_need words = bb_device_coding_need(&fp32, ROWS, 10.0 * 1024.0);
    const bb_need places = bb_device_coding_need(&quantiser, ROWS, 10.0 * 1024.0);
    const bb_need blocks = bb_device_coding_need(&transform, ROWS, 10.0 * 1024.0);
    assert_true(words.device_bytes >= errors * ROWS * 11.0);
    assert_true(words.device_bytes <= 4.0 * errors * ROWS * 11.0);
    assert_true(places.device_bytes >= words.device_bytes + 12.0 * ROWS * 10.0);
    assert_true(blocks.device_bytes >= 0.5 * ROWS * 10.0 * 1024.0); // 4 bits per value
    assert_true(blocks.device_bytes <=
                2.0 * ROWS * 10.0 * 1024.0); // with places of blocks and rows
#ifndef BB_HAVE_CUDA
    assert_false(bb_device_coding_available(&fp32));
#endif
}
