// SPDX-License-Identifier: Apache-2.0
//
// Names of datasets and attributes in files of earlier versions.
#ifndef BB_SIM_OUTPUT_FORMER_NAME_H
#define BB_SIM_OUTPUT_FORMER_NAME_H

/// Renamed dataset or attribute.
typedef struct bb_former_name {
    const char *former, *current;
} bb_former_name;

/// Ends with {NULL, NULL}.
extern const bb_former_name bb_former_names[];

/// Current name of a dataset or attribute; `name` itself if it was not renamed.
const char *bb_former_name_current(const char *name);

#endif
