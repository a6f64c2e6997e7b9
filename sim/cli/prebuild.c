// SPDX-License-Identifier: Apache-2.0
//
// bitbudget prebuild: compiles kernels in advance, for machines without a C compiler. There is no
// list of the required kernels: the study is run, and every kernel that it requests is compiled.
#include "core/device/prebuilt.h"
#include "core/log.h"
#include "sim/cli/execution.h"
#include "sim/kernels/wisdom.h"
#include "sim/output/output_table.h"
#include "solvers/kernels/assembled_kernel.h"
#include "solvers/kernels/tuning/manager_subject.h"

#include <math.h>
#include <stdio.h>

enum { STREAM_PHASES = 2 };

// Compiles the default variant. Kernel texts depend on types, not on sizes; the small set suffices.
static bb_status make_kernel(bb_device *device, const bb_kernel_manager *manager, const char *type)
{
    bb_status status = BB_OK;
    bb_manager_subject *subject = NULL;
    bb_trial_data data = {.count = 0};
    bb_problems problems = {0};
    bb_binding binding = {.program = NULL};
    bb_assembled_kernel *kernel = NULL;
    BB_TRY(bb_manager_subject_create(manager, type, &subject));
    const bb_tuning_subject *table = bb_manager_subject_table(subject);
    BB_TRY(table->make_shape(table, 0, &data));
    BB_TRY(bb_binding_create(table->program, data.objects, table->parameters, &problems, &binding));
    BB_REQUIRE(problems.count == 0, BB_INTERNAL, "kernel %s: %s", manager->name,
               bb_text_string(&problems.lines));
    BB_TRY(bb_assembled_kernel_create(device, table->program, binding.is_inside, NULL, &kernel));
done:
    bb_assembled_kernel_destroy(&kernel);
    bb_binding_release(&binding);
    bb_problems_release(&problems);
    bb_trial_data_release(&data);
    bb_manager_subject_destroy(&subject);
    return status;
}

static bb_status make_shipped(bb_device *device)
{
    bb_status status = BB_OK;
    static const char *const types[] = {"SP", "DP"};
    enum { TYPES = sizeof types / sizeof types[0] };
    const bb_kernel_manager *managers = NULL;
    const int count = bb_kernel_manager_table(&managers);
    for (int i = 0; i < TYPES * count; ++i) {
        BB_TRY(make_kernel(device, &managers[i / TYPES], types[i % TYPES]));
    }
done:
    return status;
}

// Streams the study's own scene through all its pipelines: the estimation of phases from frames
// uses kernels that a run does not need.
static bb_status stream(const bb_experiment *experiment, const void *study,
                        const bb_results *results)
{
    bb_status status = BB_OK;
    const bb_dataset *pipelines = bb_results_find(results, "results/pipeline");
    bb_results *streamed = NULL;
    bb_text names = {0};
    bb_text table = {0};
    for (bb_index p = 0; pipelines != NULL && p < pipelines->count; ++p) {
        BB_TRY(bb_text_add(&names, "%s%s", p == 0 ? "" : ",", pipelines->texts[p]));
    }
    const bb_live_options live = {.frames = STREAM_PHASES,
                                  .rate_hz = NAN,
                                  .patience_s = NAN,
                                  .pipelines = bb_text_string(&names)};
    BB_TRY(bb_results_create(&streamed));
    status = experiment->live(study, &live, streamed, &table);
    if (status == BB_INVALID || status == BB_UNSUPPORTED) {
        bb_log_info("prebuilt for runs only, since the study cannot be streamed: %s",
                    bb_status_message());
        bb_status_clear();
        status = BB_OK;
    }
    BB_TRY(status);
done:
    bb_text_release(&table);
    bb_text_release(&names);
    bb_results_destroy(&streamed);
    return status;
}

// Uses the default variants, since tuning results of this machine do not apply elsewhere.
static bb_status make_study(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    bb_results *results = NULL;
    bb_options as_run = *options;
    as_run.device = bb_device_names[BB_DEVICE_CPU];
    as_run.kernel.deterministic = true;
    BB_TRY(bb_command_load(&as_run, experiments, NULL, &config));
    const bb_experiment *experiment =
        bb_experiment_find(experiments, bb_config_schema(config)->name);
    BB_TRY(bb_results_create(&results));
    const bb_execution work = {&as_run, experiments, config, NULL, NULL};
    BB_TRY(bb_execution_run(&work, results));
    if (experiment->live != NULL) {
        BB_TRY(stream(experiment, bb_config_study(config), results));
    }
done:
    bb_results_destroy(&results);
    bb_config_destroy(&config);
    return status;
}

bb_status bb_command_prebuild(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    char compiler[BB_WISDOM_COMPILER_BYTES];
    BB_REQUIRE(options->output != NULL, BB_INVALID, "prebuild needs -o FOLDER");
    BB_TRY(bb_prebuilt_start_making(options->output));
    BB_TRY(bb_device_open(BB_DEVICE_CPU, 0, &device));
    // The compiler's name is stored like a kernel: runs with tuned variants look it up.
    BB_TRY(bb_wisdom_find_compiler(device, compiler, sizeof compiler));
    BB_TRY(options->operand_count == 0 ? make_shipped(device) : make_study(options, experiments));
    (void)printf("compiler: %s\nprebuilt: %s\n", compiler, options->output);
done:
    bb_device_close(&device);
    bb_prebuilt_stop_making();
    return status;
}
