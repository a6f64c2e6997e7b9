// SPDX-License-Identifier: Apache-2.0
//
// Descriptions in a short notation, lowered to the elements of the XML one to one; places are those
// of the notation.
//
//     kernel NAME (a, b: matrix TYPE [BOUNDARY]; v: vector TYPE; p: TYPE)    a bare type: a Parameter
//     for x in RANGE [, y in RANGE]        main space; RANGE: an integer expression with numbers,
//                                          OBJECT.columns, .rows and .size
//       let q = EXPRESSION                 a name for a part of selectors
//       s = sum (k in RANGE, ...) VALUE    an IteratorBlock; sum, product, max, min, and, or
//       t = VALUE                          a FunctionBlock; `t: TYPE = VALUE` says its type
//       a[column, row | BOUNDARY] = VALUE  a DataAccessWrite; in a VALUE, a read
//       m = sum VALUE                      over the main space: the ICF of the ParallelAlgorithm;
//                                          what is made of m alone is done once, after the space
//
// A VALUE's type is that of the first object in it, else of the first parameter or name that is no
// INT32. `//` starts a comment; a statement ends with its line, unless a bracket is open.
#ifndef BB_SOLVERS_KERNELS_NOTATION_READER_H
#define BB_SOLVERS_KERNELS_NOTATION_READER_H

#include "solvers/kernels/description.h"

/// As bb_xml_reader_read.
BB_CHECKED bb_status bb_notation_reader_read(const char *bytes, bb_index length, const char *name,
                                             bb_problems *problems, bb_description *out);

#endif
