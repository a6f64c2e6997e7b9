// SPDX-License-Identifier: Apache-2.0
//
// Kernels of the language, as each back end prints them, on the benchmark data of their managers:
// against a copy or a read of the same bytes, in the same rounds.
#include "bench/bench.h"
#include "bench/ceiling.h"
#include "bench/device_ceiling.h"
#include "bench/peers/kernel_peers.h"
#include "core/clock.h"
#include "core/memory.h"
#include "sim/kernels/kernel_choice.h"
#include "solvers/kernels/assembled_kernel.h"
#include "solvers/kernels/kernel_manager.h"
#include "solvers/kernels/language/notation_reader.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 12, VECTOR_BYTES = 16 };

typedef struct kernel_run {
    const bb_kernel_manager *manager;
    const bb_benchmark_set *set;
    bb_device *device;
    bb_problems problems;
    bb_description description;
    bb_program program;
    bb_program_data data[BB_MANAGER_OBJECTS];
    void *blocks[BB_MANAGER_OBJECTS];
    bb_binding binding;
    bb_assembled_kernel *kernel;
    bb_kernel_peers *peers;
    bb_kernel_choice choice;
} kernel_run;

static bb_status check_problems(const kernel_run *run)
{
    bb_status status = BB_OK;
    BB_REQUIRE(run->problems.count == 0, BB_INTERNAL, "kernel %s: %s", run->manager->name,
               bb_text_string(&run->problems.lines));
done:
    return status;
}

static bb_status make_data(kernel_run *run)
{
    bb_status status = BB_OK;
    for (int i = 0; i < run->program.object_count; ++i) {
        const bb_program_object *object = &run->program.objects[i];
        const bb_benchmark_object *sizes = bb_kernel_manager_object(run->set, object->name);
        BB_REQUIRE(sizes != NULL, BB_INTERNAL, "set %s of kernel %s has no %s", run->set->name,
                   run->manager->name, object->name);
        run->data[i] = (bb_program_data){.columns = sizes->columns, .rows = sizes->rows};
        BB_TRY(bb_memory_allocate(sizes->columns * sizes->rows,
                                  bb_element_type_row(object->type)->bytes,
                                  &run->data[i].elements));
    }
    bb_kernel_manager_fill(&run->program, run->set, run->data);
done:
    return status;
}

static bb_status upload(kernel_run *run)
{
    bb_status status = BB_OK;
    for (int i = 0; i < run->program.object_count; ++i) {
        const size_t bytes = bb_element_type_row(run->program.objects[i].type)->bytes *
                             (size_t)run->data[i].columns * (size_t)run->data[i].rows;
        BB_TRY(bb_device_allocate(run->device, bytes, &run->blocks[i]));
        BB_TRY(bb_device_upload(run->device, run->blocks[i], run->data[i].elements, bytes));
        BB_TRY(bb_device_wait(run->device));
    }
done:
    return status;
}

// The variant that was tuned for the data, else the default.
static bb_status find_choice(kernel_run *run, const bb_bench_setup *setup,
                             const bb_type_binding *types, int type_count)
{
    bb_status status = BB_OK;
    char texts[BB_MANAGER_TYPES][64];
    char *words[BB_MANAGER_TYPES];
    char path[96];
    const bb_choice_wish wish = {.wisdom = setup->wisdom, .may_reorder = setup->may_reorder};
    for (int i = 0; i < type_count; ++i) {
        (void)snprintf(texts[i], sizeof texts[i], "%s=%s", types[i].name, types[i].type);
        words[i] = texts[i];
    }
    (void)snprintf(path, sizeof path, "%s", run->manager->file);
    const bb_kernel_source source = {.path = path,
                                     .description = run->description,
                                     .program = run->program,
                                     .words = words,
                                     .word_count = type_count};
    BB_TRY(bb_kernel_choice_find(&wish, run->device, &source, &run->binding, &run->choice, NULL));
done:
    return status;
}

static bb_status prepare(kernel_run *run, const bb_bench_setup *setup, const char *type)
{
    bb_status status = BB_OK;
    const char *text = bb_kernel_manager_text(run->manager->file);
    bb_type_binding types[BB_MANAGER_TYPES];
    const int type_count = bb_kernel_manager_types(run->manager, type, types);
    BB_TRY(bb_notation_reader_read(text, (bb_index)strlen(text), run->manager->file, &run->problems,
                                   &run->description));
    BB_TRY(check_problems(run));
    BB_TRY(bb_program_create(&run->description, types, type_count, &run->problems, &run->program));
    BB_TRY(check_problems(run));
    BB_TRY(make_data(run));
    BB_TRY(bb_binding_create(&run->program, run->data, bb_kernel_manager_parameters, &run->problems,
                             &run->binding));
    BB_TRY(check_problems(run));
    BB_TRY(find_choice(run, setup, types, type_count));
    BB_TRY(bb_assembled_kernel_create(run->device, &run->program, run->binding.is_inside,
                                      &run->choice.choice, &run->kernel));
    BB_TRY(upload(run));
done:
    return status;
}

static bb_status name_device(const kernel_run *run, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_device_report report;
    BB_TRY(bb_device_describe(run->device, &report));
    (void)snprintf(out->device, sizeof out->device, "%.60s%s%.64s", report.name,
                   report.driver[0] == '\0' ? "" : ", ", report.driver);
done:
    return status;
}

// After the kernel's first run, which the peers' results are held to.
static bb_status prepare_peers(kernel_run *run, bb_index threads)
{
    bb_status status = BB_OK;
    const bb_kernel_peers_task task = {run->device,   threads,   run->manager->name,
                                       &run->program, run->data, run->blocks};
    BB_TRY(bb_assembled_kernel_launch(run->kernel, &run->binding, run->blocks));
    BB_TRY(bb_device_wait(run->device));
    BB_TRY(bb_kernel_peers_create(&task, &run->peers));
done:
    return status;
}

static void release(kernel_run *run)
{
    bb_kernel_peers_destroy(&run->peers);
    bb_assembled_kernel_destroy(&run->kernel);
    bb_binding_release(&run->binding);
    for (int i = 0; i < BB_MANAGER_OBJECTS; ++i) {
        if (run->device != NULL) {
            bb_device_release(run->device, &run->blocks[i]);
        }
        bb_memory_release(&run->data[i].elements);
    }
    bb_program_release(&run->program);
    bb_description_release(&run->description);
    bb_problems_release(&run->problems);
}

static bb_status time_launch(const kernel_run *run, bb_bench_times *times)
{
    bb_status status = BB_OK;
    double seconds = 0.0;
    BB_TRY(bb_device_timer_start(run->device));
    BB_TRY(bb_assembled_kernel_launch(run->kernel, &run->binding, run->blocks));
    BB_TRY(bb_device_timer_stop(run->device, &seconds));
    bb_bench_add(times, seconds);
done:
    return status;
}

// Through whichever back end: what the host's memory gives.
static bb_status measure_processor(kernel_run *run, bb_bench_times times[2])
{
    bb_status status = BB_OK;
    bb_ceiling ceiling = {0};
    const double bytes = bb_binding_bytes(&run->binding);
    BB_TRY(bb_ceiling_create(bytes, !run->manager->is_read_bound, &ceiling));
    for (int round = 0; round < ROUNDS; ++round) {
        double seconds = 0.0;
        BB_TRY(time_launch(run, &times[0]));
        BB_TRY(bb_kernel_peers_measure(run->peers));
        BB_TRY(run->manager->is_read_bound ? bb_ceiling_read(&ceiling, &seconds)
                                           : bb_ceiling_triad(&ceiling, &seconds));
        const double moved = (run->manager->is_read_bound ? 8.0 : 24.0) * (double)ceiling.items;
        bb_bench_add(&times[1], seconds * bytes / moved);
    }
done:
    bb_ceiling_release(&ceiling);
    return status;
}

static bb_status measure_device(kernel_run *run, bb_bench_times times[2])
{
    bb_status status = BB_OK;
    bb_device_ceiling *ceiling = NULL;
    BB_TRY(bb_device_ceiling_create(run->device, bb_binding_bytes(&run->binding), &ceiling));
    for (int round = 0; round < ROUNDS; ++round) {
        double seconds = 0.0;
        BB_TRY(time_launch(run, &times[0]));
        BB_TRY(bb_kernel_peers_measure(run->peers));
        BB_TRY(bb_device_ceiling_measure(ceiling, run->manager->is_read_bound, &seconds));
        bb_bench_add(&times[1], seconds);
    }
done:
    bb_device_ceiling_destroy(&ceiling);
    return status;
}

// Products and sums of the matrix product, which alone is held to operations: on a GPU to chains of
// fma, on processors to the BLAS on all threads.
static double product_flops(const kernel_run *run)
{
    const bb_benchmark_object *a = bb_kernel_manager_object(run->set, "A");
    const bb_benchmark_object *c = bb_kernel_manager_object(run->set, "C");
    return run->manager->is_compute_bound
               ? 2.0 * (double)a->columns * (double)c->columns * (double)c->rows
               : NAN;
}

static bb_status peak_device(const kernel_run *run, double *out)
{
    bb_status status = BB_OK;
    bb_device_ceiling *ceiling = NULL;
    BB_TRY(bb_device_ceiling_create(run->device, VECTOR_BYTES, &ceiling));
    BB_TRY(bb_device_ceiling_peak(ceiling, run->program.objects[0].type == BB_ELEMENT_DP, out));
done:
    bb_device_ceiling_destroy(&ceiling);
    return status;
}

static bb_status peak_blas(const kernel_run *run, bb_index threads, double *out)
{
    bb_status status = BB_OK;
    const bb_benchmark_object *a = bb_kernel_manager_object(run->set, "A");
    const bb_benchmark_object *c = bb_kernel_manager_object(run->set, "C");
    const int rows = (int)c->rows;
    const int columns = (int)c->columns;
    const int depth = (int)a->columns;
    void *product = NULL;
    double best = INFINITY;
    BB_TRY(bb_memory_allocate(c->columns * c->rows, sizeof(double), &product));
    openblas_set_num_threads((int)threads);
    for (int round = 0; round < ROUNDS; ++round) {
        const double begin = bb_clock_seconds();
        if (run->program.objects[0].type == BB_ELEMENT_DP) {
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, depth, 1.0,
                        run->data[0].elements, depth, run->data[1].elements, columns, 0.0, product,
                        columns);
        } else {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, depth, 1.0F,
                        run->data[0].elements, depth, run->data[1].elements, columns, 0.0F, product,
                        columns);
        }
        best = fmin(best, bb_clock_seconds() - begin);
    }
    openblas_set_num_threads(1);
    *out = product_flops(run) / best;
done:
    bb_memory_release(&product);
    return status;
}

// The set that a case names, else that which leaves the caches, or of operations the seed's; of a
// quick run the small one.
static bb_status choose_set(const bb_bench_case *self, const bb_bench_setup *setup,
                            const char *name, kernel_run *run)
{
    bb_status status = BB_OK;
    const bb_benchmark_set *sets = run->manager->sets;
    name = setup->set != NULL ? setup->set : name;
    int set = run->manager->is_compute_bound ? BB_BENCHMARK_SEED : BB_BENCHMARK_LARGE;
    if (name[0] != '\0') {
        for (set = 0; set < BB_BENCHMARK_COUNT && strcmp(sets[set].name, name) != 0; ++set) {
        }
        BB_REQUIRE(set < BB_BENCHMARK_COUNT, setup->set != NULL ? BB_INVALID : BB_INTERNAL,
                   "benchmark %s: kernel %s has no set %s", self->name, run->manager->name, name);
    }
    run->set = &sets[setup->quick ? BB_BENCHMARK_SMALL : set];
done:
    return status;
}

// What the ratio is to where the case names what a GPU is held to.
static const char *bound_of_processor(const kernel_run *run)
{
    if (run->manager->is_compute_bound) {
        return run->program.objects[0].type == BB_ELEMENT_DP ? "dgemm" : "sgemm";
    }
    return run->manager->is_read_bound ? "read" : "triad";
}

// Times of the kernel, and what they are to its bound.
static bb_status hold(kernel_run *run, const bb_bench_setup *setup, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_bench_times times[2] = {{.count = 0}, {.count = 0}};
    const bool on_processor = bb_device_is_processor(run->device);
    BB_TRY(on_processor ? measure_processor(run, times) : measure_device(run, times));
    if (on_processor && bb_device_kind_of(run->device) == BB_DEVICE_OPENCL) {
        out->against = bound_of_processor(run);
    }
    out->best_s = bb_bench_best(&times[0]);
    out->median_s = bb_bench_median(&times[0]);
    out->bytes = bb_binding_bytes(&run->binding);
    out->flops = product_flops(run);
    if (run->manager->is_compute_bound) {
        double peak = NAN;
        BB_TRY(on_processor ? peak_blas(run, setup->threads, &peak) : peak_device(run, &peak));
        out->peer = peak * 1e-9;
        out->ratio = out->flops / out->best_s / peak;
    } else {
        out->peer = out->bytes / bb_bench_best(&times[1]) * 1e-9;
        out->ratio = bb_bench_best(&times[1]) / out->best_s;
    }
done:
    return status;
}

bb_status bb_bench_kernel(const bb_bench_case *self, const bb_bench_setup *setup,
                          bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const bb_device_kind kind = (bb_device_kind)self->choice;
    kernel_run run = {.device = NULL};
    char name[32] = "";
    char type[8] = "";
    char set[8] = "";
    char reason[160] = "";
    out->best_s = NAN;
    out->median_s = NAN;
    BB_REQUIRE(sscanf(self->storage, "%31s %7s %7s", name, type, set) >= 2, BB_INTERNAL,
               "benchmark %s names no kernel and type", self->name);
    BB_TRY(bb_kernel_manager_find(name, &run.manager));
    BB_TRY(choose_set(self, setup, set, &run));
    if (setup->cpu_only && kind != BB_DEVICE_CPU) {
        (void)snprintf(out->detail, sizeof out->detail, "device cpu was asked for");
        goto done;
    }
    if (bb_device_count(kind, reason, sizeof reason) == 0) {
        (void)snprintf(out->detail, sizeof out->detail, "%s", reason);
        goto done;
    }
    BB_TRY(bb_device_open(kind, 0, &run.device));
    BB_TRY(name_device(&run, out));
    BB_TRY(prepare(&run, setup, type));
    BB_TRY(prepare_peers(&run, setup->threads));
    BB_TRY(hold(&run, setup, out));
    out->kernel_share = out->ratio;
    (void)snprintf(out->detail, sizeof out->detail, "%s, %s, %.60s", run.set->name, type,
                   run.choice.text);
    bb_kernel_peers_tell(run.peers, out);
done:
    release(&run);
    bb_device_close(&run.device);
    // Data beyond the device's memory leave out this row alone.
    if (status == BB_MEMORY) {
        out->best_s = NAN;
        out->median_s = NAN;
        (void)snprintf(out->detail, sizeof out->detail, "%s", bb_status_message());
        bb_status_clear();
        status = BB_OK;
    }
    return status;
}
