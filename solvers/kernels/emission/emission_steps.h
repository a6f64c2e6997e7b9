// SPDX-License-Identifier: Apache-2.0
//
// Emission common to the backends: names of values, reads, writes and functions of a body; sums in
// their declared order; points whose accesses need no boundary.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_STEPS_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_STEPS_H

#include "solvers/kernels/emission/emission.h"

enum { BB_EMISSION_NAME_BYTES = 48, BB_EMISSION_TEXT_BYTES = 192 };

/// Shared accesses of neighbouring points of a work-item (emission_vectors.h).
typedef struct bb_emission_vectors bb_emission_vectors;

/// Boxes in the local memory of a work-group (emission_locals.h).
typedef struct bb_emission_locals bb_emission_locals;

/// Differences between OpenCL C and CUDA (emission_gpu.h).
typedef struct bb_emission_words bb_emission_words;

/// Work-items that share a sum.
typedef struct bb_emission_team {
    bb_index items;
    bb_index teams; ///< teams per work-group
    bb_distribution distribution;
} bb_emission_team;

/// State of a text being written. Functions that append text return nothing: `status` is that of
/// the first piece that failed, after which nothing is appended.
typedef struct bb_emission_writer {
    const bb_program *program;
    const bb_expression_dialect *dialect;
    const bb_choice *choice;
    bb_emission_target target;
    bool runs_loops;       ///< loops run in one work-item (bb_choice.tile)
    const bool *is_inside; ///< [step_count] accesses that need no boundary
    const bool *is_fast;   ///< [step_count] accesses that need none in the current piece of text
                           ///< only; may be NULL
    const bb_emission_vectors *vectors; ///< windows for the points of the current piece of text;
                                        ///< NULL: none
    const bb_emission_locals *locals;   ///< boxes for these points; NULL: none
    bool *is_used;                      ///< [value_count] host values that occur in the text
    bool *is_saved;                     ///< [value_count] values used by later loops over a tile
    bool *is_done; ///< [value_count] saved values already computed by earlier loops
    bool *fast;    ///< [step_count] storage of `is_fast`
    bb_text *out;
    int depth; ///< indentation depth
    bb_status status;

    // Members for texts of work-items
    const bb_emission_words *words;
    bb_emission_team team; ///< items 0: no team
    bool is_guarded;       ///< a variable `active` tells whether the point is in the space
    bb_text *local;        ///< declarations of local memory for the head of the entry
    bool *is_shared;       ///< [iterator_count + 1] sums for which local memory is declared
} bb_emission_writer;

/// Records a status unless an earlier failure is recorded; returns true if nothing has failed.
bool bb_emission_try(bb_emission_writer *writer, bb_status status);

/// Appends a formatted piece as it is.
void bb_emission_add(bb_emission_writer *writer, const char *format, ...) BB_PRINTF(2, 3);

/// Appends a formatted line, indented: '{' at its end opens a block, '}' at its start closes one.
void bb_emission_line(bb_emission_writer *writer, const char *format, ...) BB_PRINTF(2, 3);

/// "float"
const char *bb_emission_type(const bb_emission_writer *writer, bb_element_type type);

/// Name of the variable of a value: h3 (host), x0 (main space), k2_0 (iterator 2), r5 (read), f7_12
/// (function), s9 (reduction).
const char *bb_emission_name(bb_emission_writer *writer, int value,
                             char name[BB_EMISSION_NAME_BYTES]);

/// Appends an access's coordinates as declarations a<step>_0 and a<step>_1. If `position` is not
/// -1, this value counts as 0 in them and the prefix is b.
void bb_emission_coordinates(bb_emission_writer *writer, int number, int position);

/// "o2[a5_0 + h1 * a5_1]": element of an access.
void bb_emission_element(bb_emission_writer *writer, int number, char text[BB_EMISSION_TEXT_BYTES]);

/// True if an access may leave its object in the current piece of text.
bool bb_emission_has_boundary(const bb_emission_writer *writer, int number);

/// True if a read of the list may skip its point.
bool bb_emission_leaves_out_points(const bb_emission_writer *writer, const bb_step_list *list);

/// Appends a read, write or function. A read skipped by its boundary continues with the next point
/// of the enclosing loop: `continue`.
void bb_emission_step(bb_emission_writer *writer, int number);

/// Appends target[k] = ICF(target, inputs) for a body's item, for every accumulator k.
void bb_emission_accumulate(bb_emission_writer *writer, const bb_reduction *reduction,
                            const char *target);

/// Appends a function `name` that joins the second part into the first, each an array of the
/// accumulators.
void bb_emission_join_function(bb_emission_writer *writer, const bb_reduction *reduction,
                               const char *name);

/// Used by bb_emission_create: fill `emission` with the source and the launch parameters of its
/// entries.
BB_CHECKED bb_status bb_emission_fill_loops(bb_emission_writer *writer, bb_emission *emission);
BB_CHECKED bb_status bb_emission_fill_gpu(bb_emission_writer *writer, bb_emission *emission);

/// Lists the host values that the text uses.
void bb_emission_list_values(bb_emission_writer *writer, bb_emission *out);

/// Pragma before texts with adjacent stores of neighbouring points, which gcc must not merge.
extern const char *const bb_emission_plain_loops;

/// Appends the body of points b ... e - 1 of loops (emission_c_bodies.c): a loop over the points
/// around all steps and iterators, or loops over the points inside the iterators.
void bb_emission_loop_steps(bb_emission_writer *writer, const bb_step_list *list);
void bb_emission_loop_tile(bb_emission_writer *writer);

// Sums (emission_sums.c): the same functions for every backend

/// Appends, for reduction `number` (an iterator's, or iterator_count for the main space's), over
/// `width` neighbouring points at a time:
///   bb_neutral<number>(k), bb_first<number>(k)   start values of accumulator k
///   bb_join<number>(a, b)                        joins part b into part a
///   bb_sum<number>                               lanes and parts, `lane[level][lane][point][k]`
///   bb_clear<number>(s), bb_start<number>(s, level, points), bb_begin<number>(s, points)
///   bb_tree<number>(s, level, points)            joins the lanes of a level into lane 0
///   bb_push<number>(s, level, points)            passes lane 0 of a level up, as a part
///   bb_total<number>(s, points)                  leaves the total in lane[0][0]
void bb_emission_sum(bb_emission_writer *writer, const bb_reduction *reduction, int number,
                     bb_index width);

/// Appends `const T s<value> = <place>[k];` for every accumulator.
void bb_emission_sum_outputs(bb_emission_writer *writer, const bb_reduction *reduction,
                             const char *place);

/// Opens a loop over the chunks of iterator `number`, each with items c<number> ... e<number> - 1.
/// Without chunks it is a block of all items; for two ranges only c<number> is declared. The caller
/// closes it.
void bb_emission_chunks(bb_emission_writer *writer, int number);

/// Opens loops over the items of iterator `number`: c<number> ... e<number> - 1, or all; the
/// innermost one is unrolled `unroll` times unless that is 0.
void bb_emission_open_items(bb_emission_writer *writer, int number, bool of_chunk, int unroll);
void bb_emission_close_items(bb_emission_writer *writer, int number);

/// Appends the common beginning of every source: helpers of the dialect, boundaries, names.
void bb_emission_prologue(bb_emission_writer *writer);

// Points (emission_points.c): the range of a line in which all accesses stay inside their objects,
// so that a loop over it needs no boundary; and the values that loops over a tile pass to later
// ones

/// Sets `fast` for accesses of the body with a boundary whose first coordinate is the position of
/// dimension 0 plus a constant of the line, and whose second does not depend on it. Returns true if
/// there are any.
bool bb_emission_find_fast(bb_emission_writer *writer);

/// Appends declarations of `lo` and `hi`: points lo ... hi - 1 of b ... e - 1 keep the fast
/// accesses inside.
void bb_emission_line_bounds(bb_emission_writer *writer);

/// Restricts `fast` to steps whose coordinates follow the point with coefficient one or not at all.
/// Returns true if there are any.
bool bb_emission_find_moving(bb_emission_writer *writer);

/// Appends lines that clear `inside`, an int, if a moving access of `points` by `rows` points from
/// (x0, x1) on, which are declared, leaves its object.
void bb_emission_tile_bounds(bb_emission_writer *writer, bb_index points, bb_index rows);

/// Index of the first iterator in a body that has one.
int bb_emission_iterator_place(const bb_program *program);

/// True if neighbouring points share the reads of their iterators, because these run alike for all
/// of them.
bool bb_emission_runs_by_tile(const bb_program *program);

/// Declares v<value>, with `extents` after the name, for values of the body that a later iterator,
/// or a step after one, uses: one element per point of the tile.
void bb_emission_declare_saved(bb_emission_writer *writer, const char *extents);

/// Appends declarations of the saved values, and of the sums before step `end` of the body, for a
/// point: v<value><point>, and <sum><iterator><lane>.
void bb_emission_reload(bb_emission_writer *writer, int end, const char *point, const char *sum,
                        const char *lane);

/// Saves the results of a step for a point.
void bb_emission_save(bb_emission_writer *writer, const bb_step *step, const char *point);

#endif
