// SPDX-License-Identifier: Apache-2.0
//
// Kernel managers (Beier, level 2): a description with sets of benchmark data, one row of a table
// each. Descriptions are the files of configs/kernels, built into the program.
#ifndef BB_SOLVERS_KERNELS_KERNEL_MANAGER_H
#define BB_SOLVERS_KERNELS_KERNEL_MANAGER_H

#include "solvers/kernels/program/binding.h"

enum { BB_MANAGER_OBJECTS = 6, BB_MANAGER_TYPES = 4, BB_MANAGER_PARAMETERS = 4 };

/// Sets of every manager: the size of Beier; a size larger than all caches; another shape; a small
/// one for tests. The mixed product has the shapes of Bamakhrama et al.: wide, square, tall.
typedef enum bb_benchmark_size {
    BB_BENCHMARK_PUBLISHED,
    BB_BENCHMARK_LARGE,
    BB_BENCHMARK_ODD,
    BB_BENCHMARK_SMALL,
    BB_BENCHMARK_COUNT,
} bb_benchmark_size;

/// Sizes of one object of a set: columns (or length) and rows.
typedef struct bb_benchmark_object {
    const char *name;
    bb_index columns, rows;
} bb_benchmark_object;

/// Pattern of a sparse matrix, for sets that have one.
typedef enum bb_sparsity {
    BB_SPARSITY_NONE,
    BB_SPARSITY_BAND,       ///< 32 elements per row, close to the diagonal
    BB_SPARSITY_COLUMNS,    ///< 32 elements per row, anywhere within 32768 columns
    BB_SPARSITY_FIVE_POINT, ///< Laplace operator on a square grid, 5 elements per row except at its
                            ///< edge
} bb_sparsity;

typedef struct bb_benchmark_set {
    const char *name; ///< "published", "large", "odd", "small"
    bb_benchmark_object objects[BB_MANAGER_OBJECTS];
    bb_sparsity sparsity;
} bb_benchmark_set;

typedef struct bb_kernel_manager {
    const char *name;
    const char *file;      ///< file of configs/kernels
    bool is_compute_bound; ///< the kernel is limited by operations, otherwise by memory traffic
    bool is_read_bound;    ///< traffic is compared with a pure read, otherwise with a copy
    bb_benchmark_set sets[BB_BENCHMARK_COUNT];
} bb_kernel_manager;

/// All managers; returns their number.
int bb_kernel_manager_table(const bb_kernel_manager **out);

/// Finds a manager by name. Errors: BB_INVALID with the nearest name.
BB_CHECKED bb_status bb_kernel_manager_find(const char *name, const bb_kernel_manager **out);

/// Types for the placeholders of a manager's kernel with elements of `type`, "SP", which is
/// borrowed; returns their number. All are T, except for kernels with mixed types.
int bb_kernel_manager_types(const bb_kernel_manager *manager, const char *type,
                            bb_type_binding out[BB_MANAGER_TYPES]);

/// Parameters for running the kernels, [BB_MANAGER_PARAMETERS]: all 0.
extern const bb_scalar bb_kernel_manager_parameters[BB_MANAGER_PARAMETERS];

/// Text of a file of configs/kernels, "" if there is none of that name.
const char *bb_kernel_manager_text(const char *file);

/// Parses such a file and creates its program, in types [count]; problems are reported under
/// `name`. Errors: BB_INVALID, BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_kernel_manager_read(const char *file, const char *name,
                                            const bb_type_binding *types, int count,
                                            bb_description *description, bb_program *program);

/// Fills the elements of a program's objects, with the sizes in `data`, for a set: numbers in [-1,
/// 1] computed from the index, rows of the sparse matrix.
void bb_kernel_manager_fill(const bb_program *program, const bb_benchmark_set *set,
                            const bb_program_data *data);

/// A set's object by name, NULL if it has none.
const bb_benchmark_object *bb_kernel_manager_object(const bb_benchmark_set *set, const char *name);

#endif
