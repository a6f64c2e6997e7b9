// SPDX-License-Identifier: Apache-2.0
//
// The results of all points of a sweep in one place: the datasets that the points recorded, over
// the axes of the sweep and `pipeline`, in memory and as one result file.
//
// Where every combination was run, each axis is a dimension (dense); else the points that were run
// are, one after the other, along `run`, with what they set beside them. Where several keys vary
// together along an axis they stand as datasets over it.
#ifndef BB_SIM_SWEEP_COLLECTION_H
#define BB_SIM_SWEEP_COLLECTION_H

#include "sim/output/output_table.h"
#include "sim/output/results.h"
#include "sim/sweep/sweep_plan.h"
#include "sim/sweep/sweep_progress.h"

enum { BB_COLLECTION_NAME = 96, BB_COLLECTION_RANK = 3 };

/// A dataset of the points. Numbers that a point or pipeline does not have are NaN, texts NULL.
typedef struct bb_collected {
    char name[BB_COLLECTION_NAME];
    char unit[BB_COLLECTION_NAME];
    char *long_name;
    bool is_text, measured, over_pipelines;
    int rank; ///< of axes of its own
    char axes[BB_COLLECTION_RANK][BB_COLLECTION_NAME];
    bb_index inner;  ///< items of a pipeline, or of a point without
    double *numbers; ///< [slots][pipelines or 1][inner]
    char **texts;    ///< likewise
} bb_collected;

/// An axis of a dataset's own: the same at every point.
typedef struct bb_collected_axis {
    char name[BB_COLLECTION_NAME];
    char unit[BB_COLLECTION_NAME];
    char *long_name;
    bb_index count;
    double *numbers; ///< [count], NULL: texts
    char **texts;    ///< [count]
} bb_collected_axis;

typedef struct bb_collection {
    const bb_sweep_plan *plan;
    const bb_sweep_progress *progress;
    bool dense;
    bb_index slot_count; ///< combinations, or points that were run
    bb_index *slots;     ///< [combinations] of each, -1: none
    bb_index *points;    ///< [slot_count]
    char **pipelines;    ///< [pipeline_count] in the order in which they came
    bb_index pipeline_count;
    bb_collected *datasets; ///< [dataset_count]
    bb_index dataset_count;
    bb_collected_axis *axes; ///< [axis_count]
    bb_index axis_count;
} bb_collection;

/// Reads the lines of all points that have one. Both are borrowed. Errors: BB_INVALID (points whose
/// datasets do not go together), BB_IO, BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_collection_read(const bb_sweep_plan *plan,
                                        const bb_sweep_progress *progress, bb_collection **out);
void bb_collection_destroy(bb_collection **collection);

/// Dataset by name, NULL where there is none.
const bb_collected *bb_collection_find(const bb_collection *collection, const char *name);

/// Number or text of a dataset at a point's slot and a pipeline; NaN and NULL where there is none.
double bb_collection_number(const bb_collection *collection, const char *name, bb_index slot,
                            bb_index pipeline);
const char *bb_collection_text(const bb_collection *collection, const char *name, bb_index slot,
                               bb_index pipeline);

/// What stands in a collection beside the datasets of its points.
extern const bb_output_table bb_collection_outputs;

/// Adds all of it to results. Errors: BB_MEMORY, BB_INVALID.
BB_CHECKED bb_status bb_collection_publish(const bb_collection *collection, bb_results *results);

/// Appends a line a point and pipeline, with what the point sets, as CSV. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_collection_list(const bb_collection *collection, bb_text *out);

/// Zero-initialise but for `within`.
typedef struct bb_sweep_collect_request {
    const bb_sweep_plan *plan;
    const char *output; ///< result file; NULL: none
    const char *csv;    ///< NULL: none
    bool partial;       ///< points may be missing
    bool force;         ///< files may be replaced
    double max_loss;    ///< NaN: none
    int argument_count; ///< of the command line, for the file
    char *const *arguments;
    bb_index threads;
} bb_sweep_collect_request;

/// Reads all lines, writes the files and appends the answer. Errors: BB_INVALID (points are missing
/// and `partial` is not given), BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_sweep_collect(const bb_sweep_collect_request *request, bb_text *answer);

/// The same in memory, as results of the form that the file has; nothing is written. Errors:
/// BB_INVALID, BB_IO, BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_sweep_collect_results(const bb_sweep_collect_request *request,
                                              bb_results **out);

#endif
