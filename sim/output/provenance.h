// SPDX-License-Identifier: Apache-2.0
//
// Where results come from: configuration, program, libraries, machine and time, as root attributes
// and the group /provenance.
#ifndef BB_SIM_OUTPUT_PROVENANCE_H
#define BB_SIM_OUTPUT_PROVENANCE_H

#include "sim/config/config.h"
#include "sim/output/output_table.h"
#include "sim/run/study.h"

/// Name and version of one library that was linked or loaded.
typedef struct bb_library {
    const char *name;
    char version[120];
} bb_library;

enum { BB_LIBRARIES = 8 };

/// Versions as the libraries themselves state them.
void bb_provenance_libraries(bb_library out[BB_LIBRARIES]);

/// The datasets of /provenance: the configuration, and the files that it names.
extern const bb_output_table bb_provenance_outputs;
extern const bb_output_table bb_provenance_inputs;
/// Those of a study that reads tables of records.
extern const bb_output_table bb_provenance_table_outputs;

/// Those of /study: the keys of a study.
extern const bb_output_table bb_provenance_study_outputs;

/// Adds every key of a bound study that is set as a dataset of /study, by its schema: numbers,
/// texts, lists and, over an axis of their own, records. It is no result: digests do not see it.
/// Errors: BB_INVALID (two keys of one name), BB_MEMORY.
BB_CHECKED bb_status bb_provenance_study(const bb_schema *schema, const void *study,
                                         bb_results *results);

/// Records everything but the end; call before the run. `arguments` [argument_count] is the command
/// line. `config` is NULL where none was read.
BB_CHECKED bb_status bb_provenance_begin(bb_results *results, const bb_config *config,
                                         const bb_study *study, int argument_count,
                                         char *const *arguments, bb_index threads);

/// Records the end, the digests and, last, the status `complete`; call after the run.
BB_CHECKED bb_status bb_provenance_end(bb_results *results);

#endif
