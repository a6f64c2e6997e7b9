// SPDX-License-Identifier: Apache-2.0
//
// A kernel's data objects as datasets of HDF5 files, each under its name.
//
// Files come from anywhere, and the HDF5 library can crash on damaged ones: a file is read in a
// child process first.
#ifndef BB_SIM_KERNELS_OBJECT_FILE_H
#define BB_SIM_KERNELS_OBJECT_FILE_H

#include "solvers/kernels/program/binding.h"

/// Elements of all objects of a program; zero-initialise, release with bb_object_file_release.
typedef struct bb_object_file_data {
    bb_program_data *objects; ///< [count]; elements owned, NULL where there are none
    int count;
} bb_object_file_data;

/// Reads the dataset of its name for every object: [rows][columns] of a matrix, one axis of a
/// vector, with a last axis of 2 (real, imaginary) of a complex type. Floats of any byte order that
/// lose nothing; integers for INT32 if all fit; for B 8-bit unsigned integers or the booleans that
/// h5py writes, all but 0 are true. Values may be anything. An object that is only written takes
/// its shape, and what no point writes, from a dataset that may be without values. Errors: BB_IO
/// (no such file, not HDF5, damaged), BB_INVALID (no dataset, another class, another shape, values
/// that would be lost; object and dataset are named), BB_MEMORY. Call it where no other thread
/// runs.
BB_CHECKED bb_status bb_object_file_read(const char *path, const bb_program *program,
                                         bb_object_file_data *out);
void bb_object_file_release(bb_object_file_data *data);

/// Objects of a file or, without elements, of sizes: `set` is as typed, "A=2048x1024,b=2048", or
/// names a set of the benchmark data of file `kernel`; NULL: "seed". Errors: those of
/// bb_object_file_read, BB_INVALID (both; no such set or object, an object without sizes, no
/// number).
BB_CHECKED bb_status bb_object_file_find(const char *file, const char *set, const char *kernel,
                                         const bb_program *program, bb_object_file_data *out);

/// What stands in a file beside the objects.
typedef struct bb_object_file_record {
    const char *device;   ///< "cpu, AMD EPYC"
    const char *compiler; ///< "cc, GCC 12.2.0, -std=c17"
    const char *variant;  ///< "tile512"
    const char *origin;   ///< where the variant is from: "given", "default", "wisdom exact, ..."
} bb_object_file_record;

/// Writes the objects that the program writes, each in its type, and attributes `kernel`,
/// `program`, `device`, `compiler`, `variant` and `variant_origin`, as bb_file_write_by writes.
/// Errors: BB_IO.
BB_CHECKED bb_status bb_object_file_write(const char *path, bool force, const bb_program *program,
                                          const bb_object_file_data *data,
                                          bb_object_file_record record);

#endif
