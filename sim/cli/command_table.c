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
    "\n\nCONFIG is a YAML file or the name of a shipped study such as ao/quick (bitbudget new "    \
    "--list). key=value replaces a key; items of lists are given by number or name:\n"             \
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
     "Runs the study recorded in a result file. Input files of the study must be unchanged at "
     "their recorded paths; key=value gives other paths. Generated kernels use the recorded "
     "variants unless a key of kernels is set. Recorded output folders (cache_folder, swap_dir) "
     "are ignored; set them by key=value.",
     .words = {{"output", "result file; default outputs/<name of the file>-rerun.h5"}}},
    {"check", bb_command_check,
     {BB_OPTION_OUTPUT, BB_OPTION_DEVICE, BB_OPTION_THREADS, BB_OPTION_FORCE, BB_OPTION_LEVEL,
      BB_OPTION_DUMP, BB_OPTION_RESTART, BB_OPTION_FIELDS, BB_OPTION_MACHINE,
      BB_OPTION_DETERMINISTIC},
     1, INTPTR_MAX, BB_OPERAND_CONFIG, "check a study and print its plan; nothing is computed",
     "check CONFIG [key=value ...] [options of run]",
     "Checks a study and prints its plan: sizes, memory, time, output. Nothing is computed or "
     "written. The options are those of run. If run refuses a study, check prints the same error "
     "and returns the same exit code." CONFIG_TEXT,
     .words = {{"output", RESULT_FILE}}, .is_collective = true},
    {"config", bb_command_config,
     {BB_OPTION_LIST, BB_OPTION_FORMAT, BB_OPTION_RESOLVED, BB_OPTION_DEVICE, BB_OPTION_OUTPUT,
      BB_OPTION_FORCE, BB_OPTION_LEVEL},
     0, INTPTR_MAX, BB_OPERAND_CONFIG, "list every key, or print a study with its defaults",
     "config --list [EXPERIMENT] [--format table|md]\nconfig --resolved CONFIG [key=value ...]\n"
     "config --upgrade STUDY [-o FILE]",
     "Prints all keys, a study with all defaults, or a study with renamed keys of earlier versions. "
     "--upgrade preserves comments except in rewritten groups. It does not rename keys in a base or "
     "in the axes of a sweep." CONFIG_TEXT,
     .words = {{"list", "print every key with type, unit, range, default and meaning"},
      {"format", "with --list: table, or md for Markdown tables"}}},
    {"outputs", bb_command_outputs, {BB_OPTION_LIST, BB_OPTION_LEVEL}, 0, 1, BB_OPERAND_EXPERIMENT,
     "list the datasets that a run may write",
     "outputs --list [EXPERIMENT]",
     "Prints the tables of outputs/README.md: every dataset of a result file, except the operators of "
     "--dump, with dimensions, unit and meaning.",
     .words = {{"list", "print the tables"}}},
    {"info", bb_command_info, {BB_OPTION_THREADS, BB_OPTION_LEVEL}, 0, 0, BB_OPERAND_NONE,
     "print version, libraries and devices, and run the self-test",
     "info",
     "Prints version, libraries, processor and devices, and runs a self-test of a few seconds.",
     .words = {{NULL, NULL}}},
    {"show", bb_command_show,
     {BB_OPTION_MAX_LOSS, BB_OPTION_SHOW, BB_OPTION_FORMAT, BB_OPTION_PIPELINE, BB_OPTION_LEVEL},
     1, INTPTR_MAX,
     BB_OPERAND_RESULT, "print the answer and the table of result files",
     "show FILE.h5|DIR ... [options]",
     "Prints the answer of a result and its table in 80 columns; * marks the Pareto front of loss and "
     "bytes. Several files of one experiment are compared side by side. For a sweep (collected file or "
     "folder) it prints the choices over all conditions.",
     .words = {{NULL, NULL}}},
    {"diff", bb_command_diff, {BB_OPTION_TOLERANCE, BB_OPTION_LEVEL}, 2, 2, BB_OPERAND_RESULT,
     "compare two result files of one experiment",
     "diff A.h5 B.h5 [--tolerance T]",
     "Prints differences in keys, in status and loss by pipeline, in other results, and in program and "
     "machine. Exit code: 0 if keys and results are equal, 1 if they differ; times and machines are "
     "ignored.",
     .words = {{NULL, NULL}}},
    {"plot", bb_command_plot,
     {BB_OPTION_OUTPUT, BB_OPTION_FORCE, BB_OPTION_LIST, BB_OPTION_PICTURE, BB_OPTION_SIZE,
      BB_OPTION_PIPELINE, BB_OPTION_KEYS, BB_OPTION_LEVEL},
     1, 8, BB_OPERAND_RESULT, "plot a result file (Python)",
     "plot FILE.h5|DIR|TABLE.yaml --kind KIND -o PICTURE.pdf|svg|png|pgf [options]\n"
     "plot BENCH.h5 [BENCH.h5 ...] --kind kernels -o PICTURE.pdf|svg|png|pgf [options]\n"
     "plot --list FILE.h5|DIR|TABLE.yaml",
     "Plots a result file, a sweep (file or folder) or a table of machines for print: losses, "
     "maps and time series with units. Needs the Python package with matplotlib, h5py and PyYAML; a .pgf file "
     "for LaTeX also needs xelatex.",
     .words = {{"list", "print the kinds available for this file, and the data that other kinds "
                        "need"},
      {"output", "picture; the extension selects the format"},
      {"pipeline", "pipeline shown by heatmap and lines of a sweep"}}},
    {"report", bb_command_report,
     {BB_OPTION_OUTPUT, BB_OPTION_FORCE, BB_OPTION_MAX_LOSS, BB_OPTION_TEX, BB_OPTION_LEVEL},
     1, 1, BB_OPERAND_RESULT, "report a result file or a sweep as one HTML page, or for LaTeX",
     "report FILE.h5|DIR -o REPORT.html [options]",
     "Writes a self-contained page: answer, table, all available pictures, failures, conditions, "
     "configuration, provenance, and how to repeat and cite the result. Needs the Python package with "
     "matplotlib, h5py and jinja2. DIR is the folder of a sweep.",
     .words = {{"output", "HTML page"}}},
    {"import", bb_command_import,
     {BB_OPTION_OUTPUT, BB_OPTION_FORCE, BB_OPTION_ARRAY, BB_OPTION_INSTRUMENT, BB_OPTION_LEVEL},
     1, INTPTR_MAX, BB_OPERAND_NONE, "convert an instrument, a matrix or a map of another program (Python)",
     "import INSTRUMENT.ini|.yml|.conf [FILE|key=value ...] [-o STUDY.yaml] [options]\n"
     "import ARRAY.npy|.npz|.mtx|.f32|.mat|.dat|.datx|... -o FILE.h5 [options]",
     "Translates an instrument of TIPTOP (.ini), SPECULA (.yml) or MAOS (.conf) to a study of ao. Each "
     "line names its origin; the head lists what was assumed and what is missing. Files and settings "
     "that follow are those of MAOS's command line. An array becomes HDF5 that studies read: NumPy, "
     "Matrix Market, raw numbers, MATLAB, Zygo, 4D, FITS. Of an interferogram also the wrapped phase is "
     "written.",
     .words = {{"output", "study or HDF5 file; default for a study: standard output"}}},
    {"try", bb_command_try,
     {BB_OPTION_OUTPUT, BB_OPTION_FORCE, BB_OPTION_MAX_LOSS, BB_OPTION_DEVICE, BB_OPTION_ARRAY, BB_OPTION_LEVEL},
     1, 1, BB_OPERAND_NONE, "try all formats and codecs on a matrix (Python)",
     "try ARRAY [--max-loss X] [options]",
     "Multiplies a matrix of any file that import reads by random vectors in every format and codec, and "
     "prints which has the fewest bytes within a relative error of 0.001 or --max-loss. Arrays of three "
     "and four axes are stored as meshes.",
     .words = {{"output", "result file; default outputs/product-study-<digest>.h5"}}},
    {"export", bb_command_export,
     {BB_OPTION_OUTPUT, BB_OPTION_FORCE, BB_OPTION_PARTS, BB_OPTION_PIPELINE, BB_OPTION_LEVEL},
     1, 1, BB_OPERAND_RESULT, "export reconstructors, images and pupil of a result file as FITS",
     "export FILE.h5 -o FILE.fits [options]",
     "Writes the reconstructors, point spread functions and pupil of an ao run, or the reconstructors "
     "of a reconstructor run, as a FITS file: one 64-bit image each, headers with axes, units and "
     "origin, and tables of the slopes. Reconstructors and pupil must be in the result file: run with "
     "--dump R,pupil.",
     .words = {{"output", "FITS file, .fits or .fit"},
      {"pipeline", "export only these pipelines: a,b"}}},
    {"sweep", bb_command_sweep,
     {BB_OPTION_OUTPUT, BB_OPTION_DEVICE, BB_OPTION_THREADS, BB_OPTION_FORCE, BB_OPTION_LEVEL,
      BB_OPTION_LIST, BB_OPTION_MAX_LOSS, BB_OPTION_SWEEP},
     1, INTPTR_MAX, BB_OPERAND_CONFIG,
     "run a study over values of its keys, here or on a cluster",
     "sweep PLAN.yaml [key=value ...] [options]\n"
     "sweep plan PLAN.yaml DIR [key=value ...]\n"
     "sweep run DIR [--shard S/K]\n"
     "sweep submit DIR --slurm [--nodes N] [--print-only] [-- options of sbatch]\n"
     "sweep status DIR\n"
     "sweep retry DIR [--only CLASS]\n"
     "sweep collect DIR -o FILE.h5 [--csv FILE] [--partial]\n"
     "sweep next DIR",
     "Runs a study over values of its keys. A plan is a study with the group sweep. With "
     "PLAN.yaml alone the command plans, runs all points here, collects them into one file and "
     "prints the answer; finished points are not computed again. In steps, with a folder: plan "
     "writes DIR/plan.json, run computes a shard or all points, submit starts Slurm jobs, status "
     "counts points, retry reopens failed points, next continues a search, collect writes one "
     "file of all points. mpirun -n P bitbudget-mpi sweep run DIR uses P processes for every "
     "point.",
     .is_collective = true,
     .words = {{"list", "Writes the reconstructors, point spread functions and pupil of an ao "
                        "run, or the reconstructors of a reconstructor run, as a FITS file: a "
                        "64-bit image each, headers with axes, units and origin, and tables of "
                        "the slopes. Reconstructors and pupil must be in the result file: run "
                        "with --dump R,pupil."},
      {"output", "collected file; default outputs/sweep-<plan name>.h5; points are in the folder of that name"},
      {"max-loss", "report the choice with the fewest bytes and at most this loss at every "
                   "condition:"},
      {"device", "auto, cpu, cuda or opencl, fixed when the sweep is planned"}}},
    {"convergence", bb_command_convergence,
     {BB_OPTION_OUTPUT, BB_OPTION_THREADS, BB_OPTION_FORCE, BB_OPTION_LEVEL},
     1, INTPTR_MAX, BB_OPERAND_CONFIG, "print the observed orders of convergence in space and "
                                       "time",
     "convergence CONFIG [key=value ...] [options]",
     "Refines mesh and time step of a study and prints the observed orders of convergence."
     CONFIG_TEXT,
     .words = {{"output", "write the table to an HDF5 file too"}},
     .by_experiment = convergence},
    {"realtime", bb_command_realtime,
     {BB_OPTION_OUTPUT, BB_OPTION_DEVICE, BB_OPTION_THREADS, BB_OPTION_FORCE, BB_OPTION_LEVEL},
     1, INTPTR_MAX, BB_OPERAND_CONFIG, "measure the latencies of a study's control loop",
     "realtime CONFIG [key=value ...] [options]",
     "Runs the control loop of a study and prints latencies, missed deadlines and the worst "
     "steps. Steps are released at fixed times or back to back. The loop of wafer needs a cuda "
     "device, that of ao runs on the cpu or a cuda device. An interrupt ends the run early."
     CONFIG_TEXT,
     .words = {{"output", "write latencies, histogram and worst steps to an HDF5 file too"},
      {"device", "auto, cpu (ao) or cuda"},
      {"threads",
       "threads that encode rows and multiply frames on the cpu; default: all processors"}},
     .by_experiment = realtime},
    {"live", bb_command_live,
     {BB_OPTION_LIVE, BB_OPTION_PIPELINE, BB_OPTION_OUTPUT, BB_OPTION_DEVICE, BB_OPTION_THREADS,
      BB_OPTION_FORCE, BB_OPTION_LEVEL},
     1, INTPTR_MAX, BB_OPERAND_CONFIG, "unwrap a stream of interferograms as frames arrive",
     "live CONFIG [key=value ...] [options]",
     "Unwraps a stream of frames and prints rate, latencies and dropped frames, as a line while "
     "it runs and as a table at the end. It waits for a stalled stream and adapts to a new frame "
     "size. An interrupt ends it and prints the table." CONFIG_TEXT,
     .words = {{"pipeline", "pipelines used for the phases in turn: a,b; default the first that "
                            "is not the reference"},
               {"output", "write latencies to an HDF5 file too"},
               {"threads", "default: all processors; the results do not depend on it"}},
     .by_experiment = live},
    {"new", bb_command_new, {BB_OPTION_FORCE, BB_OPTION_LIST, BB_OPTION_LEVEL}, 0, 2,
     BB_OPERAND_STARTER, "write a starter configuration, or list shipped studies",
     "new EXPERIMENT|STUDY [FILE] [--force]\nnew --list",
     "Writes a commented configuration with every key of an experiment, or a copy of a study "
     "such as ao/quick, to FILE or stdout. File names in the copy are absolute paths.",
     .words = {{"list", "print shipped studies with memory, time and title"}}},
    {"kernel", bb_command_kernel,
     {BB_OPTION_KERNEL, BB_OPTION_DETERMINISTIC, BB_OPTION_BIND, BB_OPTION_WISDOM, BB_OPTION_OUTPUT,
      BB_OPTION_DEVICE, BB_OPTION_THREADS, BB_OPTION_FORCE, BB_OPTION_LEVEL},
     1, INTPTR_MAX, BB_OPERAND_KERNEL, "check, run and print user-defined kernels",
     "kernel check KERNEL [NAME=TYPE ...]\n"
     "kernel run KERNEL [NAME=TYPE ...] --in IN.h5 -o OUT.h5 [options]\n"
     "kernel source KERNEL [NAME=TYPE ...] [--device D] [--variant ID]\n"
     "kernel explain KERNEL [NAME=TYPE ...] [--device D] [--set SET | --in IN.h5] [--wisdom FILE]\n"
     "kernel xml KERNEL\n"
     "kernel list",
     "Kernels are data-flow descriptions in XML or a short notation, compiled at run time. "
     "KERNEL is a file or the name of a shipped kernel such as gemv. NAME=TYPE sets a type "
     "parameter to SP, DP, INT32, SP2, DP2 or B, as T=SP. check prints the kernel or all its "
     "errors. run binds each object to the dataset of its name: matrices are [rows][columns], "
     "complex numbers have a last axis of 2, and the dataset of a write-only object gives its "
     "shape. source prints the generated text, explain the variant of a run and the reason, xml "
     "the description as XML, list the shipped kernels. A run uses the given variant, else the "
     "fastest one that tune recorded for the nearest sizes, else the default.",
     .words = {{"in", "for run and explain: HDF5 file with a dataset for each object"},
      {"output", "for run: HDF5 file for the written objects"},
      {"device", "for run, source and explain: cpu (default), opencl or cuda"},
      {"threads", "for run: number of threads; default: all processors; results do not depend on "
                  "it"},
      {"variant", "for run and source: variant in the notation of explain, or default"},
      {"deterministic", "for run and explain: use the default variant, ignore measurements"},
      {"set", "for explain: published, large, odd or small, or sizes: A=2048x1024,b=2048; default "
              "published"}}},
    {"prebuild", bb_command_prebuild,
     {BB_OPTION_OUTPUT, BB_OPTION_THREADS, BB_OPTION_LEVEL},
     0, INTPTR_MAX, BB_OPERAND_CONFIG,
     "compile kernels in advance, for machines without a C compiler",
     "prebuild CONFIG [key=value ...] -o FOLDER\n"
     "prebuild -o FOLDER",
     "Runs a study and its stream on the cpu without writing results, and stores every compiled "
     "kernel as an object in FOLDER; without CONFIG the benchmark kernels in SP and DP. Objects "
     "are valid for this version and for processors with x86-64-v3 (other architectures: all); "
     "existing objects are not replaced. Machines without a C compiler use them, with the same "
     "bits: BITBUDGET_PREBUILT names the folder. An installation may include its own folder."
     CONFIG_TEXT,
     .words = {{"output", "folder; created if missing"}}},
    {"tune", bb_command_tune,
     {BB_OPTION_WISDOM, BB_OPTION_TUNE, BB_OPTION_MAX_LOSS, BB_OPTION_BIND, BB_OPTION_OUTPUT,
      BB_OPTION_FORCE, BB_OPTION_DEVICE, BB_OPTION_THREADS, BB_OPTION_LEVEL},
     0, INTPTR_MAX, BB_OPERAND_TUNED, "find the fastest variants of kernels on this machine",
     "tune [KERNEL ...] [options]\n"
     "tune FILE [NAME=TYPE ...] --set A=2048x1024,b=2048 [-p PARAM=VALUE] [options]\n"
     "tune FILE [NAME=TYPE ...] --in IN.h5 [-p PARAM=VALUE] [options]\n"
     "tune --for STUDY [key=value ...] [--max-loss NM] [-o OUT.yaml] [options]",
     "Tries variants of kernels, checks that each is bit-identical to the reference, times the "
     "correct ones and appends the results to a file that kernel run reads. KERNEL is a kernel "
     "with benchmark data such as gemv; without names all are tuned, which takes some minutes. "
     "FILE is your own kernel, tuned for the sizes of --set (columns x rows) or for the datasets "
     "of a file; NAME=TYPE is as in kernel check. Recorded variants are not tried again unless "
     "device, driver or compiler have changed. An interrupt preserves the records. --for also "
     "chooses the number format of each slot of a study's pipelines (experiment fringe): the "
     "narrowest without wrong cycles and with an rms within a tolerance of the reference. It "
     "tunes the kernels of the study at its sizes, confirms the new pipeline by whole runs, and "
     "writes the study with it.",
     .words = {{"max-loss", "with --for: largest rms against the reference in nm; default 1/1000 "
                            "of the wavelength"},
      {"budget", "end after S seconds, divided among kernels; results until then are recorded; "
                 "with --for: default 60, for kernels only"},
      {"output", "with --for: study to write; default STUDY-tuned.yaml here"},
      {"device", "cpu (default), opencl or cuda"},
      {"set", "published, large, odd and small, separated by commas; default the first three, for "
              "gemm on a processor without large; for FILE: sizes of all its objects"},
      {"in", "for FILE: HDF5 file with a dataset for each object"},
      {"parameter", "for FILE: value of a Parameter; default 1"},
      {"threads", "default: all processors"}}},
    {"help", bb_command_help, {BB_OPTION_LIST, BB_OPTION_MAN, BB_OPTION_LEVEL}, 0, 1,
     BB_OPERAND_COMMAND, "print the help of a command or a manual page",
     "help [COMMAND]\nhelp --man [PAGE]\nhelp --list",
     "Prints the help of a command, as COMMAND --help does. Manual pages are named after "
     "commands and experiments (their keys); without a name, help --man prints the page of the "
     "program.",
     .words = {{"list", "print files and names of the manual pages"}}},
    {"completion", bb_command_completion, {BB_OPTION_LEVEL}, 1, 1, BB_OPERAND_SHELL,
     "print a completion script for a shell",
     "completion bash\ncompletion studies",
     "Prints a script that completes commands, options, values, studies and keys in bash. An "
     "installation contains it. In a shell: eval \"$(bitbudget completion bash)\". studies "
     "prints the study names used by the script.",
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
    BB_REQUIRE(strcmp(name, "bench") != 0, BB_INVALID,
               "bench is a separate program, bitbudget-bench: build it with cmake --build build "
               "--target bitbudget-bench");
    BB_FAIL(BB_INVALID, "unknown command '%s'%s; 'bitbudget --help' lists the commands", name,
            bb_suggestion_text(&near));
done:
    return status;
}
