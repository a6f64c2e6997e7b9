// SPDX-License-Identifier: Apache-2.0
//
// A variant of a program's text (Beier: "code variations" and "parallel distribution"):
// distribution of its points and sums over work-items. All variants with the same order of sums are
// bit-identical.
#ifndef BB_SOLVERS_KERNELS_EMISSION_CHOICE_H
#define BB_SOLVERS_KERNELS_EMISSION_CHOICE_H

#include "core/device/device.h"
#include "solvers/kernels/program/binding.h"

/// Distribution of neighbours (points of the space, or lanes of a sum) over the work-items of a
/// group.
typedef enum bb_distribution {
    BB_DISTRIBUTION_INTERLEAVED, ///< neighbours go to consecutive work-items
    BB_DISTRIBUTION_BLOCKED,     ///< each work-item gets several neighbours, in vectors where sizes
                                 ///< allow
} bb_distribution;

/// Unit that a work-item of a program's body processes.
typedef enum bb_form {
    BB_FORM_POINTS, ///< tiles of points of the space
    BB_FORM_LANES,  ///< lanes of the sum of one point
    BB_FORM_SPACE,  ///< lanes of a chunk of the space, for a reduction over the space
} bb_form;

typedef struct bb_choice {
    /// Size of a work-group in work-items. For lanes, [0] work-items share a sum (or a chunk of the
    /// space), and [1] such teams form a group. {1, 1} for loops (`tile`).
    bb_index group[BB_PROGRAM_DIMENSIONS];
    int points; ///< points per work-item along dimension 0
    int rows;   ///< points per work-item along dimension 1; for loops: lines per item, one after
                ///< another
    bb_distribution distribution;
    /// Chunks of a point's sum are processed by separate work-groups (or work-items).
    bool is_split;
    bool is_local; ///< data that a work-group reads repeatedly is cached in its local memory
    /// Order of the points' sums with lanes, and of the reduction over the space; lanes 0: the
    /// order of the program.
    bb_reduction_order order;
    /// Loops in a single work-item, for processors: points per item along dimension 0. For a
    /// reduction over the space it is 0 on the cpu, which always uses loops, and 1, meaning a
    /// chunk, in OpenCL. 0 otherwise: work-items.
    bb_index tile;
} bb_choice;

enum { BB_CHOICE_TEXT_BYTES = 96 };

/// Unit of a program's work-items on devices other than the cpu.
bb_form bb_choice_form(const bb_program *program);

/// Smallest number of lanes among the sums that teams compute; 0: there are none.
bb_index bb_choice_lanes(const bb_program *program);

/// Default when only the kind of device is known; OpenCL is assumed to be a GPU.
bb_choice bb_choice_default(bb_device_kind kind, const bb_program *program);

/// Default for OpenCL devices that are processors: loops.
bb_choice bb_choice_default_processor(const bb_program *program);

/// Default for an open device.
bb_choice bb_choice_default_on(const bb_device *device, const bb_program *program);

/// Default for a GPU and the sizes of a binding: fewer points per work-item if the points do not
/// fill the GPU, the number of work-items by the length of sums, chunks of long sums as separate
/// work-groups.
bb_choice bb_choice_default_gpu(bb_device_kind kind, const bb_binding *binding);

/// Default for an open device and the sizes of a binding.
bb_choice bb_choice_default_over(const bb_device *device, const bb_binding *binding);

/// Copy of a program with the choice's order of sums: it shares everything except its iterators
/// with `program`, which must outlive it. Errors: BB_MEMORY. Owner: the caller,
/// bb_choice_release_program.
BB_CHECKED bb_status bb_choice_apply(const bb_choice *choice, const bb_program *program,
                                     bb_program *out);
void bb_choice_release_program(bb_program *program);

/// True if the variant is legal for a program; otherwise `why` [why_bytes] receives the reason.
/// Device limits (core/device/build.h) are not checked.
bool bb_choice_is_legal(const bb_choice *choice, bb_device_kind kind, const bb_program *program,
                        char *why, size_t why_bytes);

/// Writes a choice as text, such as "group64x4-points4-blocked", "tile512-rows16". Words are
/// omitted if they have the default: one point, one row, interleaved, the program's order (another
/// order is written "order128x8192").
void bb_choice_write(const bb_choice *choice, char text[BB_CHOICE_TEXT_BYTES]);

/// Parses such a text. Errors: BB_INVALID (an unknown word, a number out of range).
BB_CHECKED bb_status bb_choice_read(const char *text, bb_choice *out);

bool bb_choice_equal(const bb_choice *choice, const bb_choice *other);

#endif
