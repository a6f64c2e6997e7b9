// SPDX-License-Identifier: Apache-2.0
//
// A variant of a program's text (seed 002, "code variations" and "parallel distribution"): how its
// points and sums are shared out among work-items. Every variant of one order of sums gives the
// same bits.
#ifndef BB_SOLVERS_KERNELS_EMISSION_CHOICE_H
#define BB_SOLVERS_KERNELS_EMISSION_CHOICE_H

#include "core/device/device.h"
#include "solvers/kernels/program/binding.h"

/// How neighbours (points of the space, or lanes of a sum) go to the work-items of a group.
typedef enum bb_distribution {
    BB_DISTRIBUTION_INTERLEAVED, ///< the next one to the next work-item
    BB_DISTRIBUTION_BLOCKED,     ///< several neighbours to one, by vectors where sizes allow
} bb_distribution;

/// What work-items of a program's body are.
typedef enum bb_form {
    BB_FORM_POINTS, ///< tiles of points of the space
    BB_FORM_LANES,  ///< lanes of the sum of one point
    BB_FORM_SPACE,  ///< lanes of a chunk of the space, where it has an ICF
} bb_form;

typedef struct bb_choice {
    /// Work-items of a work-group. Of lanes: [0] share a sum (or a chunk of the space), [1] such
    /// stand side by side. {1, 1} of loops (`tile`).
    bb_index group[BB_PROGRAM_DIMENSIONS];
    int points; ///< of dimension 0 that a work-item takes
    int rows;   ///< likewise of dimension 1; of loops: lines of an item, one after another
    bb_distribution distribution;
    bool is_split; ///< chunks of a point's sum are work-groups (or work-items) of their own
    bool is_local; ///< what a work-group reads more than once is kept in its local memory
    /// Of the sums of the points that run by lanes, and of the space's ICF; lanes 0: the program's.
    bb_reduction_order order;
    /// Loops of one work-item, as processors run them: points of dimension 0 of an item. Of sums of
    /// the space 0 on the cpu, where they are always loops, and 1, a chunk, in OpenCL. 0:
    /// work-items.
    bb_index tile;
} bb_choice;

enum { BB_CHOICE_TEXT_BYTES = 96 };

/// What a program's work-items are on devices other than the cpu.
bb_form bb_choice_form(const bb_program *program);

/// The fewest lanes of the sums that teams of work-items run; 0: there are none.
bb_index bb_choice_lanes(const bb_program *program);

/// What is taken where nothing is known of a device but its kind; in OpenCL a GPU's.
bb_choice bb_choice_default(bb_device_kind kind, const bb_program *program);

/// Likewise of OpenCL devices that are processors: loops.
bb_choice bb_choice_default_processor(const bb_program *program);

/// Likewise of an open device.
bb_choice bb_choice_default_on(const bb_device *device, const bb_program *program);

/// Likewise of a GPU for the sizes of a binding: fewer points a work-item where the points do not
/// fill it, work-items by the length of sums, chunks of long sums as work-groups.
bb_choice bb_choice_default_gpu(bb_device_kind kind, const bb_binding *binding);

/// Likewise of an open device for the sizes of a binding.
bb_choice bb_choice_default_over(const bb_device *device, const bb_binding *binding);

/// A program whose sums are in the choice's order: it shares everything with `program`, which must
/// outlive it, but its iterators. Errors: BB_MEMORY. Owner: the caller, bb_choice_release_program.
BB_CHECKED bb_status bb_choice_apply(const bb_choice *choice, const bb_program *program,
                                     bb_program *out);
void bb_choice_release_program(bb_program *program);

/// Whether a program has this variant; `why` [why_bytes] tells what is against it. Limits of a
/// device (core/device/build.h) are not looked at.
bool bb_choice_is_legal(const bb_choice *choice, bb_device_kind kind, const bb_program *program,
                        char *why, size_t why_bytes);

/// "group64x4-points4-blocked", "tile512-rows16": words of what differs from one point of one row,
/// interleaved, in the program's order ("order128x8192" is another).
void bb_choice_write(const bb_choice *choice, char text[BB_CHOICE_TEXT_BYTES]);

/// Reads such a text. Errors: BB_INVALID (not of these words, a number out of range).
BB_CHECKED bb_status bb_choice_read(const char *text, bb_choice *out);

bool bb_choice_equal(const bb_choice *choice, const bb_choice *other);

#endif
