// SPDX-License-Identifier: Apache-2.0
//
// Requirements of a wafer study on a machine, for its plan: Figure 3 of Bamakhrama et al. (2019)
// for the study's sizes, and the schedule of Table 1 for the rates given by the user.
#include "physics/wafer/requirements.h"
#include "sim/wafer/wafer_work.h"

#include <math.h>

// clang-format off
static const bb_key keys[] = {
    {.name = "budget_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.0, .maximum = 1e6,
     .offset = offsetof(bb_machine_config, budget_ms), .default_text = "0",
     .meaning = "Time budget of a field's steps, in plans; 0: the duration of the "
     "field."},
    {.name = "link_gb_per_s", .kind = BB_KEY_DOUBLE, .unit = "GB/s", .minimum = 1e-3, .maximum = 1e6,
     .offset = offsetof(bb_machine_config, link_gb_per_s), .optional = true,
     .meaning = "Rate at which a field's matrix reaches the device, for the schedule of a plan."},
    {.name = "decode_gb_per_s", .kind = BB_KEY_DOUBLE, .unit = "GB/s", .minimum = 1e-3, .maximum = 1e6,
     .offset = offsetof(bb_machine_config, decode_gb_per_s), .optional = true,
     .meaning = "Rate of decoding, in decoded bytes."},
    {.name = "product_gflop_per_s", .kind = BB_KEY_DOUBLE, .unit = "GFLOP/s", .minimum = 1e-3, .maximum = 1e9,
     .offset = offsetof(bb_machine_config, product_gflop_per_s), .optional = true,
     .meaning = "Rate of the matrix-vector product."},
    {.name = "compression_ratio", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 1.0, .maximum = 1e4,
     .offset = offsetof(bb_machine_config, compression_ratio), .optional = true,
     .meaning = "Compression ratio of the field's matrix relative to fp32."},
    BB_MACHINE_PRICE_KEYS(bb_machine_config),
};
// clang-format on
const bb_schema bb_machine_schema = BB_SCHEMA("machine", bb_machine_config, keys);

static bb_status list_reading(const char *what, const bb_requirement_sizes *sizes,
                              bb_reading reading, bb_plan *plan)
{
    const bb_requirements requirements = bb_requirements_of(sizes, reading);
    return bb_plan_add(plan, what,
                       "%.2f GFLOP per field, %.1f GFLOP/s; per axis %.1f GFLOP/s, %.1f GB/s",
                       1e-9 * requirements.flop, 1e-9 * requirements.flops,
                       1e-9 * requirements.flops_axis, 1e-9 * requirements.bytes_per_s_axis);
}

static bb_status list_schedule(const char *what, const bb_field_schedule *schedule, double budget,
                               bb_plan *plan)
{
    return bb_plan_add(plan, what, "period %.1f ms, latency %.1f ms, %s the budget of %.0f ms",
                       1e3 * schedule->period, 1e3 * schedule->latency,
                       schedule->latency < budget  ? "within"
                       : schedule->period < budget ? "only the period within"
                                                   : "over",
                       1e3 * budget);
}

static bb_status list_schedules(const bb_machine_config *machine, const bb_requirement_sizes *sizes,
                                bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_requirements requirements = bb_requirements_of(sizes, BB_READING_CORRECTED);
    const bb_field_stages stages =
        bb_field_stages_at(requirements.field_bytes, requirements.deformation_flop,
                           1e9 * machine->link_gb_per_s, 1e9 * machine->decode_gb_per_s,
                           1e9 * machine->product_gflop_per_s, machine->compression_ratio);
    if (isnan(stages.transfer + stages.compute)) {
        return BB_OK;
    }
    const bb_field_schedule plain = bb_field_schedule_plain(&stages);
    BB_TRY(bb_plan_add(plan, "field of one axis", "transfer %.1f ms, products %.1f ms",
                       1e3 * stages.transfer, 1e3 * stages.compute));
    BB_TRY(list_schedule("without compression", &plain, sizes->budget, plan));
    if (isnan(stages.decode + stages.ratio)) {
        goto done;
    }
    const bb_field_schedule compressed = bb_field_schedule_compressed(&stages);
    BB_TRY(list_schedule("with compression", &compressed, sizes->budget, plan));
    BB_TRY(bb_plan_add(
        plan, "time with compression", "%.0f %% %s, decoding %.1f ms is %.0f %% of it%s",
        100.0 * fabs(1.0 - compressed.latency / plain.latency),
        compressed.latency <= plain.latency ? "less" : "more", 1e3 * stages.decode,
        100.0 * stages.decode / compressed.latency,
        bb_field_decodes_in_time(&stages) ? "" : "; decoding is slower than the link"));
done:
    return status;
}

// Lists the requirements with the equations as printed and as corrected, and the schedules without
// and with compression if rates are given.
static bb_status plan_lines(const void *all, const void *extent, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_wafer_study *study = all;
    const bb_wafer_extent *span = extent;
    const double light = (double)study->scan.light_steps;
    const double dark = (double)study->scan.dark_steps;
    const double budget_ms = study->machine.budget_ms > 0.0 ? study->machine.budget_ms
                                                            : (light + dark) * study->mesh.step_ms;
    const bb_requirement_sizes sizes = {
        .unknowns = span->unknowns,
        .sources = span->cells,
        .window = span->window,
        .field_points = span->points,
        .entries = bb_requirements_entries(span->nodes, span->clamp,
                                           study->clamp.spacing_mm / study->mesh.spacing_mm),
        .inputs = 1.0,
        .light = light,
        .dark = dark,
        .axes = (double)study->response.axes.count,
        .budget = 1e-3 * budget_ms,
    };
    const bb_requirements requirements = bb_requirements_of(&sizes, BB_READING_CORRECTED);
    BB_TRY(bb_plan_add(plan, "required",
                       "in %.0f ms: T %.0f with %.1f entries per row, S %.0f, M %.0f, L %.0f, "
                       "%.0f light and %.0f dark steps, %.0f axes",
                       budget_ms, sizes.unknowns, sizes.entries, sizes.sources, sizes.window,
                       sizes.field_points, sizes.light, sizes.dark, sizes.axes));
    BB_TRY(list_reading("  Equations 3 and 4", &sizes, BB_READING_CORRECTED, plan));
    BB_TRY(list_reading("  the same as printed", &sizes, BB_READING_PRINTED, plan));
    BB_TRY(bb_plan_add(plan, "  level 1 memory, link", "%.0f MiB per field and axis, %.1f GB/s",
                       requirements.field_bytes / 0x1p20, 1e-9 * requirements.link_bytes_per_s));
    BB_TRY(list_schedules(&study->machine, &sizes, plan));
done:
    return status;
}

const bb_part bb_wafer_requirements_part = {.name = "requirements", .plan_lines = plan_lines};
