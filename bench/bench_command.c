// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_command.h"

#include "bench/bench.h"
#include "bench/bench_baseline.h"
#include "core/address_space.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/thread.h"
#include "sim/cli/command.h"
#include "sim/config/scalar.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/pipelines/energy.h"
#include "sim/run/device_choice.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

// Size limit of table, texts and provenance.
enum { FILE_BYTES = 1 << 18 };

static bb_status list_datasets(void)
{
    bb_status status = BB_OK;
    const bb_output_table *const tables[] = {&bb_bench_outputs};
    bb_text text = {0};
    BB_TRY(bb_output_table_list(tables, 1, &text));
    (void)fputs(bb_text_string(&text), stdout);
done:
    bb_text_release(&text);
    return status;
}

static bb_status list_cases(void)
{
    const bb_bench_case *cases = NULL;
    bb_index count = bb_bench_cases(&cases);
    for (bb_index i = 0; i < count; ++i) {
        (void)printf("  %-24s %s\n", cases[i].name, cases[i].what);
    }
    return BB_OK;
}

// Parses --device: auto and cuda also measure the benchmarks of a cuda device, auto if there is
// one.
static bb_status choose_devices(const char *word, bb_bench_setup *setup)
{
    bb_status status = BB_OK;
    const bool cuda = word != NULL && strcmp(word, "cuda") == 0;
    setup->cpu_only = word != NULL && strcmp(word, "cpu") == 0;
    BB_REQUIRE(word == NULL || cuda || setup->cpu_only || strcmp(word, "auto") == 0, BB_INVALID,
               "--device %s: use auto, cpu or cuda", word);
    BB_TRY(bb_device_choice_require(cuda ? word : NULL));
done:
    return status;
}

// Parses a size such as "378x256000".
static bb_status read_size(const char *text, bb_bench_setup *setup)
{
    bb_status status = BB_OK;
    char rows[24] = "";
    const size_t length = strcspn(text, "x");
    (void)snprintf(rows, sizeof rows, "%.*s", (int)length, text);
    BB_REQUIRE(text[length] == 'x' && bb_scalar_integer(rows, &setup->rows) && setup->rows > 0 &&
                   bb_scalar_integer(text + length + 1, &setup->columns) && setup->columns > 0,
               BB_INVALID, "--size %s: use ROWSxCOLUMNS, such as 378x256000", text);
done:
    return status;
}

// Writes name and driver of the cuda device to the file and below the table.
static bb_status note_cuda(const bb_bench_setup *setup, bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    bb_device_report report;
    bool is_cuda = false;
    BB_TRY(bb_bench_describe(setup, &is_cuda, &report));
    if (is_cuda) {
        BB_TRY(bb_results_note(results, "provenance", "device_cuda_name", report.name));
        BB_TRY(bb_results_note(results, "provenance", "device_cuda_driver", report.driver));
        BB_TRY(bb_results_note(results, "provenance", "device_cuda_kernels", report.kernels));
        BB_TRY(bb_text_add(table, "cuda device: %s, %s, kernels %s\n", report.name, report.driver,
                           report.kernels));
    }
done:
    return status;
}

// Runs, compares or records benchmarks; `baseline` receives the text of a new baseline.
static bb_status run(const bb_bench_setup *setup, const bb_options *options, bb_results *results,
                     bb_text *table, bb_text *baseline, bb_index *slower)
{
    bb_status status = BB_OK;
    char *const *names = options->operands;
    bb_bench_baseline known = {0};
    if (options->bench.compare != NULL) {
        BB_TRY(bb_bench_baseline_read(options->bench.compare, &known));
        BB_TRY(bb_bench_baseline_compare(setup, &known, names, options->operand_count, results,
                                         table, slower));
    } else if (options->bench.record != NULL) {
        BB_TRY(bb_bench_baseline_record(setup, names, options->operand_count, results, baseline));
        BB_TRY(bb_text_add(table, "%s", bb_text_string(baseline)));
    } else {
        BB_TRY(bb_bench_run(setup, names, options->operand_count, results, table));
    }
done:
    bb_bench_baseline_release(&known);
    return status;
}

static bb_status measure(const bb_options *options, bb_results *results, bb_text *table,
                         bb_text *baseline, bb_index *slower)
{
    bb_status status = BB_OK;
    bb_bench_setup setup = {.quick = options->bench.quick,
                            .threads = options->threads,
                            .wisdom = options->kernel.wisdom,
                            .may_reorder = options->kernel.reorder,
                            .set = options->kernel.set,
                            .file = options->bench.file,
                            .n = options->bench.n};
    const bb_study study = {.experiment = "bench",
                            .title = options->bench.quick ? "benchmarks with sizes for tests"
                                                          : "benchmarks",
                            .device = BB_DEVICE_CPU};
    BB_TRY(options->size != NULL ? read_size(options->size, &setup) : BB_OK);
    BB_TRY(bb_provenance_begin(results, NULL, &study, options->argument_count, options->arguments,
                               options->threads));
    BB_TRY(choose_devices(options->device, &setup));
    bb_energy_enable(options->energy);
    BB_TRY(run(&setup, options, results, table, baseline, slower));
    BB_TRY(bb_energy_note(results));
    BB_TRY(note_cuda(&setup, results, table));
    BB_TRY(bb_provenance_end(results));
done:
    bb_energy_enable(false);
    return status;
}

static bb_status check_options(const bb_options *options)
{
    bb_status status = BB_OK;
    const bool lists = options->list || options->bench.datasets;
    const bool compares = options->bench.compare != NULL || options->bench.record != NULL;
    const bool resizes = options->bench.n > 0 || options->size != NULL ||
                         options->kernel.set != NULL || options->bench.file != NULL;
    BB_REQUIRE(!lists || options->argument_count == 2, BB_INVALID,
               "--list and --datasets measure nothing; remove names and other options");
    BB_REQUIRE(options->bench.compare == NULL || options->bench.record == NULL, BB_INVALID,
               "--compare and --record exclude each other");
    BB_REQUIRE(!compares || !resizes, BB_INVALID,
               "a baseline uses the rows' own sizes: remove --n, --size, --set and --file");
    BB_REQUIRE(!resizes || (!options->bench.quick && options->operand_count > 0), BB_INVALID,
               "--n, --size, --set and --file need names of benchmarks and exclude --quick");
done:
    return status;
}

static bb_status check_files(const bb_options *options, const char *path)
{
    bb_status status = BB_OK;
    bb_file_list inputs = {0};
    BB_TRY(bb_command_inputs(options, NULL, &inputs));
    BB_TRY(bb_file_check(path, options->output == NULL, options->force, FILE_BYTES, &inputs));
    if (options->bench.record != NULL) {
        BB_REQUIRE(strcmp(path, options->bench.record) != 0, BB_INVALID,
                   "--record '%s' is the result file; name another file", path);
        BB_TRY(bb_file_check(options->bench.record, false, options->force, FILE_BYTES, &inputs));
    }
done:
    bb_file_list_release(&inputs);
    return status;
}

static bb_status perform(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    const char *path = options->output != NULL ? options->output : "outputs/bench.h5";
    bb_results *results = NULL;
    bb_text table = {0}, baseline = {0};
    bb_index slower = 0;
    const bool writes = bb_team_joined()->rank == 0;
    (void)experiments;
    BB_TRY(check_options(options));
    if (options->list || options->bench.datasets) {
        BB_TRY(options->list ? list_cases() : list_datasets());
        goto done;
    }
    BB_TRY(writes ? check_files(options, path) : BB_OK);
    BB_TRY(bb_address_space_reserve(options->threads));
    BB_TRY(bb_threads_set(options->threads));
    BB_TRY(bb_results_create(&results));
    BB_TRY(measure(options, results, &table, &baseline, &slower));
    (void)fputs(bb_text_string(&table), stdout);
    (void)fflush(stdout);
    if (!writes) {
        goto done;
    }
    BB_TRY(bb_image_save(results, path, options->force));
    (void)printf("results: %s\n", path);
    if (options->bench.record != NULL) {
        BB_TRY(bb_file_write(options->bench.record, options->force, bb_text_string(&baseline),
                             baseline.length));
        (void)printf("baseline: %s\n", options->bench.record);
    }
    BB_REQUIRE(slower == 0, BB_DIFFERENT, "%td benchmark%s slower than the baseline", slower,
               slower == 1 ? " is" : "s are");
done:
    bb_text_release(&table);
    bb_text_release(&baseline);
    bb_results_destroy(&results);
    return status;
}

// clang-format off
const bb_command bb_bench_command = {
    "bitbudget-bench", perform,
    {BB_OPTION_OUTPUT, BB_OPTION_DEVICE, BB_OPTION_THREADS, BB_OPTION_FORCE, BB_OPTION_LIST,
     BB_OPTION_ENERGY, BB_OPTION_WISDOM, BB_OPTION_SIZE, BB_OPTION_BENCH, BB_OPTION_LEVEL},
    0, INTPTR_MAX, BB_OPERAND_NONE,
    "measure the hot loops against ceilings of the same run",
    "bitbudget-bench [NAME ...] [options]",
    "Measures products, the thermal step, factorizations and assembly against ceilings and peers "
    "of the same run, prints a table and writes an HDF5 file. Without names all are run, which "
    "takes some minutes. In addition to the rows listed by --list there is kernel-NAME-TYPE-"
    "DEVICE: NAME with benchmark data (see tune), TYPE sp or dp, DEVICE cpu, opencl or cuda. "
    "Kernels use tuned variants, if any.",
    .words = {{"list", "print the names"},
     {"size", "for gemv: rows x columns, such as 9728x9728; random values unless 128 divides the columns"},
     {"set", "for kernel: published, large, odd or small; for factorizations by panels: decay, random or covariance"},
     {"energy", "measure energy: repeat each until a counter resolves it (NVML, RAPL)"},
     {"output", "result file; default outputs/bench.h5"},
     {"device", "auto, cpu (skips rows of GPUs) or cuda; default auto"},
     {"threads", "default: all processors"}},
    .is_collective = true};
// clang-format on
