// SPDX-License-Identifier: Apache-2.0
//
// Ten thousand damaged configurations: each is refused with its problems named, or is a study whose
// resolved copy is a study again. No crash, no hang, nothing kept in memory.
#include "core/memory.h"
#include "sim/experiment.h"
#include "tests/check.h"
#include "tests/sim/campaign/mutation.h"
#include "tests/sim/fixture.h"

enum { MUTANTS = 10000 };

static const char *const corpus[] = {
    BB_SOURCE_DIR "/tests/configs/small/ao.yaml",
    BB_SOURCE_DIR "/tests/configs/small/wafer.yaml",
    BB_SOURCE_DIR "/tests/configs/good/wafer.yaml",
    BB_SOURCE_DIR "/configs/ao/nx456.yaml",
    BB_SOURCE_DIR "/configs/wafer/quick.yaml",
    BB_SOURCE_DIR "/tests/configs/small/product.yaml",
    BB_SOURCE_DIR "/tests/configs/small/reconstructor.yaml",
};
enum { CORPUS = sizeof corpus / sizeof corpus[0] };

static void write_mutant(const mutation *mutant)
{
    FILE *file = fopen("mutant.yaml", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(mutant->text, 1, mutant->bytes, file), mutant->bytes);
    (void)fclose(file);
}

static void keep_culprit(const mutation *mutant, const char *why)
{
    print_error("mutant %llu: %s, status '%s'; the text:\n%.*s\n",
                (unsigned long long)mutant->number, why, bb_status_message(), (int)mutant->bytes,
                mutant->text);
    fail();
}

// What a run would record of a study loads as it stands.
static void check_resolved(const mutation *mutant, const bb_config *config)
{
    bb_text resolved = {0};
    bb_problems problems = {0};
    bb_config *again = NULL;
    FILE *file = fopen("resolved.yaml", "wb");
    assert_non_null(file);
    check_ok(bb_config_resolved(config, &resolved));
    (void)fputs(bb_text_string(&resolved), file);
    (void)fclose(file);
    if (bb_experiment_load(&bb_experiments, "resolved.yaml", NULL, 0, &problems, &again) != BB_OK) {
        print_error("%s", bb_text_string(&problems.lines));
        keep_culprit(mutant, "its resolved copy is refused");
    }
    bb_config_destroy(&again);
    bb_problems_release(&problems);
    bb_text_release(&resolved);
}

TEST_FULL(every_mutant_is_refused_or_sound)
{
    static mutation mutant;
    bb_index refused = 0;
    for (uint64_t m = 0; m < MUTANTS; ++m) {
        bb_problems problems = {0};
        bb_config *config = NULL;
        mutation_make(corpus[m % CORPUS], m, &mutant);
        write_mutant(&mutant);
        bb_status status =
            bb_experiment_load(&bb_experiments, "mutant.yaml", NULL, 0, &problems, &config);
        bool known = status == BB_OK || status == BB_INVALID || status == BB_IO;
        if (!known || (status == BB_OK) != (config != NULL)) {
            keep_culprit(&mutant, "an unexpected status");
        }
        // What is no text at all is refused as a whole.
        if (status != BB_OK && problems.count == 0 &&
            strstr(bb_status_message(), "mutant.yaml") == NULL) {
            keep_culprit(&mutant, "refused without a word on the file");
        }
        if (status == BB_OK && problems.count != 0) {
            keep_culprit(&mutant, "taken in spite of problems");
        }
        refused += status != BB_OK;
        if (status == BB_OK) {
            check_resolved(&mutant, config);
        }
        bb_problems_release(&problems);
        bb_config_destroy(&config);
        if (bb_memory_blocks() != 0) {
            keep_culprit(&mutant, "memory is kept");
        }
    }
    print_message("%td of %d refused\n", refused, MUTANTS);
    assert_true(refused > MUTANTS / 2 && refused < MUTANTS);
}

TEST_GROUP(.enter = fixture_enter, .leave = fixture_leave);
