// SPDX-License-Identifier: Apache-2.0
//
// Wafer of the thermal benchmarks: silicon of 300 mm on its clamp.
#ifndef BB_BENCH_HEAT_BENCH_H
#define BB_BENCH_HEAT_BENCH_H

#include "physics/wafer/wafer_config.h"

extern const bb_wafer_material_config bb_bench_wafer;
extern const bb_clamp_config bb_bench_clamp;

#endif
