// SPDX-License-Identifier: Apache-2.0
//
// bitbudget export: writes reconstructors, images and pupil of a result file as FITS. The file is
// read in a child process first, because the HDF5 library can crash on damaged ones.
#include "core/file.h"
#include "sim/cli/command.h"
#include "sim/cli/source.h"
#include "sim/output/fits_export.h"
#include "sim/output/fits_writer.h"

static bb_status check_output(const bb_options *options)
{
    bb_status status = BB_OK;
    bb_file_list inputs = {0};
    const char *path = options->output;
    BB_REQUIRE(path != NULL, BB_INVALID, "export needs -o FILE.fits");
    BB_REQUIRE(bb_fits_writer_named(path), BB_INVALID, "-o %s: the name must end in .fits or .fit",
               path);
    BB_TRY(bb_fits_writer_available());
    BB_TRY(bb_command_inputs(options, NULL, &inputs));
    BB_TRY(bb_file_check(path, false, options->force, 0.0, &inputs));
done:
    bb_file_list_release(&inputs);
    return status;
}

bb_status bb_command_export(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_results *results = NULL;
    char *path = options->operands[0];
    BB_TRY(check_output(options));
    BB_TRY(bb_source_read_recorded(path, "export", &results));
    const bb_experiment *experiment =
        bb_experiment_find(experiments, bb_results_note_text(results, "", "experiment"));
    bb_fits_export wanted = {.file = path,
                             .results = results,
                             .offered = experiment == NULL ? NULL : experiment->operators,
                             .parts = options->picture.parts,
                             .pipelines = options->pipeline};
    BB_TRY(bb_fits_export_check(&wanted));
    BB_TRY(bb_file_write_by(options->output, options->force, bb_fits_export_write, &wanted));
    (void)printf("export: %s\n", options->output);
done:
    bb_results_destroy(&results);
    return status;
}
