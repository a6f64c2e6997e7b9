// SPDX-License-Identifier: Apache-2.0
#include "sim/product/product_study.h"

// clang-format off
static const bb_key layout_keys[] = {
    {.name = "mesh_columns", .kind = BB_KEY_INTEGER, .unit = "1", .maximum = 1e9,
     .offset = offsetof(bb_product_layout_config, mesh_columns), .default_text = "0",
     .meaning = "Width of the mesh whose points are the columns, x fastest; 0: the columns are a "
                "line."},
    {.name = "row_columns", .kind = BB_KEY_INTEGER, .unit = "1", .maximum = 1e9,
     .offset = offsetof(bb_product_layout_config, row_columns), .default_text = "0",
     .meaning = "Width of the grid whose points are the rows; 0: no grid."},
};
static const bb_schema layout_schema =
    BB_SCHEMA("layout", bb_product_layout_config, layout_keys);

static const bb_key keys[] = {
    BB_STUDY_KEYS(bb_product_study),
    {.name = "matrix", .kind = BB_KEY_GROUP, .schema = &bb_matrix_place_schema,
     .offset = offsetof(bb_product_study, matrix), .meaning = "Matrix, rows by columns."},
    {.name = "inputs", .kind = BB_KEY_GROUP, .schema = &bb_matrix_place_optional_schema,
     .offset = offsetof(bb_product_study, inputs),
     .meaning = "Vectors to multiply, one per row; default: standard normal vectors."},
    {.name = "vectors", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1e6,
     .offset = offsetof(bb_product_study, vectors), .default_text = "8",
     .meaning = "Number of random vectors if no inputs are given."},
    {.name = "layout", .kind = BB_KEY_GROUP, .schema = &layout_schema,
     .offset = offsetof(bb_product_study, layout),
     .meaning = "Grids of rows and columns, for zfp."},
    {.name = "machine", .kind = BB_KEY_GROUP, .schema = &bb_machine_price_schema,
     .offset = offsetof(bb_product_study, machine), .meaning = "Cost of the computing machine."},
    BB_KERNELS_KEY(bb_product_study),
    {.name = "pipelines", .kind = BB_KEY_RECORDS, .schema = &bb_product_pipeline_schema,
     .minimum_count = 1, .offset = offsetof(bb_product_study, pipelines),
     .meaning = "Pipelines to compare; the one named reference, else the first, is the "
     "truth."},
};
// clang-format on
const bb_schema bb_product_study_schema = BB_SCHEMA("product", bb_product_study, keys);

const char bb_product_study_starter[] =
    "experiment: product\n"
    "title: storage formats of my matrix\n"
    "matrix: {file: mine.h5, dataset: /operators/C_x_8}\n"
    "pipelines:\n"
    "  - {name: reference, storage: fp64, multiply: fp64, accumulate: fp64}\n"
    "  - {name: fp16, storage: fp16, scale: row, multiply: fp32, accumulate: fp32}\n"
    "  - {name: bfp8, storage: {codec: bfp, bits: 8}, multiply: fp32, accumulate: fp64}\n";

bb_status bb_product_study_check(const void *study, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_product_study *product = study;
    BB_TRY(bb_study_refuse((product->inputs.file == NULL) != (product->inputs.dataset == NULL),
                           config, problems, "inputs: expected both file and dataset, or neither"));
    BB_TRY(
        bb_product_pipelines_check(&product->pipelines, product->common.device, config, problems));
    BB_TRY(bb_product_pipelines_refuse_wafer_keys(&product->pipelines, config, problems));
    BB_TRY(bb_kernel_keys_check(&product->kernels, config, problems));
done:
    return status;
}
