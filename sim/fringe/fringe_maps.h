// SPDX-License-Identifier: Apache-2.0
//
// Maps of the first draw, thinned to at most BB_FRINGE_MAPS_EDGE points a side, and the parts of
// the pupil; whole where --dump asks for them.
//
// Every stride-th column and row is kept, from the first on; the stride is the same along both.
#ifndef BB_SIM_FRINGE_FRINGE_MAPS_H
#define BB_SIM_FRINGE_FRINGE_MAPS_H

#include "sim/fringe/fringe_work.h"

enum { BB_FRINGE_MAPS_EDGE = 128, BB_FRINGE_MAPS_PARTS = 64 };

/// Maps of the first draw, while they are gathered.
typedef struct bb_fringe_maps bb_fringe_maps;

/// What the reference saw, all [rows][columns].
typedef struct bb_fringe_sight {
    const double *interferogram; ///< first frame, over full scale; NULL without frames
    const double *wrapped;       ///< rad, NaN where there is none
    const double *truth;         ///< rad; NULL without
    const double *quality;       ///< bb_unwrap_quality_map
    const bb_unwrap_parts *parts;
} bb_fringe_sight;

/// Maps without a value yet, of `columns` x `rows` points. The study outlives them. Errors:
/// BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_fringe_maps_create(const bb_fringe_study *study, bb_index columns,
                                           bb_index rows, bb_fringe_maps **out);
void bb_fringe_maps_destroy(bb_fringe_maps **maps);

/// Takes what the reference saw, once. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_maps_see(bb_fringe_maps *maps, const bb_fringe_sight *sight);

/// Takes the phase of a pipeline and what it is held to, the truth or the reference's phase; both
/// [rows][columns] in rad. The piston of a part is the mean of their difference over its points of
/// the most frequent cycle (cycles.h). `of_reference`: its pistons are those of the parts that are
/// listed. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_maps_take(bb_fringe_maps *maps, bb_index pipeline, bool of_reference,
                                         const bb_unwrap_parts *parts, const double *phase,
                                         const double *datum);

/// Writes /maps and /parts. Errors: those of bb_output_table_publish.
BB_CHECKED bb_status bb_fringe_maps_publish(const bb_fringe_maps *maps, bb_results *results);

#endif
