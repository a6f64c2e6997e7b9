// SPDX-License-Identifier: Apache-2.0
//
// Table of machines with their peaks, prices and sources, read from a file (configs/machines.yaml),
// for pictures.
//
//     title: machines for a product
//     machines:
//       - {name: P100, kind: gpu, year: 2016, single_gflop_per_s: 9300, memory_gb_per_s: 732,
//          memory_gb: 16, power_w: 250, source: data sheet, price_usd: 5699, price_year: 2016,
//          price_source: price list}
#ifndef BB_SIM_REPORT_MACHINE_TABLE_H
#define BB_SIM_REPORT_MACHINE_TABLE_H

#include "sim/output/results.h"

/// Operations per byte of y = A x in single precision: two for every element of four bytes.
#define BB_MACHINE_TABLE_PRODUCT 0.5

/// Fills results with /machines: a dataset for each key, over `machine`, and the attainable rate at
/// the product's operations per byte, absolute, per dollar and per watt. Missing numbers are NaN.
/// Errors: BB_IO, BB_INVALID (the problems of the file, one line each), BB_MEMORY.
BB_CHECKED bb_status bb_machine_table_read(const char *path, bb_results *results);

#endif
