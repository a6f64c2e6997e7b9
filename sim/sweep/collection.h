// SPDX-License-Identifier: Apache-2.0
//
// Results of all points of a sweep: the recorded datasets over the axes of the sweep and
// `pipeline`, in memory and as one result file.
//
// If every combination was run, each axis is a dimension (dense); else the points that were run
// follow one another along `run`, with the values of their keys as datasets. Keys that vary
// together along an axis are datasets over it.
#ifndef BB_SIM_SWEEP_COLLECTION_H
#define BB_SIM_SWEEP_COLLECTION_H

#include "sim/output/output_table.h"
#include "sim/output/results.h"
#include "sim/sweep/sweep_plan.h"
#include "sim/sweep/sweep_progress.h"

enum { BB_COLLECTION_NAME = 96, BB_COLLECTION_RANK = 3 };

/// Dataset of the points. Missing numbers are NaN, missing texts NULL.
typedef struct bb_collected {
    char name[BB_COLLECTION_NAME];
    char unit[BB_COLLECTION_NAME];
    char *long_name;
    bool is_text, measured, over_pipelines;
    int rank; ///< number of its own axes
    char axes[BB_COLLECTION_RANK][BB_COLLECTION_NAME];
    bb_index inner;  ///< items of a pipeline, or of a point for datasets without pipelines
    double *numbers; ///< [slots][pipelines or 1][inner]
    char **texts;    ///< [slots][pipelines or 1][inner]
} bb_collected;

/// Axis of a dataset, the same at every point.
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
    bb_index slot_count; ///< number of combinations, or of points that were run
    bb_index *slots;     ///< [combinations] slot of each combination, -1: none
    bb_index *points;    ///< [slot_count] point of each slot
    char **pipelines;    ///< [pipeline_count] in order of appearance
    bb_index pipeline_count;
    bb_collected *datasets; ///< [dataset_count]
    bb_index dataset_count;
    bb_collected_axis *axes; ///< [axis_count]
    bb_index axis_count;
} bb_collection;

/// Reads the records of all points. Both arguments are borrowed. Errors: BB_INVALID (points with
/// incompatible datasets), BB_IO, BB_MEMORY. The caller owns `*out`.
BB_CHECKED bb_status bb_collection_read(const bb_sweep_plan *plan,
                                        const bb_sweep_progress *progress, bb_collection **out);
void bb_collection_destroy(bb_collection **collection);

/// Dataset by name, or NULL.
const bb_collected *bb_collection_find(const bb_collection *collection, const char *name);

/// Number or text of a dataset at a point's slot and a pipeline; NaN or NULL if absent.
double bb_collection_number(const bb_collection *collection, const char *name, bb_index slot,
                            bb_index pipeline);
const char *bb_collection_text(const bb_collection *collection, const char *name, bb_index slot,
                               bb_index pipeline);

/// Datasets of a collection other than those of its points.
extern const bb_output_table bb_collection_outputs;

/// Adds the collection to results. Errors: BB_MEMORY, BB_INVALID.
BB_CHECKED bb_status bb_collection_publish(const bb_collection *collection, bb_results *results);

/// Appends a CSV line for each point and pipeline, with the keys of the point. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_collection_list(const bb_collection *collection, bb_text *out);

/// Request for a collection. Zero-initialise except `max_loss`.
typedef struct bb_sweep_collect_request {
    const bb_sweep_plan *plan;
    const char *output; ///< result file; NULL: none
    const char *csv;    ///< NULL: none
    bool partial;       ///< points may be missing
    bool force;         ///< files may be replaced
    double max_loss;    ///< limit of the loss; NaN: none
    int argument_count; ///< command line, recorded in the file
    char *const *arguments;
    bb_index threads;
} bb_sweep_collect_request;

/// Reads all records, writes the files and appends the answer. Errors: BB_INVALID (points are
/// missing without `partial`), BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_sweep_collect(const bb_sweep_collect_request *request, bb_text *answer);

/// Collects in memory, as results with the structure of the file; nothing is written. Errors:
/// BB_INVALID, BB_IO, BB_MEMORY. The caller owns `*out`.
BB_CHECKED bb_status bb_sweep_collect_results(const bb_sweep_collect_request *request,
                                              bb_results **out);

#endif
