// SPDX-License-Identifier: Apache-2.0
//
// Configuration of a product study: a user's matrix times vectors, without physics.
#ifndef BB_SIM_PRODUCT_PRODUCT_STUDY_H
#define BB_SIM_PRODUCT_PRODUCT_STUDY_H

#include "sim/input/matrix_file.h"
#include "sim/pipelines/product_pipeline.h"

/// Keys of `layout:`, the grids of rows and columns for codecs that exploit smoothness.
typedef struct bb_product_layout_config {
    bb_index mesh_columns; ///< 0: the columns form a line
    bb_index row_columns;  ///< 0: the rows form no grid
} bb_product_layout_config;

typedef struct bb_product_study {
    bb_study common;
    bb_matrix_place matrix; ///< matrix C [rows][columns]
    bb_matrix_place inputs; ///< inputs X [vectors][columns]; members NULL: random vectors
    bb_index vectors;       ///< number of random vectors, without inputs
    bb_product_layout_config layout;
    bb_machine_price_config machine;
    bb_kernel_keys kernels;
    bb_list pipelines; ///< list of bb_product_pipeline
} bb_product_study;

extern const bb_schema bb_product_study_schema;

/// Example study with every required key, for `bitbudget new`.
extern const char bb_product_study_starter[];

/// Checks the rules between keys of a bb_product_study. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_product_study_check(const void *study, const bb_config *config,
                                            bb_problems *problems);

#endif
