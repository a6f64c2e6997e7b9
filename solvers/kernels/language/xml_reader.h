// SPDX-License-Identifier: Apache-2.0
//
// Descriptions in the XML of seed 002, by expat.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_XML_READER_H
#define BB_SOLVERS_KERNELS_LANGUAGE_XML_READER_H

#include "solvers/kernels/language/description.h"

/// Reads `bytes` [length] of the file `name` (borrowed for as long as the description lives).
/// Problems (malformed XML, text between elements, DOCTYPE, which is refused, unknown elements and
/// attributes, missing ones) go to `problems` with line and column; the description is then of use
/// for nothing but release. Errors: BB_MEMORY; BB_INVALID (over BB_DESCRIPTION_MAX_BYTES).
BB_CHECKED bb_status bb_xml_reader_read(const char *bytes, bb_index length, const char *name,
                                        bb_problems *problems, bb_description *out);

#endif
