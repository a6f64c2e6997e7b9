// SPDX-License-Identifier: Apache-2.0
//
// Provenance of results: configuration, program, libraries, machine and time, as root attributes
// and the group /provenance.
#ifndef BB_SIM_OUTPUT_PROVENANCE_H
#define BB_SIM_OUTPUT_PROVENANCE_H

#include "sim/config/config.h"
#include "sim/output/output_table.h"
#include "sim/run/study.h"

/// Name and version of a linked or loaded library.
typedef struct bb_library {
    const char *name;
    char version[120];
} bb_library;

enum { BB_LIBRARIES = 8 };

/// Versions as reported by the libraries.
void bb_provenance_libraries(bb_library out[BB_LIBRARIES]);

/// Datasets of /provenance: the configuration and its files.
extern const bb_output_table bb_provenance_outputs;
extern const bb_output_table bb_provenance_inputs;
/// Datasets for a study that reads tables of records.
extern const bb_output_table bb_provenance_table_outputs;

/// Datasets of /study: the keys of a study.
extern const bb_output_table bb_provenance_study_outputs;

/// Adds every set key of a bound study as a dataset of /study according to its schema: numbers,
/// texts, lists and, over their own axis, records. These are not results and are excluded from
/// digests. Errors: BB_INVALID (two keys of one name), BB_MEMORY.
BB_CHECKED bb_status bb_provenance_study(const bb_schema *schema, const void *study,
                                         bb_results *results);

/// Records everything known at the start; call it before the run. `arguments` [argument_count] is
/// the command line. `config` is NULL if none was read.
BB_CHECKED bb_status bb_provenance_begin(bb_results *results, const bb_config *config,
                                         const bb_study *study, int argument_count,
                                         char *const *arguments, bb_index threads);

/// Records the end, the digests and finally the status `complete`; call it after the run.
BB_CHECKED bb_status bb_provenance_end(bb_results *results);

#endif
