// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: arbitrary bytes as a tuning cache. The file is refused, or every record has a
// readable variant and sizes in pairs, is written back unchanged, and can be looked up.
#include "sim/kernels/wisdom.h"
#include "tests/fuzz/fuzz_input.h"

static bb_status look_up(const bb_wisdom_file *file)
{
    bb_status status = BB_OK;
    bb_text reasons = {0};
    bb_program program = {.name = "k"};
    bb_wisdom_key key = {.device = (bb_device_kind)file->records[0].device};
    const bb_wisdom_record *first = &file->records[0];
    const bb_wisdom_record *found = NULL;
    bool is_exact = false;
    program.space.dimensions = 1;
    (void)snprintf(key.kernel, sizeof key.kernel, "%s", first->kernel);
    (void)snprintf(key.program, sizeof key.program, "%s", first->program);
    (void)snprintf(key.types, sizeof key.types, "%s", first->types);
    (void)snprintf(key.report.name, sizeof key.report.name, "%s", first->name);
    (void)snprintf(key.report.architecture, sizeof key.report.architecture, "%s",
                   first->architecture);
    key.size_count = first->sizes.count < BB_WISDOM_SIZES ? first->sizes.count : BB_WISDOM_SIZES;
    BB_TRY(bb_wisdom_choose(file, &key, &program, true, &found, &is_exact, &reasons));
done:
    bb_text_release(&reasons);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bb_wisdom_file file = {0};
    bb_text line = {0};
    const char *path = fuzz_path(".yaml");
    fuzz_write(path, data, size);
    bb_status status = bb_wisdom_file_read(path, &file);
    for (bb_index i = 0; i < file.count && status == BB_OK; ++i) {
        bb_arena arena = {0};
        bb_problems problems = {0};
        bb_wisdom_record again;
        fuzz_demand(file.records[i].sizes.count % 2 == 0, "columns and rows");
        status = bb_wisdom_record_write(&file.records[i], &line);
        if (status == BB_OK) {
            status = bb_wisdom_record_read(&arena, "again", bb_text_string(&line),
                                           (size_t)line.length, &problems, &again);
        }
        fuzz_demand(status != BB_OK || (problems.count == 0 &&
                                        bb_choice_equal(&again.choice, &file.records[i].choice)),
                    "a record comes back");
        bb_problems_release(&problems);
        bb_arena_release(&arena);
        bb_text_release(&line);
    }
    if (status == BB_OK && file.count > 0) {
        status = look_up(&file);
    }
    bb_wisdom_file_release(&file);
    fuzz_settle(status);
    return 0;
}
