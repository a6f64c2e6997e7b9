// SPDX-License-Identifier: Apache-2.0
#include "sim/report/machine_table.h"

#include "sim/config/binding.h"
#include "sim/config/layer.h"
#include "sim/output/output_table.h"

#include <math.h>

// Row of the file and derived values.
typedef struct machine {
    const char *name, *memory, *source, *price_source;
    int kind;
    const char *kind_name;
    bb_index year, price_year;
    double single_gflop_per_s, memory_gb_per_s, memory_gb, power_w, price_usd;
    double product, product_per_usd, product_per_w;
} machine;

typedef struct machine_file {
    const char *title;
    bb_list machines; // list of machine
} machine_file;

static const char *const kinds[] = {"cpu", "gpu", "fpga", NULL};

#define TEXT(member_) .kind = BB_KEY_TEXT, .offset = offsetof(machine, member_)
#define NUMBER(member_, unit_, most)                                                               \
    .kind = BB_KEY_DOUBLE, .offset = offsetof(machine, member_), .unit = (unit_),                  \
    .maximum = (most), .exclusive_minimum = true
#define YEAR(member_)                                                                              \
    .kind = BB_KEY_INTEGER, .offset = offsetof(machine, member_), .unit = "a", .minimum = 1950.0,  \
    .maximum = 2200.0

// clang-format off
static const bb_key machine_keys[] = {
    {.name = "name", TEXT(name), .meaning = "Name of the machine."},
    {.name = "kind", .kind = BB_KEY_CHOICE, .offset = offsetof(machine, kind), .choices = kinds,
     .meaning = "Kind of machine."},
    {.name = "year", YEAR(year), .meaning = "Year of introduction."},
    {.name = "single_gflop_per_s", NUMBER(single_gflop_per_s, "GFLOP/s", 1e9),
     .meaning = "Peak in single precision without matrix units."},
    {.name = "memory", TEXT(memory), .meaning = "Kind of its memory: HBM2, DDR4."},
    {.name = "memory_gb_per_s", NUMBER(memory_gb_per_s, "GB/s", 1e9),
     .meaning = "Bandwidth of its memory."},
    {.name = "memory_gb", NUMBER(memory_gb, "GB", 1e9), .meaning = "Size of its memory."},
    {.name = "power_w", NUMBER(power_w, "W", 1e9), .optional = true,
     .meaning = "Design power, of the whole board if it is one."},
    {.name = "source", TEXT(source), .meaning = "Source of these numbers."},
    {.name = "price_usd", NUMBER(price_usd, "USD", 1e12), .optional = true,
     .meaning = "Price in dollars of its year."},
    {.name = "price_year", YEAR(price_year), .optional = true, .meaning = "Year of the price."},
    {.name = "price_source", TEXT(price_source), .optional = true, .meaning = "Source of the price."},
};
static const bb_schema machine_schema = BB_SCHEMA("machine", machine, machine_keys);

static const bb_key file_keys[] = {
    {.name = "title", .kind = BB_KEY_TEXT, .offset = offsetof(machine_file, title),
     .meaning = "Title of the table."},
    {.name = "machines", .kind = BB_KEY_RECORDS, .schema = &machine_schema, .minimum_count = 1,
     .offset = offsetof(machine_file, machines), .meaning = "Machines, one record each."},
};
static const bb_schema file_schema = BB_SCHEMA("machines", machine_file, file_keys);

static const bb_output outputs[] = {
    {"machine", "machine", NULL, "names", BB_MEMBER(machine, name)},
    {"kind", "machine", NULL, "cpu, gpu or fpga", BB_MEMBER(machine, kind_name)},
    {"single_flops_per_s", "machine", "s-1", "peak in single precision",
     BB_MEMBER(machine, single_gflop_per_s), .scale = 1e9},
    {"memory_bytes_per_s", "machine", "byte s-1", "bandwidth of its memory",
     BB_MEMBER(machine, memory_gb_per_s), .scale = 1e9},
    {"power_w", "machine", "W", "design power", BB_MEMBER(machine, power_w)},
    {"price_usd", "machine", "USD", "price in dollars of its year", BB_MEMBER(machine, price_usd)},
    {"product_flops_per_s", "machine", "s-1", "attainable rate of y = A x in single precision",
     BB_MEMBER(machine, product)},
    {"product_flops_per_usd", "machine", "s-1 USD-1", "the same per dollar",
     BB_MEMBER(machine, product_per_usd)},
    {"product_flops_per_w", "machine", "s-1 W-1", "the same per watt",
     BB_MEMBER(machine, product_per_w)},
};
// clang-format on
static const bb_output_table machine_outputs = {"/machines", NULL, "machines", "machine",
                                                BB_OUTPUT_ROWS(outputs)};

// A price needs its year and source.
static bb_status check(const bb_list *machines, const char *path, bb_problems *problems)
{
    bb_status status = BB_OK;
    const machine *items = machines->items;
    for (bb_index m = 0; m < machines->count; ++m) {
        const bool priced = !isnan(items[m].price_usd);
        if (priced != (items[m].price_year != BB_INTEGER_UNSET) ||
            priced != (items[m].price_source != NULL)) {
            const bb_place whole_file = {.origin = path};
            BB_TRY(bb_problems_add(problems, whole_file,
                                   "machines[%td] (%s): set all of price_usd, price_year and "
                                   "price_source, or none of them",
                                   m, items[m].name));
        }
    }
done:
    return status;
}

static void derive(machine *item)
{
    const double peak = 1e9 * item->single_gflop_per_s;
    item->kind_name = kinds[item->kind];
    item->product = fmin(peak, BB_MACHINE_TABLE_PRODUCT * 1e9 * item->memory_gb_per_s);
    item->product_per_usd = item->product / item->price_usd;
    item->product_per_w = item->product / item->power_w;
}

bb_status bb_machine_table_read(const char *path, bb_results *results)
{
    bb_status status = BB_OK;
    bb_arena arena = {0};
    bb_layers layers = {0};
    bb_problems problems = {0};
    bb_node *tree = NULL;
    machine_file found = {0};
    BB_TRY(bb_layers_read(&arena, path, &layers, &problems, &tree));
    if (tree != NULL) {
        BB_TRY(bb_binding_bind(&arena, &file_schema, tree, "", &problems, &found));
    }
    if (tree != NULL && problems.count == 0) {
        BB_TRY(check(&found.machines, path, &problems));
    }
    // Omits the last line end, which is added when printed.
    BB_REQUIRE(problems.count == 0, BB_INVALID, "%.*s", (int)problems.lines.length - 1,
               bb_text_string(&problems.lines));
    machine *items = found.machines.items;
    for (bb_index m = 0; m < found.machines.count; ++m) {
        derive(&items[m]);
    }
    BB_TRY(bb_results_note(results, "", "title", found.title));
    BB_TRY(bb_results_note(results, "", "experiment", "machines"));
    BB_TRY(bb_output_table_publish_records(&machine_outputs, items, sizeof *items,
                                           found.machines.count, NULL, results));
done:
    bb_arena_release(&arena);
    bb_problems_release(&problems);
    return status;
}
