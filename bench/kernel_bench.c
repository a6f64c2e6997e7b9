// SPDX-License-Identifier: Apache-2.0
//
// kernel-NAME-TYPE-DEVICE: kernels of the language with benchmark data, as printed by each back
// end, against a copy or a read of the same bytes in the same rounds; the matrix product against
// chains of fma on a GPU, and against the BLAS on all threads on processors. spmv5 is spmv with the
// set odd, 5 points of a grid. --file replaces the kernel's text with the same data.
#include "bench/bench.h"
#include "bench/ceiling.h"
#include "bench/device_ceiling.h"
#include "core/clock.h"
#include "core/memory.h"
#include "sim/kernels/kernel_run.h"
#include "solvers/kernels/assembled_kernel.h"
#include "solvers/kernels/kernel_manager.h"
#include "solvers/kernels/language/notation_reader.h"
#include "solvers/kernels/tuning/set_data.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 12 };

typedef struct kernel_run {
    const bb_kernel_manager *manager;
    bb_benchmark_size set;
    char type[3]; // "SP" or "DP"
    bb_device *device;
    bb_problems problems;
    bb_kernel_source source;
    char texts[BB_MANAGER_TYPES][64];
    char *words[BB_MANAGER_TYPES]; // texts of the types
    bb_set_data data;
    bb_assembled_kernel *kernel;
    bb_kernel_choice choice;
} kernel_run;

static bb_status check_problems(const kernel_run *run)
{
    bb_status status = BB_OK;
    BB_REQUIRE(run->problems.count == 0, BB_INVALID, "kernel %s: %s", run->source.path,
               bb_text_string(&run->problems.lines));
done:
    return status;
}

static void size_set(const bb_tuning_subject *subject, int number, bb_trial_data *out)
{
    const kernel_run *run = subject->context;
    const bb_benchmark_set *set = &run->manager->sets[number];
    (void)snprintf(out->name, sizeof out->name, "%s", set->name);
    out->count = subject->program->object_count;
    for (int i = 0; i < out->count; ++i) {
        const bb_benchmark_object *object =
            bb_kernel_manager_object(set, subject->program->objects[i].name);
        out->objects[i] = (bb_program_data){.columns = object->columns, .rows = object->rows};
    }
}

static bb_status fill_set(const bb_tuning_subject *subject, int number, bb_trial_data *data)
{
    const kernel_run *run = subject->context;
    bb_kernel_manager_fill(subject->program, &run->manager->sets[number], data->objects);
    return BB_OK;
}

// Copies the benchmark data to the device.
static bb_status make_data(kernel_run *run)
{
    bb_status status = BB_OK;
    const bb_program *program = &run->source.program;
    const bb_tuning_subject subject = {.program = program,
                                       .parameters = bb_kernel_manager_parameters,
                                       .context = run,
                                       .size_set = size_set,
                                       .fill_set = fill_set};
    for (int i = 0; i < program->object_count; ++i) {
        BB_REQUIRE(bb_kernel_manager_object(&run->manager->sets[run->set],
                                            program->objects[i].name) != NULL,
                   BB_INVALID, "%s: the benchmark data of %s do not contain object %s",
                   run->source.path, run->manager->name, program->objects[i].name);
    }
    BB_TRY(bb_set_data_create(run->device, &subject, (int)run->set, &run->data));
done:
    return status;
}

// Reads the kernel's text, shipped or of --file, with the types of the row.
static bb_status read_source(kernel_run *run, const char *file)
{
    bb_status status = BB_OK;
    bb_type_binding types[BB_MANAGER_TYPES];
    const int count = bb_kernel_manager_types(run->manager, run->type, types);
    const char *text = bb_kernel_manager_text(run->manager->file);
    for (int i = 0; i < count; ++i) {
        (void)snprintf(run->texts[i], sizeof run->texts[i], "%s=%s", types[i].name, types[i].type);
        run->words[i] = run->texts[i];
    }
    if (file != NULL) {
        BB_TRY(bb_kernel_source_read(file, &run->problems, &run->source));
    } else {
        BB_TRY(bb_memory_text(run->manager->file, &run->source.path));
        BB_TRY(bb_notation_reader_read(text, (bb_index)strlen(text), run->source.path,
                                       &run->problems, &run->source.description));
    }
    BB_TRY(check_problems(run));
    BB_TRY(bb_kernel_source_bind(&run->source, run->words, count, &run->problems));
    BB_TRY(check_problems(run));
done:
    return status;
}

// Prepares the variant tuned for the data, else the default.
static bb_status prepare(kernel_run *run, const bb_bench_setup *setup)
{
    bb_status status = BB_OK;
    const bb_choice_wish wish = {.wisdom = setup->wisdom, .may_reorder = setup->may_reorder};
    BB_TRY(read_source(run, setup->file));
    BB_TRY(make_data(run));
    BB_TRY(bb_kernel_choice_find(&wish, run->device, &run->source, &run->data.binding, &run->choice,
                                 NULL));
    BB_TRY(bb_assembled_kernel_create(run->device, &run->source.program,
                                      run->data.binding.is_inside, &run->choice.choice,
                                      &run->kernel));
done:
    return status;
}

static void release(kernel_run *run)
{
    bb_assembled_kernel_destroy(&run->kernel);
    bb_set_data_release(&run->data);
    bb_kernel_source_release(&run->source);
    bb_problems_release(&run->problems);
}

// Measures the time in s in which the host's memory moves the kernel's bytes.
static bb_status time_host(const kernel_run *run, bb_ceiling *ceiling, double *seconds)
{
    bb_status status = BB_OK;
    const bool reads = run->manager->is_read_bound;
    BB_TRY(reads ? bb_ceiling_read(ceiling, seconds) : bb_ceiling_triad(ceiling, seconds));
    *seconds *=
        bb_binding_bytes(&run->data.binding) / ((reads ? 8.0 : 24.0) * (double)ceiling->items);
done:
    return status;
}

// Counts the operations of the matrix product, the only kernel compared by operations.
static double product_flops(const kernel_run *run)
{
    const bb_program_data *objects = run->data.data.objects;
    return run->manager->is_compute_bound ? 2.0 * (double)objects[0].columns *
                                                (double)objects[2].columns * (double)objects[2].rows
                                          : NAN;
}

static bb_status peak_blas(const kernel_run *run, bb_index threads, double *out)
{
    bb_status status = BB_OK;
    const bb_program_data *objects = run->data.data.objects; // matrices A, B and C
    const int m = (int)objects[2].rows, n = (int)objects[2].columns,
              depth = (int)objects[0].columns;
    double *a = NULL, *b = NULL, *c = NULL; // buffers, also used for floats
    double best = INFINITY;
    BB_TRY(BB_ZEROED(objects[0].rows * objects[0].columns, &a));
    BB_TRY(BB_ZEROED(objects[1].rows * objects[1].columns, &b));
    BB_TRY(BB_ZEROED(objects[2].rows * objects[2].columns, &c));
    openblas_set_num_threads((int)threads);
    for (int round = 0; round < ROUNDS; ++round) {
        const double begin = bb_clock_seconds();
        if (run->type[0] == 'D') {
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, depth, 1.0, a, depth, b, n,
                        0.0, c, n);
        } else {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, depth, 1.0F,
                        (const float *)a, depth, (const float *)b, n, 0.0F, (float *)c, n);
        }
        best = fmin(best, bb_clock_seconds() - begin);
    }
    openblas_set_num_threads(1);
    *out = product_flops(run) / best;
done:
    BB_RELEASE(&a);
    BB_RELEASE(&b);
    BB_RELEASE(&c);
    return status;
}

// Chooses kernel, type and set from a row's name: the set of --set, else `large`, or `published`
// for a compute-bound kernel; in a quick run `small`.
static bb_status choose(const char *name, const bb_bench_setup *setup, kernel_run *run)
{
    bb_status status = BB_OK;
    char words[64] = "";
    const size_t length = strlen(name) - strlen(strrchr(name, '-')); // length without the device
    (void)snprintf(words, sizeof words, "%.*s", (int)length, name);
    char *type = strrchr(words, '-');
    BB_REQUIRE(type != NULL && (strcmp(type, "-sp") == 0 || strcmp(type, "-dp") == 0), BB_INVALID,
               "benchmark %s: expected kernel-NAME-sp or -dp and a device", name);
    *type = '\0';
    (void)snprintf(run->type, sizeof run->type, "%s", type[1] == 's' ? "SP" : "DP");
    const char *kernel = words + strcspn(words, "-") + 1;
    const bool is_grid = strcmp(kernel, "spmv5") == 0;
    BB_TRY(bb_kernel_manager_find(is_grid ? "spmv" : kernel, &run->manager));
    const bb_benchmark_set *sets = run->manager->sets;
    int set = is_grid                          ? BB_BENCHMARK_ODD
              : run->manager->is_compute_bound ? BB_BENCHMARK_PUBLISHED
                                               : BB_BENCHMARK_LARGE;
    if (setup->set != NULL) {
        for (set = 0; set < BB_BENCHMARK_COUNT && strcmp(sets[set].name, setup->set) != 0; ++set) {
        }
        BB_REQUIRE(set < BB_BENCHMARK_COUNT, BB_INVALID, "benchmark %s: kernel %s has no set %s",
                   name, run->manager->name, setup->set);
    }
    run->set = setup->quick ? BB_BENCHMARK_SMALL : (bb_benchmark_size)set;
done:
    return status;
}

bb_status bb_bench_kernel_check(const char *name, const bb_bench_setup *setup)
{
    kernel_run run = {0};
    return choose(name, setup, &run);
}

// Sets the name of the bound, and a bar for unlisted rows.
static void name_bound(const kernel_run *run, bb_bench_outcome *out)
{
    const bool on_processor = bb_device_is_processor(run->device);
    out->against = run->manager->is_compute_bound ? (!on_processor         ? "fma peak"
                                                     : run->type[0] == 'D' ? "dgemm"
                                                                           : "sgemm")
                   : run->manager->is_read_bound  ? "read"
                   : on_processor                 ? "triad"
                                                  : "copy";
    if (bb_device_kind_of(run->device) == BB_DEVICE_CPU && !run->manager->is_compute_bound) {
        out->bar = 0.8;
    }
}

// Times the kernel and its bound.
static bb_status measure(kernel_run *run, const bb_bench_setup *setup, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_ceiling host = {0};
    bb_device_ceiling *device = NULL;
    bb_bench_times own = {0}, bound = {0};
    double peak = NAN;
    const bool on_processor = bb_device_is_processor(run->device);
    const bool reads = run->manager->is_read_bound;
    out->bytes = bb_binding_bytes(&run->data.binding);
    BB_TRY(on_processor ? bb_ceiling_create(out->bytes, !reads, &host)
                        : bb_device_ceiling_create(run->device, out->bytes, &device));
    for (int round = 0; round < ROUNDS; ++round) {
        double seconds = 0.0;
        BB_TRY(bb_set_data_time(&run->data, run->kernel, 1, &seconds));
        bb_bench_add(&own, seconds);
        BB_TRY(on_processor ? time_host(run, &host, &seconds)
                            : bb_device_ceiling_measure(device, reads, &seconds));
        bb_bench_add(&bound, seconds);
    }
    name_bound(run, out);
    out->best_s = bb_bench_best(&own);
    out->median_s = bb_bench_median(&own);
    out->flops = product_flops(run);
    out->peer = out->bytes / bb_bench_best(&bound) * 1e-9;
    out->ratio = bb_bench_best(&bound) / out->best_s;
    if (run->manager->is_compute_bound) {
        BB_TRY(on_processor ? peak_blas(run, setup->threads, &peak)
                            : bb_device_ceiling_peak(device, run->type[0] == 'D', &peak));
        out->peer = peak * 1e-9;
        out->ratio = out->flops / out->best_s / peak;
    }
done:
    bb_ceiling_release(&host);
    bb_device_ceiling_destroy(&device);
    return status;
}

bb_status bb_bench_kernel(const bb_bench_case *self, const bb_bench_setup *setup,
                          bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    kernel_run run = {.device = setup->device};
    BB_TRY(choose(self->name, setup, &run));
    BB_TRY(prepare(&run, setup));
    BB_TRY(bb_assembled_kernel_launch(run.kernel, &run.data.binding, run.data.blocks)); // warm-up
    BB_TRY(bb_device_wait(run.device));
    BB_TRY(measure(&run, setup, out));
    out->kernel_share = out->ratio;
    (void)snprintf(out->detail, sizeof out->detail, "%s, %s, %.60s", run.data.data.name, run.type,
                   run.choice.text);
done:
    release(&run);
    return status;
}
