// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_keys.h"

#include "sim/kernels/wisdom_file.h"
#include "sim/run/study.h"

#include <unistd.h>

// clang-format off
static const bb_key keys_table[] = {
    {.name = "reorder", .kind = BB_KEY_BOOLEAN, .offset = offsetof(bb_kernel_keys, reorder),
     .default_text = "false",
     .meaning = "Allow variants with another order of summation; last bits differ; needs wisdom."},
    {.name = "wisdom", .kind = BB_KEY_PATH, .offset = offsetof(bb_kernel_keys, wisdom),
     .optional = true,
     .meaning = "Tuning cache written by tune; default: the user's file, then shipped "
     "ones."},
};
// clang-format on
const bb_schema bb_kernel_keys_schema = BB_SCHEMA("kernels", bb_kernel_keys, keys_table);

bb_status bb_kernel_keys_read(const bb_kernel_keys *keys, bb_wisdom_file *out)
{
    bb_status status = BB_OK;
    const char *path = keys->wisdom;
    BB_REQUIRE(access(path, F_OK) == 0, BB_IO,
               "file '%s' does not exist; bitbudget tune --wisdom FILE writes one", path);
    BB_TRY(bb_wisdom_file_read(path, out));
    BB_REQUIRE(out->count > 0, BB_IO,
               "'%s' has no records of variants; bitbudget tune --wisdom FILE writes them", path);
done:
    return status;
}

bb_status bb_kernel_keys_check(const bb_kernel_keys *keys, const bb_config *config,
                               bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_wisdom_file file = {0};
    BB_TRY(bb_study_refuse(
        keys->reorder && keys->wisdom == NULL, config, problems,
        "kernels.reorder = true: also set kernels.wisdom, the file with the variants"));
    if (keys->wisdom != NULL) {
        status = bb_kernel_keys_read(keys, &file);
        if (status == BB_IO || status == BB_INVALID) {
            status =
                bb_study_refuse(true, config, problems, "kernels.wisdom: %s", bb_status_message());
        }
        BB_TRY(status);
    }
done:
    bb_wisdom_file_release(&file);
    return status;
}
