// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/command_table.h"

#include "core/suggestion.h"
#include "sim/cli/command.h"

#include <stdint.h>
#include <string.h>

static const char *convergence(const bb_experiment *experiment)
{
    return experiment->converge_help;
}

static const char *realtime(const bb_experiment *experiment)
{
    return experiment->realtime_help;
}

static const char *live(const bb_experiment *experiment)
{
    return experiment->live_help;
}

#define CONFIG_TEXT                                                                                \
    "\n\nCONFIG is a YAML file or the name of a study that is shipped, such as ao/quick "          \
    "(bitbudget new --list). Each key=value replaces one key of it, lists by number or name:\n"    \
    "  atmosphere.r0_m=0.1   pipelines.1.storage=fp16   scan.fields=[3,4]"
#define RESULT_FILE "result file; default outputs/<experiment>-<config name>.h5"

// clang-format off
static const bb_command table[] = {
    {"run", bb_command_run,
     {BB_OPTION_OUTPUT, BB_OPTION_DEVICE, BB_OPTION_THREADS, BB_OPTION_FORCE, BB_OPTION_LEVEL,
      BB_OPTION_DUMP, BB_OPTION_RESTART, BB_OPTION_ENERGY, BB_OPTION_DETERMINISTIC,
      BB_OPTION_MAX_LOSS},
     1, INTPTR_MAX, BB_OPERAND_CONFIG, "simulate a study and write its results",
     "run CONFIG [key=value ...] [options]",
     "Simulates a study, prints its result table and writes an HDF5 file." CONFIG_TEXT,
     .words = {{"output", RESULT_FILE}}, .is_collective = true},
    {"rerun", bb_command_rerun,
     {BB_OPTION_OUTPUT, BB_OPTION_DEVICE, BB_OPTION_THREADS, BB_OPTION_FORCE, BB_OPTION_LEVEL,
      BB_OPTION_DUMP, BB_OPTION_VERIFY},
     1, INTPTR_MAX, BB_OPERAND_RESULT, "simulate the study of a result file again",
     "rerun FILE.h5 [key=value ...] [options]",
     "Runs the study that a result file records, from that file alone; files that the study names "
     "must stand where they were, unchanged, or be named anew by key=value. Generated kernels run "
     "in the variants that the file records, unless a key of kernels is given. Folders that the "
     "file names to write to (cache_folder, swap_dir) are ignored; give them by key=value.",
     .words = {{"output", "result file; default outputs/<name of the file>-rerun.h5"}}},
    {"check", bb_command_check,
     {BB_OPTION_OUTPUT, BB_OPTION_DEVICE, BB_OPTION_THREADS, BB_OPTION_FORCE, BB_OPTION_LEVEL,
      BB_OPTION_DUMP, BB_OPTION_RESTART, BB_OPTION_FIELDS, BB_OPTION_MACHINE,
      BB_OPTION_DETERMINISTIC},
     1, INTPTR_MAX, BB_OPERAND_CONFIG, "check a study and print its plan; nothing is computed",
     "check CONFIG [key=value ...] [options of run]",
     "Checks a study and prints its plan: sizes, memory, time, output. Nothing is computed or "
     "written; options are those of run, and it ends as run would where that refuses." CONFIG_TEXT,
     .words = {{"output", RESULT_FILE}}, .is_collective = true},
    {"config", bb_command_config,
     {BB_OPTION_LIST, BB_OPTION_FORMAT, BB_OPTION_RESOLVED, BB_OPTION_DEVICE, BB_OPTION_OUTPUT,
      BB_OPTION_FORCE, BB_OPTION_LEVEL},
     0, INTPTR_MAX, BB_OPERAND_CONFIG, "list every key, or print a study with its defaults",
     "config --list [EXPERIMENT] [--format table|md]\nconfig --resolved CONFIG [key=value ...]\n"
     "config --upgrade STUDY [-o FILE]",
     "Prints the keys that studies have, one study with all of them, or one study with keys of "
     "earlier versions renamed. Comments stay but within a group that is rewritten; a base, and keys "
     "that axes of a sweep name, are not renamed." CONFIG_TEXT,
     .words = {{"list", "print every key with type, unit, range, default and meaning"},
      {"format", "of --list: table, or md for tables of Markdown"}}},
    {"outputs", bb_command_outputs, {BB_OPTION_LIST, BB_OPTION_LEVEL}, 0, 1, BB_OPERAND_EXPERIMENT,
     "list the datasets that a run may write",
     "outputs --list [EXPERIMENT]",
     "Prints the tables of outputs/README.md: every dataset of a result file but the operators of "
     "--dump, with its dimensions, unit and meaning.",
     .words = {{"list", "print the tables"}}},
    {"info", bb_command_info, {BB_OPTION_THREADS, BB_OPTION_LEVEL}, 0, 0, BB_OPERAND_NONE,
     "print version, libraries and devices, and run the self-test",
     "info",
     "Prints version, libraries, processor and devices, and runs a self-test of seconds.",
     .words = {{NULL, NULL}}},
    {"show", bb_command_show,
     {BB_OPTION_MAX_LOSS, BB_OPTION_SHOW, BB_OPTION_FORMAT, BB_OPTION_PIPELINE, BB_OPTION_LEVEL},
     1, INTPTR_MAX,
     BB_OPERAND_RESULT, "print the answer and the table of result files",
     "show FILE.h5|DIR ... [options]",
     "Prints what a result says and its table in 80 columns; * marks the Pareto front of price and "
     "bytes. Several files of one experiment stand side by side. Of a sweep, its collected file or "
     "its folder, it prints the choices over all conditions.",
     .words = {{NULL, NULL}}},
    {"diff", bb_command_diff, {BB_OPTION_TOLERANCE, BB_OPTION_LEVEL}, 2, 2, BB_OPERAND_RESULT,
     "compare two result files of one experiment",
     "diff A.h5 B.h5 [--tolerance T]",
     "Prints which keys of the studies differ, which statuses and prices by pipeline, which other "
     "results, and what program and machine made them. Exit code 0 where keys and results are "
     "equal, 1 where they differ; times and machines do not count.",
     .words = {{NULL, NULL}}},
    {"plot", bb_command_plot,
     {BB_OPTION_OUTPUT, BB_OPTION_FORCE, BB_OPTION_LIST, BB_OPTION_PICTURE, BB_OPTION_SIZE,
      BB_OPTION_PIPELINE, BB_OPTION_KEYS, BB_OPTION_LEVEL},
     1, 8, BB_OPERAND_RESULT, "draw a picture of a result file, by gnuplot",
     "plot FILE.h5|DIR|TABLE.yaml --kind KIND -o PICTURE.pdf|svg|png|tex [options]\n"
     "plot BENCH.h5 [BENCH.h5 ...] --kind kernels -o PICTURE.pdf|svg|png|tex [options]\n"
     "plot --list FILE.h5|DIR|TABLE.yaml",
     "Draws a result file, a sweep by its file or folder, or a table of machines: prices, maps and "
     "histories, with units, for print. A .tex comes with a "
     ".pdf of its lines and is for \\input in a LaTeX document with graphicx. Needs gnuplot.",
     .words = {{"list", "the kinds that this file gives, and what the others need"},
      {"output", "the picture; its ending says the format"},
      {"pipeline", "of heatmap and lines of a sweep: whose numbers are drawn"}}},
    {"report", bb_command_report,
     {BB_OPTION_OUTPUT, BB_OPTION_FORCE, BB_OPTION_MAX_LOSS, BB_OPTION_TEX, BB_OPTION_LEVEL},
     1, 1, BB_OPERAND_RESULT, "a result file or a sweep as one page of HTML, or for LaTeX",
     "report FILE.h5|DIR -o REPORT.html [options]",
     "Writes one page that needs nothing beside it: the answer, the table, every picture that the "
     "file gives, what failed, conditions, configuration, provenance, how to repeat and cite it. "
     "Without gnuplot the page has no pictures, and says so. DIR is a sweep's folder.",
     .words = {{"output", "the page"}}},
    {"export", bb_command_export,
     {BB_OPTION_OUTPUT, BB_OPTION_FORCE, BB_OPTION_PARTS, BB_OPTION_PIPELINE, BB_OPTION_LEVEL},
     1, 1, BB_OPERAND_RESULT, "reconstructors, images and pupil of a result file as FITS",
     "export FILE.h5 -o FILE.fits [options]",
     "Writes the reconstructors, point spreads and the pupil of a run of ao, or the reconstructors "
     "of one of reconstructor, as a FITS file, a part each in 64-bit floats, with headers that say "
     "axes, units and origin, and tables of the slopes. Reconstructors and pupil must be in the "
     "file: run with --dump R,pupil.",
     .words = {{"output", "the FITS file, which ends in .fits or .fit"},
      {"pipeline", "only these pipelines: a,b"}}},
    {"sweep", bb_command_sweep,
     {BB_OPTION_OUTPUT, BB_OPTION_DEVICE, BB_OPTION_THREADS, BB_OPTION_FORCE, BB_OPTION_LEVEL,
      BB_OPTION_LIST, BB_OPTION_MAX_LOSS, BB_OPTION_SWEEP},
     1, INTPTR_MAX, BB_OPERAND_CONFIG,
     "run a study over the values of its keys, here or on a cluster",
     "sweep PLAN.yaml [key=value ...] [options]\n"
     "sweep plan PLAN.yaml DIR [key=value ...]\n"
     "sweep run DIR [--shard S/K]\n"
     "sweep submit DIR --slurm [--nodes N] [--print-only] [-- options of sbatch]\n"
     "sweep status DIR\n"
     "sweep retry DIR [--only CLASS]\n"
     "sweep collect DIR -o FILE.h5 [--csv FILE] [--partial]\n"
     "sweep next DIR",
     "Runs a study over the values of its keys: a plan is a study with sweep: beside its keys. "
     "PLAN.yaml alone plans, runs all points here, collects them into one file and prints the "
     "answer; what is done already is not computed again. Or in steps, by a folder: plan seals "
     "DIR/plan.json, run computes the points of a shard, or all, submit has Slurm do that, status "
     "counts, retry opens failed points again, next goes on with a search, collect writes one file "
     "of all points. mpirun -n P bitbudget-mpi sweep run DIR gives every point P processes.",
     .is_collective = true,
     .words = {{"list", "points, time, memory and bytes; nothing is run"},
      {"output", "collected file; default outputs/sweep-<plan name>.h5, points go to the folder beside"},
      {"max-loss", "name the choice of fewest bytes whose loss is at most this at every condition:"},
      {"device", "auto, cpu, cuda or opencl, fixed when the sweep is planned"}}},
    {"convergence", bb_command_convergence,
     {BB_OPTION_OUTPUT, BB_OPTION_THREADS, BB_OPTION_FORCE, BB_OPTION_LEVEL},
     1, INTPTR_MAX, BB_OPERAND_CONFIG, "print the orders in space and time of a study's physics",
     "convergence CONFIG [key=value ...] [options]",
     "Refines what a study computes by, and prints the observed orders." CONFIG_TEXT,
     .words = {{"output", "write the table to an HDF5 file too"}},
     .by_experiment = convergence},
    {"realtime", bb_command_realtime,
     {BB_OPTION_OUTPUT, BB_OPTION_DEVICE, BB_OPTION_THREADS, BB_OPTION_FORCE, BB_OPTION_LEVEL},
     1, INTPTR_MAX, BB_OPERAND_CONFIG, "measure the latencies of a study's control loop",
     "realtime CONFIG [key=value ...] [options]",
     "Runs a study's control loop, that of a wafer on a cuda device, the frames of ao on the cpu or "
     "a cuda device, where each is a captured graph, released at fixed times or back to back, and "
     "prints latencies, misses of the deadline and the worst steps. An interrupt ends the run "
     "early." CONFIG_TEXT,
     .words = {{"output", "write latencies, histogram and worst steps to an HDF5 file too"},
      {"device", "auto, cpu (ao) or cuda"},
      {"threads", "default: all processors; they code the rows, and multiply frames on the cpu"}},
     .by_experiment = realtime},
    {"live", bb_command_live,
     {BB_OPTION_LIVE, BB_OPTION_PIPELINE, BB_OPTION_OUTPUT, BB_OPTION_DEVICE, BB_OPTION_THREADS,
      BB_OPTION_FORCE, BB_OPTION_LEVEL},
     1, INTPTR_MAX, BB_OPERAND_CONFIG, "unwrap a stream of interferograms as they come",
     "live CONFIG [key=value ...] [options]",
     "Processes a stream of frames and prints frames a second, latencies and dropped frames: a line "
     "while it goes, a table at its end. A stream that stalls is waited for, one that changes its "
     "size is followed; an interrupt ends it with the table." CONFIG_TEXT,
     .words = {{"pipeline", "the pipelines that phases go through, one after the other: a,b; "
                            "default the first that is not the reference"},
               {"output", "write latencies to an HDF5 file too"},
               {"threads", "default: all processors; the results do not depend on it"}},
     .by_experiment = live},
    {"new", bb_command_new, {BB_OPTION_FORCE, BB_OPTION_LIST, BB_OPTION_LEVEL}, 0, 2,
     BB_OPERAND_STARTER, "write a configuration to start from, or list shipped ones",
     "new EXPERIMENT|STUDY [FILE] [--force]\nnew --list",
     "Writes a commented configuration with every key of an experiment, or a copy of a study such "
     "as ao/quick, to stdout without FILE. Files that the study names keep their place: the copy "
     "has their whole paths.",
     .words = {{"list", "shipped studies with memory, time and title"}}},
    {"kernel", bb_command_kernel,
     {BB_OPTION_KERNEL, BB_OPTION_DETERMINISTIC, BB_OPTION_BIND, BB_OPTION_WISDOM, BB_OPTION_OUTPUT,
      BB_OPTION_DEVICE, BB_OPTION_THREADS, BB_OPTION_FORCE, BB_OPTION_LEVEL},
     1, INTPTR_MAX, BB_OPERAND_KERNEL, "check, run and print kernels of your own",
     "kernel check KERNEL [NAME=TYPE ...]\n"
     "kernel run KERNEL [NAME=TYPE ...] --in IN.h5 -o OUT.h5 [options]\n"
     "kernel source KERNEL [NAME=TYPE ...] [--device D] [--variant ID]\n"
     "kernel explain KERNEL [NAME=TYPE ...] [--device D] [--set SET | --in IN.h5] [--wisdom FILE]\n"
     "kernel xml KERNEL\n"
     "kernel list",
     "Kernels are described by their data flow, in XML or in a short notation, and compiled while "
     "the program runs. KERNEL is a file or the name of a shipped one, such as gemv; NAME=TYPE "
     "puts a type (SP, DP, INT32, SP2, DP2, B) in the place of a name that the description has "
     "for one, as T=SP. check says what a kernel is, or all that is wrong with it. run binds each "
     "object to the dataset of its name and writes what the kernel writes: matrices are "
     "[rows][columns], complex numbers have a last axis of 2; an object that is only written "
     "takes its shape from such a dataset too. source prints the text that is compiled, explain "
     "which variant a run would take and why, xml the description as XML, list the shipped "
     "kernels. A run takes the variant that is given, else the one that tune found fastest for the "
     "nearest sizes, else the default.",
     .words = {{"in", "of run and explain: the HDF5 file with a dataset for each object"},
      {"output", "of run: the HDF5 file of what was written"},
      {"device", "of run, source and explain: cpu (default), opencl or cuda"},
      {"threads", "of run; default: all processors; the results do not depend on it"},
      {"variant", "of run and source: a variant as explain and result files name it, or default"},
      {"deterministic", "of run and explain: the default variant, whatever was measured"},
      {"set", "of explain: seed, large, odd or small, or sizes: A=2048x1024,b=2048; default seed"}}},
    {"prebuild", bb_command_prebuild,
     {BB_OPTION_OUTPUT, BB_OPTION_THREADS, BB_OPTION_LEVEL},
     0, INTPTR_MAX, BB_OPERAND_CONFIG, "compile kernels beforehand, for machines without a C compiler",
     "prebuild CONFIG [key=value ...] -o FOLDER\n"
     "prebuild -o FOLDER",
     "Runs a study and its stream on the cpu, writes no results, and leaves in FOLDER an object of "
     "every kernel that they took; without CONFIG one of each shipped kernel that has benchmark "
     "data, in SP and DP. Objects are of the texts of this version and for processors with "
     "x86-64-v3 or, elsewhere, all of the architecture; those that stand there stay. Where there is "
     "no C compiler they run in the place of what it would compile, to the same bits: "
     "BITBUDGET_PREBUILT names the folder. An installation may have one of its own." CONFIG_TEXT,
     .words = {{"output", "the folder; it is made where it is missing"}}},
    {"tune", bb_command_tune,
     {BB_OPTION_WISDOM, BB_OPTION_TUNE, BB_OPTION_MAX_LOSS, BB_OPTION_BIND, BB_OPTION_OUTPUT,
      BB_OPTION_FORCE, BB_OPTION_DEVICE, BB_OPTION_THREADS, BB_OPTION_LEVEL},
     0, INTPTR_MAX, BB_OPERAND_TUNED, "find the fastest variants of kernels on this machine",
     "tune [KERNEL ...] [options]\n"
     "tune FILE [NAME=TYPE ...] --set A=2048x1024,b=2048 [-p PARAM=VALUE] [options]\n"
     "tune FILE [NAME=TYPE ...] --in IN.h5 [-p PARAM=VALUE] [options]\n"
     "tune --for STUDY [key=value ...] [--max-loss NM] [-o OUT.yaml] [options]",
     "Tries variants of kernels, verifies each against the reference to the bit, times those that "
     "are right, and appends what it finds to a file that kernel run takes its variants from. "
     "KERNEL has benchmark data, as gemv; without names: all that have, some minutes. FILE is a "
     "kernel of your own, tuned on objects of the sizes that --set gives, in columns x rows, or "
     "on those of a file; NAME=TYPE is as in kernel check. What is in the file is not tried again, "
     "unless device, driver or compiler have changed; an interrupt keeps what is there. With --for "
     "the numbers of each slot of a study's pipelines (experiment fringe) are lowered as far as the "
     "study's wrong cycles stay 0 and its rms within a tolerance of the reference's, the kernels "
     "that its run launches are tuned at its sizes, and the study with that pipeline beside the "
     "reference is confirmed by whole runs and written.",
     .words = {{"max-loss", "with --for: the largest rms against the reference in nm; default a thousandth of the wavelength"},
      {"budget", "end after some S seconds, shared out among kernels; what was found counts; with --for: default 60, for kernels alone"},
      {"output", "with --for: the study that is written; default STUDY-tuned.yaml here"},
      {"device", "cpu (default), opencl or cuda"},
      {"set", "of seed, large, odd and small, with commas; default the first three, of gemm on a processor without large; of FILE: sizes of all its objects"},
      {"in", "of FILE: the HDF5 file with a dataset for each object"},
      {"parameter", "of FILE: the value of a Parameter; default 1"},
      {"threads", "default: all processors"}}},
    {"help", bb_command_help, {BB_OPTION_LIST, BB_OPTION_MAN, BB_OPTION_LEVEL}, 0, 1,
     BB_OPERAND_COMMAND, "print what a command does and takes, or a page of the manual",
     "help [COMMAND]\nhelp --man [PAGE]\nhelp --list",
     "Prints the help of a command, as COMMAND --help does. A page of the manual is called as the "
     "command, or as the experiment whose keys it lists; without a name it is the program's own.",
     .words = {{"list", "print the files of the manual's pages, with the names of the pages"}}},
    {"completion", bb_command_completion, {BB_OPTION_LEVEL}, 1, 1, BB_OPERAND_SHELL,
     "print what completes command lines in a shell",
     "completion bash\ncompletion studies",
     "Prints a script that completes commands, options, their values, studies and keys in a "
     "shell; an installation has it where the shells look. In bash: eval \"$(bitbudget completion "
     "bash)\". studies prints the names of studies, which the scripts ask for.",
     .words = {{NULL, NULL}}},
};
// clang-format on
enum { COMMAND_COUNT = sizeof table / sizeof table[0] };

bb_index bb_command_table(const bb_command **out)
{
    *out = table;
    return COMMAND_COUNT;
}

bb_status bb_command_table_find(const char *name, const bb_command **out)
{
    bb_status status = BB_OK;
    bb_suggestion near = {.word = name};
    *out = NULL;
    for (int i = 0; i < COMMAND_COUNT; ++i) {
        if (strcmp(table[i].name, name) == 0) {
            *out = &table[i];
            goto done;
        }
        bb_suggestion_add(&near, table[i].name);
    }
    BB_REQUIRE(
        strcmp(name, "bench") != 0, BB_INVALID,
        "bench is the program bitbudget-bench: cmake --build build --target bitbudget-bench");
    BB_FAIL(BB_INVALID, "no command '%s'%s; 'bitbudget --help' lists them", name,
            bb_suggestion_text(&near));
done:
    return status;
}
