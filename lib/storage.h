// SPDX-License-Identifier: Apache-2.0
//
// Encoded matrices shared by handles and operators, and the texts that describe them.
#ifndef BB_LIB_STORAGE_H
#define BB_LIB_STORAGE_H

#include "lib/library.h"
#include "precision/matrix_coding.h"

/// Parsed storage text.
typedef struct bb_storage_config {
    bb_codec_config codec;
    int scale; ///< bb_row_scale
    bb_index mesh_columns, row_columns;
} bb_storage_config;

/// Parses and checks a text. Errors: BB_INVALID.
BB_CHECKED bb_status bb_storage_config_read(const char *text, bb_storage_config *out);

/// Layout of a matrix `values` [rows][columns] with the range of its finite values. Errors:
/// BB_INVALID (sizes).
BB_CHECKED bb_status bb_storage_config_layout(const bb_storage_config *config, bb_index rows,
                                              bb_index columns, const double *values,
                                              bb_matrix_layout *out);

/// Creates an encoded matrix of `values` [rows][columns]; `certificates` [rows] or NULL. Errors:
/// BB_INVALID (a layout or range that the codec refuses), BB_MEMORY.
BB_CHECKED bb_status bb_storage_config_encode(const bb_storage_config *config,
                                              const bb_matrix_layout *layout, const double *values,
                                              bb_row_certificate *certificates,
                                              bb_coding_loss *loss, bb_coded_matrix **out);

/// Creates a handle with one reference to a finished matrix, which it owns from then on, also after
/// a failure; compares it with the exact values [rows][columns]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_storage_of_matrix(bb_coded_matrix **matrix, const double *values,
                                          bb_storage **out);

/// Adds a reference, released by bb_storage_destroy. Thread-safe.
bb_storage *bb_storage_share(const bb_storage *storage);

const bb_coded_matrix *bb_storage_matrix(const bb_storage *storage);

/// Certificates of the rows [rows].
const bb_row_certificate *bb_storage_certificates(const bb_storage *storage);

#endif
