// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: arbitrary bytes as a configuration file. The loader refuses them with problems
// or a file name, or returns a study. The resolved copy of a study loads again and resolves to the
// same text. No memory leaks.
#include "sim/run/experiment.h"
#include "tests/fuzz/fuzz_input.h"

#include <sys/mman.h>

static int file = -1;
static char path[64];

// Loads the in-memory file.
static bb_status load(const void *text, size_t bytes, bb_problems *problems, bb_config **out)
{
    fuzz_demand(ftruncate(file, 0) == 0 && pwrite(file, text, bytes, 0) == (ssize_t)bytes,
                "the text does not fit into memory");
    return bb_experiment_load(&bb_experiments, path, NULL, 0, problems, out);
}

static void check_resolved(const bb_config *config)
{
    bb_text first = {0};
    bb_text second = {0};
    bb_problems problems = {0};
    bb_config *again = NULL;
    fuzz_demand(bb_config_resolved(config, &first) == BB_OK, "no resolved copy");
    const char *text = bb_text_string(&first);
    if (load(text, strlen(text), &problems, &again) != BB_OK) {
        (void)fprintf(stderr, "%s\n%s", text, bb_text_string(&problems.lines));
        fuzz_demand(false, "the resolved copy is refused");
    }
    fuzz_demand(bb_config_resolved(again, &second) == BB_OK, "no second resolved copy");
    fuzz_demand(strcmp(text, bb_text_string(&second)) == 0, "the resolved copies differ");
    bb_config_destroy(&again);
    bb_problems_release(&problems);
    bb_text_release(&first);
    bb_text_release(&second);
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    bb_problems problems = {0};
    bb_config *config = NULL;
    (void)count;
    (void)arguments;
    file = memfd_create("configuration", 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    fuzz_demand(load(FUZZ_STUDY, sizeof FUZZ_STUDY - 1, &problems, &config) == BB_OK,
                "a sound study is taken");
    check_resolved(config);
    bb_config_destroy(&config);
    bb_problems_release(&problems);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bb_problems problems = {0};
    bb_config *config = NULL;
    bb_status status = load(data, size, &problems, &config);
    fuzz_demand(status == BB_OK || status == BB_INVALID || status == BB_IO, "an unexpected status");
    fuzz_demand((status == BB_OK) == (config != NULL),
                "a status that does not fit the configuration");
    fuzz_demand(status != BB_OK || problems.count == 0, "taken in spite of problems");
    // An unreadable base file is named instead of the file itself.
    const bool has_base = memmem(data, size, "base", 4) != NULL;
    fuzz_demand(status == BB_OK || problems.count > 0 ||
                    strstr(bb_status_message(), path) != NULL ||
                    (has_base && strstr(bb_status_message(), "configuration '") != NULL),
                "refused without a problem or the name of a file");
    if (config != NULL) {
        check_resolved(config);
    }
    bb_problems_release(&problems);
    bb_config_destroy(&config);
    fuzz_demand(bb_memory_blocks() == 0, "memory is kept");
    return 0;
}
