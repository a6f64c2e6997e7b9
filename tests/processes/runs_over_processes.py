#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Studies over processes: runs_over_processes.py BITBUDGET BITBUDGET_MPI MPIEXEC SOURCE FOLDER.

Results of 1, 2 and 4 processes equal those of the single-process program, also for a matrix that is
not positive definite. The first process refuses invalid studies with a message. A process that is
killed, stopped or out of memory ends the run, which leaves no file.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

BITBUDGET, BITBUDGET_MPI, MPIEXEC, SOURCE, FOLDER = (pathlib.Path(word) for word in sys.argv[1:6])
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "BITBUDGET_SHARE": str(SOURCE),
               "STARPU_HOME": str(FOLDER), "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
               "OMPI_MCA_plm": "isolated"}
SMALL = SOURCE / "tests/configs/small"
QUICKLY = "score=stationary"  # in one process, sums over pairs of points take three quarters of a small run
END_S = 10.0  # time limit for the end of a run after one of its processes is killed


def start(processes, *words, wrapper=()):
    return subprocess.Popen([MPIEXEC, "--oversubscribe", "--bind-to", "none", "-n", str(processes),
                             *wrapper, BITBUDGET_MPI, *map(str, words)], cwd=FOLDER,
                            env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def end(run, limit=240.0):
    """Exit status, stdout and stderr."""
    out, errors = run.communicate(timeout=limit)
    return run.returncode, out, errors


def call(processes, *words, wrapper=()):
    return end(start(processes, *words, wrapper=wrapper))


def alone(*words):
    done = subprocess.run([BITBUDGET, *map(str, words)], cwd=FOLDER, env=ENVIRONMENT, text=True,
                          capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def holds(condition, *what):
    if not condition:
        print("failed:", *what, sep="\n")
        sys.exit(1)


def members(run):
    """Process ids of a run, in rank order."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
            name = (entry / "comm").read_text() if words else ""
        except OSError:
            continue
        for word in words:
            if word.startswith(b"OMPI_COMM_WORLD_RANK=") and name.strip() == "bitbudget-mpi" and \
                    int((entry / "stat").read_text().split(")")[1].split()[1]) == run.pid:
                found[int(word.split(b"=")[1])] = int(entry.name)
    return [found[rank] for rank in sorted(found)]


def wait_for(processes, run):
    """Processes of a run once all compute."""
    limit = time.monotonic() + 30.0
    while len(members(run)) < processes and time.monotonic() < limit:
        time.sleep(0.05)
    time.sleep(1.0)
    found = members(run)
    holds(len(found) == processes, "processes", found, run.poll())
    return found


def results_are_those_of_one_process():
    for study, words in ((SMALL / "ao.yaml", ["solver.tile=50", QUICKLY]),
                         (SMALL / "ao.yaml", ["solver.tile=50", "correction=glao"]),
                         (SMALL / "mcao.yaml", []), (SMALL / "wafer.yaml", ["pipelines="
                          "[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, "
                          "{name: zfp, storage: {codec: zfp, mode: rate, bits: 16}, multiply: fp32, "
                          "accumulate: fp64, draws: 2}, {name: q, storage: {codec: quantiser, "
                          "tolerance_of_range: 1.0e-4}, multiply: fp32, accumulate: fp64}]"]),
                         (SOURCE / "configs/ao/policies.yaml",
                          ["sensors.lenslets=5", "solver.tile=20", "solver.spectrum.tiles=[{row: 1, column: 0}]"])):
        code, _, errors = alone("run", study, "-q", "--force", "--threads", 2, "--device", "cpu",
                                "-o", "alone.h5", *words)
        holds(code == 0, study, errors)
        for processes in (1, 2, 4) if QUICKLY in words else (2,):
            extra = ["solver.wire=fp32"] if processes == 4 and study.stem != "wafer" else []
            code, out, errors = call(processes, "run", study, "-q", "--force", "--threads", 1,
                                     "--device", "cpu", "-o", "shared.h5", *words, *extra)
            holds(code == 0, study, processes, out, errors)
            code, out, errors = alone("diff", "alone.h5", "shared.h5")
            holds("results except times: equal" in out, study, processes, out, errors)


def a_breakdown_is_a_result():
    words = ["-q", "--force", "--device", "cpu", "solver.tile=50", QUICKLY,
             "pipelines=[{name: reference, arithmetic: dp}, {name: fp8, arithmetic: fp8}]"]
    code, out, errors = alone("run", SMALL / "ao.yaml", "-o", "alone.h5", *words)
    holds(code == 0 and "not_spd" in out, out, errors)
    for processes in (2, 4):
        code, out, errors = call(processes, "run", SMALL / "ao.yaml", "-o", "shared.h5", *words)
        holds(code == 0 and "not_spd" in out, processes, out, errors)
        code, out, errors = alone("diff", "alone.h5", "shared.h5")
        holds("results except times: equal" in out, processes, out, errors)


def what_cannot_be_is_refused():
    cases = ((2, ["solver.engine=own"], "each of 2 processes would do all the work"),
             (2, ["solver.grid=3x1"], "solver.grid 3x1 has 3 processes, but 2 were started"),
             (2, ["solver.stall_s=0.5"], "solver.stall_s = 0.5, expected 0 or at least 1"),
             (2, ["solver.grid=two"], "expected auto, or rows and columns"),
             (2, ["no_key=1"], "no_key: unknown key"),
             (2, ["--energy"], "counters cannot be attributed to 2 processes"))
    for processes, words, sentence in cases:
        code, out, errors = call(processes, "run", SMALL / "ao.yaml", "-q", "--force", "-o",
                                 "refused.h5", *words)
        holds(code == 2 and errors.count(sentence) == 1, words, code, out, errors)
        holds(not (FOLDER / "refused.h5").exists(), words)
    code, _, errors = end(start(2, "run", "-", "-q"))
    holds(code == 2 and errors.count("a study from standard input reaches only one of 2") == 1, errors)
    code, _, errors = alone("check", SMALL / "ao.yaml", "solver.engine=starpu")
    holds(code == 2 and "this program has no StarPU-MPI" in errors, code, errors)


def a_sweep_gives_a_point_all_processes():
    (FOLDER / "plan.yaml").write_text(f"base: {SMALL / 'ao.yaml'}\nsweep:\n  axes:\n"
                                      "    seed: [1, 2, 3]\n")
    for folder in ("alone", "shared"):
        code, _, errors = alone("sweep", "plan", "plan.yaml", folder, "--device", "cpu", QUICKLY)
        holds(code == 0, errors)
    code, _, errors = alone("sweep", "run", "alone", "--threads", 1)
    holds(code == 0, errors)
    code, _, errors = call(2, "sweep", "run", "shared", "--threads", 1)
    holds(code == 0 and "3 points completed, 0 failed" in errors, errors)
    code, out, errors = call(2, "sweep", "run", "shared", "--threads", 1)
    holds(code == 0 and "3 completed earlier" in errors, errors)
    for folder in ("alone", "shared"):
        code, _, errors = alone("sweep", "collect", folder, "-o", f"{folder}.h5", "--force")
        holds(code == 0, errors)
    code, out, errors = alone("diff", "alone.h5", "shared.h5")
    holds("results except times: equal" in out, out, errors)


def long_run(name, *words, processes=2):
    return start(processes, "run", "ao/quick", "-q", "--force", "--threads", 1, "--device", "cpu",
                 "solver.tile=32", "-o", name, *words)


def over(run, limit, name):
    """Checks that a run failed within the time limit and left no file."""
    begin = time.monotonic()
    code, out, errors = end(run)
    holds(code != 0 and time.monotonic() - begin < limit, name, code, time.monotonic() - begin, out,
          errors)
    holds(not list(FOLDER.glob(f"*{name}*")), name, list(FOLDER.iterdir()))
    return errors


def a_killed_process_ends_the_run():
    for rank in (0, 1):
        run = long_run("killed.h5")
        os.kill(wait_for(2, run)[rank], signal.SIGKILL)
        over(run, END_S, "killed.h5")


def a_stopped_process_is_named():
    for rank in (0, 1):
        run = long_run("stopped.h5", "solver.stall_s=2")
        found = wait_for(2, run)
        os.kill(found[rank], signal.SIGSTOP)
        errors = over(run, 2.0 + END_S, "stopped.h5")
        sentence = f"process {rank} of 2"
        holds(sentence in errors and f"pid {found[rank]}" in errors and "for 2 s" in errors, errors)


def processes_with_other_studies_are_refused():
    for rank in (0, 1):
        (FOLDER / f"host{rank}").mkdir()
        shutil.copy(SMALL / "ao.yaml", FOLDER / f"host{rank}/study.yaml")
    text = (FOLDER / "host1/study.yaml").read_text()
    (FOLDER / "host1/study.yaml").write_text(text.replace("outer_scale_m: 25.0",
                                                          "outer_scale_m: 20.0"))
    begin = ["sh", "-c", 'cd host$OMPI_COMM_WORLD_RANK; exec "$@"', "sh"]
    run = start(2, "run", "study.yaml", "-q", "--force", "-o", FOLDER / "unlike.h5", wrapper=begin)
    errors = over(run, 20.0, "unlike.h5")
    holds("process 1 of 2: the study 'study.yaml' differs from that of process 0" in errors, errors)


def a_failure_of_one_process_ends_the_run():
    """Only rank 0 writes: its checkpoint does not fit on a small disk."""
    disk = FOLDER / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk],
                      capture_output=True, check=False).returncode != 0:
        print("not run: a small disk can be mounted by root alone")
        return
    try:
        run = start(2, "run", SMALL / "ao.yaml", "-q", "--force", "--device", "cpu",
                    "--checkpoint", disk / "state.ckpt", "--checkpoint-every", "0",
                    "solver.stall_s=0", QUICKLY, "-o", "full.h5")
        errors = over(run, 30.0, "full.h5")
        holds("state.ckpt" in errors and "No space left" in errors, errors)
    finally:
        subprocess.run(["umount", disk], check=True)


def what_one_process_does_is_done_by_the_first():
    code, _, errors = alone("run", SMALL / "ao.yaml", "-q", "--force", "--device", "cpu", QUICKLY, "-o",
                            "alone.h5")
    holds(code == 0, errors)
    code, out, errors = call(2, "rerun", "alone.h5", "-q", "--force", "-o", "rerun.h5")
    holds(code == 0 and out.count("results: rerun.h5") == 1, code, out, errors)
    code, out, errors = alone("diff", "alone.h5", "rerun.h5")
    holds("results except times: equal" in out, out, errors)


def a_process_without_memory_is_named():
    limited = ["sh", "-c", 'test "$OMPI_COMM_WORLD_RANK" = 1 && ulimit -v 1500000; exec "$@"',
               "sh"]
    run = start(2, "run", "ao/quick", "-q", "--force", "--threads", 1, "--device", "cpu",
                "sensors.lenslets=60", "-o", "poor.h5", wrapper=limited)
    errors = over(run, 120.0, "poor.h5")
    holds("process 1 of 2" in errors and "memory" in errors, errors)


def main():
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    FOLDER.mkdir(parents=True)
    for test in (results_are_those_of_one_process, a_breakdown_is_a_result,
                 what_cannot_be_is_refused, a_sweep_gives_a_point_all_processes, a_killed_process_ends_the_run,
                 a_stopped_process_is_named, processes_with_other_studies_are_refused,
                 a_failure_of_one_process_ends_the_run, what_one_process_does_is_done_by_the_first,
                 a_process_without_memory_is_named):
        begin = time.monotonic()
        test()
        print(f"{test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)


main()
