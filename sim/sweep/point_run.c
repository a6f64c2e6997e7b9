// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/point_run.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/thread.h"
#include "sim/output/file.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/warm.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

// Once a process: what the plan fixed has to be here.
static bb_status start(bb_point_run *run)
{
    bb_status status = BB_OK;
    char reason[256] = "";
    const bb_device_kind device = run->plan->device;
    BB_REQUIRE(bb_device_count(device, reason, sizeof reason) > 0, BB_DEVICE,
               "the plan is for device %s, which is absent here: %s", bb_device_names[device],
               reason);
    BB_TRY(bb_threads_set(run->threads));
    bb_warm_allow(run->warm_bytes);
    run->started = true;
done:
    return status;
}

static bb_status write_file(const bb_point_run *run, bb_index point, bb_results *results)
{
    bb_status status = BB_OK;
    unsigned char *image = NULL;
    bb_index bytes = 0;
    char *path = NULL;
    BB_TRY(bb_memory_printf(&path, "%s/points", run->plan->folder));
    BB_REQUIRE(mkdir(path, 0777) == 0 || errno == EEXIST, BB_IO, "cannot make folder '%s': %s",
               path, strerror(errno));
    BB_RELEASE(&path);
    BB_TRY(bb_memory_printf(&path, "%s/points/%td.h5", run->plan->folder, point));
    BB_TRY(bb_image_build(results, &image, &bytes));
    BB_TRY(bb_file_write(path, true, image, bytes));
done:
    BB_RELEASE(&path);
    BB_RELEASE(&image);
    return status;
}

static bb_status compute(bb_point_run *run, bb_index point, const bb_config *config,
                         bb_results *results)
{
    bb_status status = BB_OK;
    static char program[] = "bitbudget";
    static char verb[] = "sweep";
    char *arguments[] = {program, verb};
    const bb_sweep *sweep = run->plan->sweep;
    const void *study = bb_config_study(config);
    const bb_run_options options = {.threads = run->threads};
    if (sweep->keeps_files) {
        BB_TRY(bb_provenance_begin(results, config, study, 2, arguments, run->threads));
    }
    BB_TRY(sweep->experiment->run(study, &options, results));
    if (sweep->keeps_files) {
        BB_TRY(bb_provenance_end(results));
        BB_TRY(bb_team_joined()->rank == 0 ? write_file(run, point, results) : BB_OK);
    }
done:
    return status;
}

bb_status bb_point_run_compute(bb_point_run *run, bb_index point, bb_text *answer)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    bb_results *results = NULL;
    bb_problems problems = {0};
    char id[BB_DIGEST_BYTES];
    const double begin = bb_clock_seconds();
    const bb_sweep *sweep = run->plan->sweep;
    if (!run->started) {
        BB_TRY(start(run));
    }
    bb_warm_next_study();
    status = bb_sweep_bind(sweep, point, &problems, &config);
    BB_REQUIRE(status != BB_INVALID || problems.count == 0, BB_INVALID, "%s",
               bb_text_string(&problems.lines));
    BB_TRY(status);
    BB_TRY(bb_point_id(config, run->plan->device, &run->files, id));
    BB_TRY(bb_results_create(&results));
    BB_TRY(compute(run, point, config, results));
    BB_TRY(bb_point_record_fill(results, id, bb_clock_seconds() - begin, sweep->keep,
                                sweep->keep_count, &run->described, answer));
done:
    bb_results_destroy(&results);
    bb_config_destroy(&config);
    bb_problems_release(&problems);
    return status;
}
