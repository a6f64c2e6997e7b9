// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_report.h"

#include "core/memory.h"

#include <math.h>

bb_factor_report bb_factor_report_start(void)
{
    bb_factor_report report = {.tolerance = NAN,
                               .certificate = NAN,
                               .saturated = NAN,
                               .cost = NAN,
                               .escalations = NAN,
                               .iterations_mean = NAN,
                               .iterations_most = NAN,
                               .break_even = NAN,
                               .stored_bytes = NAN,
                               .stored_values = NAN,
                               .stored_bits = NAN,
                               .wire_bytes = NAN,
                               .swap_read_bytes = NAN,
                               .swap_written_bytes = NAN,
                               .swap_wait_s = NAN,
                               .host_to_device_bytes = NAN,
                               .device_to_host_bytes = NAN,
                               .device_to_device_bytes = NAN,
                               .tile_size = NAN,
                               .stored_step = NAN};
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        report.tile_share[v] = NAN;
        report.product_share[v] = NAN;
    }
    return report;
}

static const char title[] = "/results, ao and reconstructor: factorization and storage";

static const bb_output axes[] = {
    {"variant", "variant", NULL, .long_name = "variant of the matrix product"},
};

const bb_output_table bb_factor_report_axes = {
    .title = title, .group = "results", BB_OUTPUT_ROWS(axes)};

// Row of a pipeline.
typedef struct report_row {
    bb_factor_report report;
    const char *digest;
} report_row;

static const bb_output outputs[] = {
    {"tile_share", "pipeline, variant", "1", "fraction of the lower tiles in a variant",
     .member = offsetof(report_row, report.tile_share), .embedded = true},
    {"tile_size", "pipeline", "1", "rows and columns of a tile of the factorization",
     .note = "`solver.tile`; on cuda a multiple of 128",
     .member = offsetof(report_row, report.tile_size)},
    {"product_share", "pipeline, variant", "1",
     "fraction of the operations of tile updates in a variant",
     .note = "NaN with a single tile, which has no updates",
     .member = offsetof(report_row, report.product_share), .embedded = true},
    {"policy_tolerance", "pipeline", "1",
     "bound on the relative perturbation for the policy's rule", .note = "NaN without a rule",
     .member = offsetof(report_row, report.tolerance)},
    {"certificate", "pipeline", "1",
     "bound on norm of A - L L^T over norm of A from rounding the products' operands",
     .note = "NaN if products are rounded too (hp2, hp3)",
     .member = offsetof(report_row, report.certificate)},
    {"saturated_values", "pipeline", "1",
     "operands of the factorization that were clipped to the format's range",
     .member = offsetof(report_row, report.saturated)},
    {"relative_cost", "pipeline", "1", "time of the tile updates at nominal rates, relative to sp",
     .note = "NaN with a single tile", .member = offsetof(report_row, report.cost)},
    {"escalations", "pipeline", "1",
     "factorizations after the first, each more precise than the one that failed",
     .member = offsetof(report_row, report.escalations)},
    {"iterations_mean", "pipeline", "1", "iterations of the refinement, mean over right-hand sides",
     .note = "NaN without refinement", .member = offsetof(report_row, report.iterations_mean)},
    {"iterations_most", "pipeline", "1",
     "iterations of the refinement, largest over right-hand sides",
     .note = "NaN without refinement", .member = offsetof(report_row, report.iterations_most)},
    {"iterations_break_even", "pipeline", "1",
     "iterations that cost as much as a direct solve in x3",
     .member = offsetof(report_row, report.break_even)},
    {"factor_digest", "pipeline", NULL, "digest of the factor's tiles in their formats",
     .note = "on the cpu, the same for every engine and number of processes; empty on a device and "
             "after a failure",
     .member = offsetof(report_row, digest)},
    {"wire_bytes", "pipeline", "byte",
     "bytes between processes for the factorization and both sweeps of one solve",
     .note = "counted; NaN for bitbudget, 0 for one process of bitbudget-mpi",
     .member = offsetof(report_row, report.wire_bytes), .measured = true},
    {"swap_read_bytes", "pipeline", "byte",
     "bytes read from the file of tiles beyond the memory limit",
     .note = "`solver.memory_limit_gb`; loading, factoring and digest; NaN without a file",
     .member = offsetof(report_row, report.swap_read_bytes), .measured = true},
    {"swap_written_bytes", "pipeline", "byte", "bytes written to that file", .note = "the same",
     .member = offsetof(report_row, report.swap_written_bytes), .measured = true},
    {"swap_wait_s", "pipeline", "s",
     "time that threads waited for tiles of that file, summed over threads",
     .member = offsetof(report_row, report.swap_wait_s), .measured = true},
    {"host_to_device_bytes", "pipeline", "byte", "bytes of L copied from host memory to the GPU",
     .note = "`solver.memory_limit_gb`; factor and both sweeps; NaN with L on the GPU or in tiles",
     .member = offsetof(report_row, report.host_to_device_bytes), .measured = true},
    {"device_to_host_bytes", "pipeline", "byte", "bytes of L copied from the GPU to host memory",
     .note = "the same", .member = offsetof(report_row, report.device_to_host_bytes),
     .measured = true},
    {"device_to_device_bytes", "pipeline", "byte", "bytes of L copied between GPUs",
     .note = "`solver.gpus`; factor and both sweeps; NaN with one GPU or in tiles",
     .member = offsetof(report_row, report.device_to_device_bytes), .measured = true},
    {"reconstructor_bytes", "pipeline", "byte", "bytes of the reconstructors as stored",
     .note = "including scales, widths and index; NaN without `storage`",
     .member = offsetof(report_row, report.stored_bytes)},
    {"reconstructor_bits", "pipeline", "1", "stored bits per value of the reconstructors",
     .note = "the same divided by the number of values",
     .member = offsetof(report_row, report.stored_bits)},
};

const bb_output_table bb_factor_report_outputs = {
    .title = title, .group = "results", .axes = "pipeline", BB_OUTPUT_ROWS(outputs)};

bb_status bb_factor_report_publish(const bb_factor_report *reports, size_t stride, bb_index count,
                                   bb_results *results)
{
    bb_status status = BB_OK;
    report_row *rows = NULL;
    BB_TRY(BB_ALLOCATE(count, &rows));
    for (bb_index i = 0; i < count; ++i) {
        const char *place = (const char *)reports + (size_t)i * stride;
        rows[i].report = *(const bb_factor_report *)(const void *)place;
        rows[i].digest = rows[i].report.digest;
    }
    BB_TRY(bb_output_table_add_axis(&bb_factor_report_axes, "variant", BB_VARIANT_COUNT,
                                    bb_variant_names, NULL, results));
    BB_TRY(bb_output_table_publish_records(&bb_factor_report_outputs, rows, sizeof *rows, count,
                                           NULL, results));
done:
    BB_RELEASE(&rows);
    return status;
}
