// SPDX-License-Identifier: Apache-2.0
//
// Descriptions in a short notation, lowered to the elements of the XML one to one; places are those
// of the notation.
//
//     kernel NAME (a, b: matrix TYPE [BOUNDARY]; v: vector TYPE; p: TYPE)
//                                       objects; a bare type: a Parameter
//     for x in RANGE [, y in RANGE]     main space; RANGE: an integer expression with numbers,
//                                       extents (of a matrix .columns and .rows, of a vector .size)
//                                       and elements of objects
//       let q = EXPRESSION              a name for a text; names in it are those where q is used
//       s = sum (k in RANGE, ...) VALUE an IteratorBlock; sum, product, max, min, and, or
//       t = VALUE                       a FunctionBlock; `t: TYPE = VALUE` says its type
//       a[column, row | BOUNDARY] = VALUE  a DataAccessWrite; in a VALUE, a read
//       m = sum VALUE                   over the main space: the ICF of the ParallelAlgorithm;
//                                       what is made of m alone is done once, after the space
//
// Statements run in their order as far as it can be told: an access of an object waits for the
// writes of it that stand before (OrderingRules).
//
// A VALUE's type is that of the first object in it, else of the first parameter or name that is no
// INT32, else, where it is written at once, of the object written, else INT32. `s: TYPE = sum ...`
// is the type of the sum alone. Selectors may hold reads, as x[col[k]] does. `//` starts a comment;
// a statement ends with its line, unless a bracket is open.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_READER_H
#define BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_READER_H

#include "solvers/kernels/language/description.h"

enum { BB_NOTATION_READER_MAX_BYTES = 1 << 20 };

/// As bb_xml_reader_read, over BB_NOTATION_READER_MAX_BYTES. One problem is told of a statement.
BB_CHECKED bb_status bb_notation_reader_read(const char *bytes, bb_index length, const char *name,
                                             bb_problems *problems, bb_description *out);

#endif
