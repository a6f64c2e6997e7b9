// SPDX-License-Identifier: Apache-2.0
//
// Data objects of a kernel as HDF5 datasets of the same names.
//
// Files may be damaged and crash the HDF5 library: a file is read in a child process first.
#ifndef BB_SIM_KERNELS_OBJECT_FILE_H
#define BB_SIM_KERNELS_OBJECT_FILE_H

#include "solvers/kernels/program/binding.h"

/// Elements of all objects of a program; zero-initialise, release with bb_object_file_release.
typedef struct bb_object_file_data {
    bb_program_data *objects; ///< [count]; elements are owned, NULL if absent
    int count;
} bb_object_file_data;

/// Reads the dataset with the name of each object: [rows][columns] for a matrix, one axis for a
/// vector, with a last axis of 2 (real, imaginary) for a complex type. Accepts floats of any byte
/// order that are converted without loss; integers for INT32 if all fit; for B 8-bit unsigned
/// integers or h5py's booleans, true if not 0. Values are arbitrary. A write-only object gets its
/// shape, and the values of unwritten points, from a dataset that may have no values. Errors: BB_IO
/// (no such file, not HDF5, damaged), BB_INVALID (no dataset, another class, another shape, lossy
/// values; object and dataset are named), BB_MEMORY. Call it while no other thread runs.
BB_CHECKED bb_status bb_object_file_read(const char *path, const bb_program *program,
                                         bb_object_file_data *out);
void bb_object_file_release(bb_object_file_data *data);

/// Finds objects of a file or, without elements, of given sizes: `set` is "A=2048x1024,b=2048", or
/// the name of a set of the benchmark data of file `kernel`; NULL: "published". Errors: those of
/// bb_object_file_read, BB_INVALID (both given; no such set or object, an object without sizes, not
/// a number).
BB_CHECKED bb_status bb_object_file_find(const char *file, const char *set, const char *kernel,
                                         const bb_program *program, bb_object_file_data *out);

/// Metadata of a file of objects.
typedef struct bb_object_file_record {
    const char *device;   ///< "cpu, AMD EPYC"
    const char *compiler; ///< "cc, GCC 12.2.0, -std=c17"
    const char *variant;  ///< "tile512"
    const char *origin;   ///< origin of the variant: "given", "default", "wisdom exact, ..."
} bb_object_file_record;

/// Writes the objects that the program writes, each with its type, and attributes `kernel`,
/// `program`, `device`, `compiler`, `variant` and `variant_origin`, through bb_file_write_by.
/// Errors: BB_IO.
BB_CHECKED bb_status bb_object_file_write(const char *path, bool force, const bb_program *program,
                                          const bb_object_file_data *data,
                                          bb_object_file_record record);

#endif
