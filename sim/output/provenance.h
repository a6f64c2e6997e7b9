// SPDX-License-Identifier: Apache-2.0
//
// Where results come from: configuration, program, libraries, machine and time, as root attributes
// and the group /provenance.
#ifndef BB_SIM_OUTPUT_PROVENANCE_H
#define BB_SIM_OUTPUT_PROVENANCE_H

#include "sim/config/config.h"
#include "sim/output/output_table.h"
#include "sim/study.h"

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

/// Records everything but the end; call before the run. `arguments` [argument_count] is the command
/// line. `config` is NULL where none was read.
BB_CHECKED bb_status bb_provenance_begin(bb_results *results, const bb_config *config,
                                         const bb_study *study, int argument_count,
                                         char *const *arguments, bb_index threads);

/// Records the end, the digests and, last, the status `complete`; call after the run.
BB_CHECKED bb_status bb_provenance_end(bb_results *results);

#endif
