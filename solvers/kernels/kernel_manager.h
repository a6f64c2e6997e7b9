// SPDX-License-Identifier: Apache-2.0
//
// Kernel managers (seed 002, level 2): a description and sets of benchmark data, a row of one table
// each. Descriptions are the files of configs/kernels, built into the program.
#ifndef BB_SOLVERS_KERNELS_KERNEL_MANAGER_H
#define BB_SOLVERS_KERNELS_KERNEL_MANAGER_H

#include "solvers/kernels/program/binding.h"

enum { BB_MANAGER_OBJECTS = 6, BB_MANAGER_TYPES = 4, BB_MANAGER_PARAMETERS = 4 };

/// Sets of every manager: as seed 002 has it; beyond every cache; another shape; for tests. The
/// mixed product has the shapes of seed 000: wide, square, tall.
typedef enum bb_benchmark_size {
    BB_BENCHMARK_SEED,
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

/// What a row of a sparse matrix holds, for sets that have one.
typedef enum bb_sparsity {
    BB_SPARSITY_NONE,
    BB_SPARSITY_BAND,       ///< 32 a row, neighbours of the diagonal
    BB_SPARSITY_COLUMNS,    ///< 32 a row, anywhere in 32768 columns
    BB_SPARSITY_FIVE_POINT, ///< Laplace on a square grid, 5 a row but at its edge
} bb_sparsity;

typedef struct bb_benchmark_set {
    const char *name; ///< "seed", "large", "odd", "small"
    bb_benchmark_object objects[BB_MANAGER_OBJECTS];
    bb_sparsity sparsity;
} bb_benchmark_set;

typedef struct bb_kernel_manager {
    const char *name;
    const char *file;      ///< of configs/kernels
    bool is_compute_bound; ///< held to operations, else to bytes
    bool is_read_bound;    ///< held to what reading takes, else to a copy
    bb_benchmark_set sets[BB_BENCHMARK_COUNT];
} bb_kernel_manager;

/// All managers; returns how many.
int bb_kernel_manager_table(const bb_kernel_manager **out);

/// Row by name. Errors: BB_INVALID with the nearest name.
BB_CHECKED bb_status bb_kernel_manager_find(const char *name, const bb_kernel_manager **out);

/// Types for the placeholders of a manager's kernel where its elements are of `type`, "SP", which
/// is borrowed; returns how many. All of them are T, but for kernels that mix types.
int bb_kernel_manager_types(const bb_kernel_manager *manager, const char *type,
                            bb_type_binding out[BB_MANAGER_TYPES]);

/// Parameters that the kernels are run with, [BB_MANAGER_PARAMETERS]: all 0.
extern const bb_scalar bb_kernel_manager_parameters[BB_MANAGER_PARAMETERS];

/// Text of a file of configs/kernels, "" where there is none of that name.
const char *bb_kernel_manager_text(const char *file);

/// Reads such a file and makes its program, in types [count]; problems are told under `name`.
/// Errors: BB_INVALID, BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_kernel_manager_read(const char *file, const char *name,
                                            const bb_type_binding *types, int count,
                                            bb_description *description, bb_program *program);

/// Fills the elements of a program's objects, whose sizes `data` has, for a set: numbers in [-1, 1]
/// that follow from the index, rows of the sparse matrix.
void bb_kernel_manager_fill(const bb_program *program, const bb_benchmark_set *set,
                            const bb_program_data *data);

/// A set's object by name, NULL where it has none.
const bb_benchmark_object *bb_kernel_manager_object(const bb_benchmark_set *set, const char *name);

#endif
