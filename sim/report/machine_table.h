// SPDX-License-Identifier: Apache-2.0
//
// A table of machines with their peaks, prices and sources, as a file describes it
// (configs/machines.yaml), for pictures.
//
//     title: machines for a product
//     machines:
//       - {name: P100, kind: gpu, year: 2016, single_gflop_per_s: 9300, memory_gb_per_s: 732,
//          memory_gb: 16, power_w: 250, source: data sheet, price_usd: 5699, price_year: 2016,
//          price_source: price list}
#ifndef BB_SIM_REPORT_MACHINE_TABLE_H
#define BB_SIM_REPORT_MACHINE_TABLE_H

#include "sim/output/results.h"

/// Operations a byte of y = A x in single precision: two of every element, which has four bytes.
#define BB_MACHINE_TABLE_PRODUCT 0.5

/// Fills results with /machines: a dataset a key, over `machine`, and what each reaches at the
/// product's operations a byte, plain, a dollar and a watt. Numbers that are left out are NaN.
/// Errors: BB_IO, BB_INVALID (the problems of the file, a line each), BB_MEMORY.
BB_CHECKED bb_status bb_machine_table_read(const char *path, bb_results *results);

#endif
