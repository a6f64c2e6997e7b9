// SPDX-License-Identifier: Apache-2.0
//
// Descriptions in the XML form of Beier, parsed by expat.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_XML_READER_H
#define BB_SOLVERS_KERNELS_LANGUAGE_XML_READER_H

#include "solvers/kernels/language/description.h"

/// Parses `bytes` [length] of the file `name` (borrowed for the lifetime of the description).
/// Problems (malformed XML, text between elements, a DOCTYPE, unknown elements and attributes,
/// missing ones) are added to `problems` with line and column; the description may then only be
/// released. Errors: BB_MEMORY; BB_INVALID (over BB_DESCRIPTION_MAX_BYTES).
BB_CHECKED bb_status bb_xml_reader_read(const char *bytes, bb_index length, const char *name,
                                        bb_problems *problems, bb_description *out);

#endif
