// SPDX-License-Identifier: Apache-2.0
//
// Emission common to the back ends: names of values, reads, writes and functions of a body; sums in
// their declared order; points whose accesses need no boundary.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_STEPS_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_STEPS_H

#include "solvers/kernels/emission/emission.h"

enum { BB_EMISSION_NAME_BYTES = 48, BB_EMISSION_TEXT_BYTES = 192 };

/// What neighbouring points of a work-item take together (emission_vectors.h).
typedef struct bb_emission_vectors bb_emission_vectors;

/// What a work-group keeps in its local memory (emission_locals.h).
typedef struct bb_emission_locals bb_emission_locals;

/// What OpenCL C and CUDA say differently (emission_gpu.h).
typedef struct bb_emission_words bb_emission_words;

/// Work-items that share a sum.
typedef struct bb_emission_team {
    bb_index items;
    bb_index teams; ///< of a work-group
    bb_distribution distribution;
} bb_emission_team;

/// Functions that append text return nothing: `status` is that of the first piece that failed,
/// after which no other is appended.
typedef struct bb_emission_writer {
    const bb_program *program;
    const bb_expression_dialect *dialect;
    const bb_choice *choice;
    bb_emission_target target;
    bool runs_loops;       ///< of one work-item (bb_choice.tile)
    const bool *is_inside; ///< [step_count]
    const bool *is_fast;   ///< [step_count] likewise, where this piece of text stands; may be NULL
    const bb_emission_vectors *vectors; ///< of the points of this piece of text; NULL: none
    const bb_emission_locals *locals;   ///< likewise
    bool *is_used;                      ///< [value_count] values of the host that stand in the text
    bool *is_saved; ///< [value_count] values that later loops over a tile take up
    bool *is_done;  ///< [value_count] of these, made by earlier loops
    bool *fast;     ///< [step_count] memory of `is_fast`
    bb_text *out;
    int depth; ///< of indentation
    bb_status status;

    // Work-items
    const bb_emission_words *words;
    bb_emission_team team; ///< items 0: a work-item is alone
    bool is_guarded;       ///< `active` says whether the point is one of the space
    bb_text *local;        ///< declarations of the work-group's memory, for the head of the entry
    bool *is_shared;       ///< [iterator_count + 1] sums for which a work-group shares memory
} bb_emission_writer;

/// Records a status unless an earlier failure is recorded; returns whether nothing has failed.
bool bb_emission_try(bb_emission_writer *writer, bb_status status);

/// Appends a formatted piece as it is.
void bb_emission_add(bb_emission_writer *writer, const char *format, ...) BB_PRINTF(2, 3);

/// Appends a formatted line, indented: '{' at its end opens a block, '}' at its begin closes one.
void bb_emission_line(bb_emission_writer *writer, const char *format, ...) BB_PRINTF(2, 3);

/// "float"
const char *bb_emission_type(const bb_emission_writer *writer, bb_element_type type);

/// The variable that holds a value: h3 (host), x0 (main space), k2_0 (iterator 2), r5 (read),
/// f7_12 (function), s9 (reduction).
const char *bb_emission_name(bb_emission_writer *writer, int value,
                             char name[BB_EMISSION_NAME_BYTES]);

/// Appends an access's coordinates as declarations a<step>_0 and a<step>_1; `position` (or -1) is a
/// value that is taken as 0 in them, under names with the prefix b.
void bb_emission_coordinates(bb_emission_writer *writer, int number, int position);

/// "o2[a5_0 + h1 * a5_1]": the element of an access.
void bb_emission_element(bb_emission_writer *writer, int number, char text[BB_EMISSION_TEXT_BYTES]);

/// Whether an access may leave its object where this piece of text stands.
bool bb_emission_has_boundary(const bb_emission_writer *writer, int number);

/// Whether a read of the list may leave its point out.
bool bb_emission_leaves_out_points(const bb_emission_writer *writer, const bb_step_list *list);

/// Appends a read, write or function. A read that is left out by its boundary goes on with the next
/// point of the loop around it: `continue`.
void bb_emission_step(bb_emission_writer *writer, int number);

/// Appends target[k] = ICF(target, inputs) of a body's item, for every accumulator k.
void bb_emission_accumulate(bb_emission_writer *writer, const bb_reduction *reduction,
                            const char *target);

/// Appends a function `name` that joins two parts, each an array of the accumulators, into the
/// first.
void bb_emission_join_function(bb_emission_writer *writer, const bb_reduction *reduction,
                               const char *name);

/// For bb_emission_create: fill `emission` with the source and how its entries are launched.
BB_CHECKED bb_status bb_emission_fill_loops(bb_emission_writer *writer, bb_emission *emission);
BB_CHECKED bb_status bb_emission_fill_gpu(bb_emission_writer *writer, bb_emission *emission);

/// Lists the values of the host that the text uses.
void bb_emission_list_values(bb_emission_writer *writer, bb_emission *out);

/// Before texts in which points store side by side: what keeps gcc from joining their operations.
extern const char *const bb_emission_plain_loops;

/// Appends the body of points b ... e - 1 of loops (emission_c_bodies.c): steps inside the loop
/// over points, iterators with theirs; or loops over the points, iterators around.
void bb_emission_loop_steps(bb_emission_writer *writer, const bb_step_list *list);
void bb_emission_loop_tile(bb_emission_writer *writer);

// Sums (emission_sums.c): the same functions for every back end

/// Appends, for reduction `number` (an iterator's, or iterator_count for the main space's), over
/// `width` neighbouring points at once:
///   bb_neutral<number>(k), bb_first<number>(k)   what accumulator k starts from
///   bb_join<number>(a, b)                        joins part b into part a
///   bb_sum<number>                               lanes and parts, `lane[level][lane][point][k]`
///   bb_clear<number>(s), bb_start<number>(s, level, points), bb_begin<number>(s, points)
///   bb_tree<number>(s, level, points)            joins the lanes of a level into lane 0
///   bb_push<number>(s, level, points)            hands lane 0 of a level up, as a part
///   bb_total<number>(s, points)                  leaves the total in lane[0][0]
void bb_emission_sum(bb_emission_writer *writer, const bb_reduction *reduction, int number,
                     bb_index width);

/// Appends `const T s<value> = <place>[k];` for every accumulator.
void bb_emission_sum_outputs(bb_emission_writer *writer, const bb_reduction *reduction,
                             const char *place);

/// Opens a loop over the chunks of iterator `number`: items c<number> ... e<number> - 1 of each; a
/// block of all items where there are no chunks, of two ranges with c<number> alone. The caller
/// closes it.
void bb_emission_chunks(bb_emission_writer *writer, int number);

/// Opens loops over the items of iterator `number`: c<number> ... e<number> - 1, or all; the
/// innermost one unrolled so often where `unroll` is not 0.
void bb_emission_open_items(bb_emission_writer *writer, int number, bool of_chunk, int unroll);
void bb_emission_close_items(bb_emission_writer *writer, int number);

/// Appends what every source begins with: the dialect's helpers, boundaries, names.
void bb_emission_prologue(bb_emission_writer *writer);

// Points (emission_points.c): which of a line keep all accesses inside their objects, so that a
// loop over them needs no boundary; and which values loops over a tile hand to later ones

/// Sets `fast` for accesses of the body, with a boundary, whose first coordinate is the position of
/// dimension 0 plus what a line decides, and whose second does not follow it. Returns whether there
/// are any.
bool bb_emission_find_fast(bb_emission_writer *writer);

/// Appends declarations of `lo` and `hi`: points lo ... hi - 1 of b ... e - 1 keep the fast
/// accesses inside.
void bb_emission_line_bounds(bb_emission_writer *writer);

/// Leaves in `fast` the steps whose coordinates go along with the point, one by one or not at all.
/// Returns whether there are any.
bool bb_emission_find_moving(bb_emission_writer *writer);

/// Appends lines that clear `inside`, an int, where a moving access of `points` by `rows` points
/// from (x0, x1) on, which are declared, leaves its object.
void bb_emission_tile_bounds(bb_emission_writer *writer, bb_index points, bb_index rows);

/// Where the first iterator stands in a body that has one.
int bb_emission_iterator_place(const bb_program *program);

/// Whether neighbouring points share what their iterators read, since these run alike for them all.
bool bb_emission_runs_by_tile(const bb_program *program);

/// Declares v<value>, with `extents` behind the name, for values of the body that an iterator or a
/// step behind one takes from before it: a place a point of the tile.
void bb_emission_declare_saved(bb_emission_writer *writer, const char *extents);

/// Appends declarations of the values that were saved before, and of the sums before step `end` of
/// the body, of a point: v<value><point>, and <sum><iterator><lane>.
void bb_emission_reload(bb_emission_writer *writer, int end, const char *point, const char *sum,
                        const char *lane);

/// Saves what a step has made, of a point.
void bb_emission_save(bb_emission_writer *writer, const bb_step *step, const char *point);

#endif
