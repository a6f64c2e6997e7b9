// SPDX-License-Identifier: Apache-2.0
//
// Need estimates of coded matrices against actual use: every row of the codec table with a value of
// each of its keys. If the bytes depend on the data, the need is a bound for any data, and those
// here are smooth: only the lower limit is checked.
#include "tests/need.h"
#include "tests/precision/codec_rows.h"
#include "tests/precision/coded.h"

enum { ACROSS = 40, DOWN = 32, COLUMNS = ACROSS * DOWN, ROW_COLUMNS = 8, ROWS = 64 };

static codec_rows rows;

static void fill(double *panel)
{
    for (bb_index i = 0; i < ROWS; ++i) {
        for (bb_index j = 0; j < COLUMNS; ++j) {
            const bb_index line = j / ACROSS;
            const bb_index row_line = i / ROW_COLUMNS;
            const double x = (double)(j % ACROSS) - 3.0 * (double)(i % ROW_COLUMNS);
            const double y = (double)line - 3.0 * (double)row_line;
            panel[i * COLUMNS + j] = exp(-0.02 * (x * x + 1.3 * y * y)) * (1.0 + 0.01 * x);
        }
    }
}

TEST(needs_cover_every_codec)
{
    const bb_matrix_layout layout = {.rows = ROWS,
                                     .columns = COLUMNS,
                                     .mesh_columns = ACROSS,
                                     .row_columns = ROW_COLUMNS,
                                     .range = 1.0};
    autofree double *panel = new_array(double, ROWS *COLUMNS);
    fill(panel);
    rows.width.brief = true;
    codec_rows_list(&rows);
    for (int c = 0; c < rows.count; ++c) {
        char name[64];
        const bb_codec_config *config = &rows.configs[c];
        if (bb_matrix_layout_check(&layout, config) != BB_OK) {
            bb_status_clear();
            continue;
        }
        bb_codec_describe(config, name, sizeof name);
        need_start();
        autoptr(bb_coded_matrix) matrix = coded_matrix(config, BB_ROW_SCALE_NONE, &layout, panel);
        need_stop();
        const double looseness = isnan(bb_codec_bits_per_value(config)) ? INFINITY : NEED_LOOSENESS;
        need_hold(name, bb_coded_matrix_need(config, &layout, 1.0), looseness);
        need_stop_held();
        need_hold(name, bb_coded_matrix_resident(config, &layout), looseness);
    }
}
