// SPDX-License-Identifier: Apache-2.0
//
// Cholesky factor of a sparse stiffness, made by CHOLMOD (supernodal, permutation given) or read
// from a file that an earlier run kept.
//
// A file is named by a 128-bit key of everything that the factor depends on and holds that key, the
// sizes and a 128-bit digest (XXH3) of all of its arrays. It is written under another name and
// renamed, so that readers see whole files only. A file that is cut, changed, of another version or
// of another problem is reported, and the factor is made anew.
//
// Limits: bits are those of the BLAS of the run that factored; files are in the byte order of the
// machine. Nothing deletes old files.
#ifndef BB_PHYSICS_WAFER_RESPONSE_PLATE_FACTOR_H
#define BB_PHYSICS_WAFER_RESPONSE_PLATE_FACTOR_H

#include "core/need.h"
#include "physics/wafer/response/supernode_solve.h"

/// Upper triangle of a symmetric matrix by columns: rows of column j are
/// row[start[j] .. start[j + 1] - 1], ascending, up to j.
typedef struct bb_upper_triangle {
    int64_t unknowns;
    int64_t *start; ///< [unknowns + 1]
    int64_t *row;   ///< [start[unknowns]]
    double *value;
} bb_upper_triangle;

/// 128 bits that name a factor.
typedef struct bb_factor_key {
    uint64_t low, high;
} bb_factor_key;

typedef struct bb_plate_factor bb_plate_factor;

/// Factors; `order` [unknowns] is the elimination order asked for. Errors: BB_INVALID (not positive
/// definite), BB_MEMORY, BB_INTERNAL. Owner: the caller.
BB_CHECKED bb_status bb_plate_factor_create(const bb_upper_triangle *matrix, const int64_t *order,
                                            bb_plate_factor **out);

/// The file's factor, or NULL in `*out` where there is no file, or none that can be trusted (a
/// warning says why). Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plate_factor_load(const char *folder, bb_factor_key key, int64_t unknowns,
                                          bb_plate_factor **out);

/// Keeps the factor in `folder`, which is made when it is missing. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_plate_factor_store(const bb_plate_factor *factor, const char *folder,
                                           bb_factor_key key);

/// Path of the file of a key. Owner: the caller.
BB_CHECKED bb_status bb_plate_factor_path(const char *folder, bb_factor_key key, char **out);

/// What factoring takes: the matrix of `matrix_values` beside CHOLMOD's permuted copy of it, and a
/// factor by nested dissection of `per_unknown` n log2 n doubles for n unknowns, its indices
/// included; and what of it stays. CHOLMOD takes its part by itself, not from core/memory.h.
bb_need bb_plate_factor_need(double unknowns, double per_unknown, double matrix_values);
bb_need bb_plate_factor_held(double unknowns, double per_unknown);

/// The most that CHOLMOD held while it made a factor, bytes by its own count; 0 of one that was
/// read.
double bb_plate_factor_peak_bytes(const bb_plate_factor *factor);

/// Valid as long as the factor.
const bb_supernodes *bb_plate_factor_supernodes(const bb_plate_factor *factor);

/// place [unknowns]: where each unknown stands in the factor.
const int64_t *bb_plate_factor_places(const bb_plate_factor *factor);

void bb_plate_factor_destroy(bb_plate_factor **factor);

#endif
