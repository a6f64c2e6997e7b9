#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A sweep of 200 points in 4 shards on a real Slurm, with faults, gives the same results as a local
sweep.

    sweep_on_slurm.py BITBUDGET FOLDER

Faults: an element is killed by signal 9, requeued, terminated by TERM and preempted; a shard has
two writers; a disk is full; a node loses its daemons while its job continues. Exit 77: skipped.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
POINTS, SHARDS = 200, 4
PLAN = """experiment: product
device: cpu
matrix: {file: rows.h5, dataset: /rows}
vectors: 12
pipelines:
  - {name: reference, storage: fp64, multiply: fp64, accumulate: fp64}
  - {name: q, storage: {codec: quantiser, tolerance_of_range: 1.0e-4}, multiply: fp32, accumulate: fp64}
sweep:
  axes:
    pipelines.q.storage.tolerance_of_range: {from: 1.0e-6, to: 1.0e-3, log: 10}
  seeds: 1..20
  shards: 4
"""


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def call(*words, check=True, **more):
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, **more)
    if check and done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_for(what, test, seconds=30):
    end = time.monotonic() + seconds
    while not test():
        if time.monotonic() > end:
            sys.exit(f"waited {seconds} s for {what}\n" + call("squeue", check=False))
        time.sleep(0.05)


def element_state(job, element):
    words = call("scontrol", "show", "job", f"{job}_{element}", check=False).split()
    facts = dict(word.split("=", 1) for word in words if "=" in word)
    return facts.get("JobState", "NONE"), facts.get("BatchHost", "")


def processes(folder, element):
    """Leading processes of an element: they run its shard, and their parents do not."""
    found = {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().decode().split("\0")
            with open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
        if words[1:4] == ["sweep", "run", folder] and f"{element}/{SHARDS}" in words:
            found[int(name)] = parent
    return [pid for pid, parent in found.items() if parent not in found]


def start_now(job, element):
    """Starts a requeued element immediately, because Slurm delays it by two minutes."""
    wait_for(f"element {element} to be requeued",
             lambda: element_state(job, element)[0] in ("PENDING", "RUNNING", "COMPLETED"))
    call("scontrol", "update", f"JobId={job}_{element}", "StartTime=now", check=False)


def read(path):
    import h5py
    import numpy as np
    out = {}

    def take(name, item):
        if isinstance(item, h5py.Dataset) and not name.startswith("provenance") \
                and not item.attrs.get("measured", 0):
            out[name] = np.array(item)

    with h5py.File(path) as file:
        file.visititems(take)
    return out


def compare(one, other):
    import numpy as np
    one, other = read(one), read(other)
    assert one.keys() == other.keys(), (one.keys() ^ other.keys())
    assert "point_digest" in one and "point_id" in one, one.keys()
    for name, values in one.items():
        if values.dtype.kind == "f":
            assert values.shape == other[name].shape and \
                np.array_equal(values, other[name], equal_nan=True), name
        else:
            assert (values == other[name]).all(), name
    return len(one)


def kill_node(node, slurm):
    """Kills the daemon and the step daemons of a node; the processes that they started continue."""
    with open(f"{slurm}/slurmd.{node}.pid") as file:
        victims = [int(file.read())]
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                line = file.read().decode(errors="replace")
            with open(f"/proc/{name}/environ", "rb") as file:
                own = f"{slurm}/slurm.conf".encode() in file.read()
        except OSError:
            continue
        if own and line.startswith("slurmstepd:") and any(
                f"[{job}." in line for job in call("squeue", "-h", "-w", node, "-o", "%A").split()):
            victims.append(int(name))
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    return len(victims)


def faults(program, folder, slurm):
    submitted = call(program, "sweep", "submit", folder, "--slurm", "--", "--mem=0")
    job = submitted.split()[1].rstrip(":")
    for element in range(1, SHARDS + 1):
        wait_for(f"element {element}", lambda: processes(folder, element))
    # A second writer of shard 3 for the whole test.
    twin = subprocess.Popen([program, "sweep", "run", folder, "--shard", f"3/{SHARDS}", "-q"])
    time.sleep(0.3)
    hosts = {e: element_state(job, e)[1] for e in range(1, SHARDS + 1)}
    # Element 1: killed by signal 9.
    for pid in processes(folder, 1):
        os.kill(pid, signal.SIGKILL)
    # Element 2: the daemons of its node die. Slurm restarts it on another node while the orphan
    # continues.
    orphans = processes(folder, 2)
    killed = kill_node(hosts[2], slurm)
    assert killed == 2 and orphans, (killed, orphans)
    call("scontrol", "update", f"NodeName={hosts[2]}", "State=DOWN", "Reason=test")
    assert all(os.path.exists(f"/proc/{pid}") for pid in orphans), "no orphan runs on"
    start_now(job, 2)
    # Element 3: terminated by TERM.
    call("scancel", "--batch", "--signal=TERM", f"{job}_3")
    # Element 4: preempted by an urgent job.
    call("sbatch", "-p", "urgent", "-w", hosts[4], "--mem=0", "-o", "/dev/null",
         "--wrap", "sleep 0.5")
    wait_for("preemption", lambda: element_state(job, 4)[0] != "RUNNING")
    start_now(job, 4)
    # A shard on a full disk: the file size limit is 16 blocks of 1024 bytes.
    limited = subprocess.run(
        ["bash", "-c", f"ulimit -f 16; exec '{program}' sweep run '{folder}' --shard 1/{SHARDS} -q"],
        capture_output=True, text=True)
    assert limited.returncode not in (0, -signal.SIGXFSZ), limited
    assert "cannot write" in limited.stderr, limited
    # Element 4 again: requeued by hand while it runs or after it.
    wait_for("element 4 again", lambda: element_state(job, 4)[0] in ("RUNNING", "COMPLETED"))
    wait_for("a requeue", lambda: subprocess.run(
        ["scontrol", "requeue", f"{job}_4"], stderr=subprocess.DEVNULL).returncode == 0)
    start_now(job, 4)
    assert twin.wait() == 0
    subprocess.run(["env", f"SLURM_CONF={slurm}/slurm.conf", "slurmd", "-N", hosts[2]], check=True)
    call("scontrol", "update", f"NodeName={hosts[2]}", "State=RESUME", check=False)
    return job


def points_of(folder, shard):
    """Number of points in the files of a shard."""
    points = set()
    for name in os.listdir(folder):
        if name.split(".")[0] == shard:
            with open(f"{folder}/{name}") as file:
                points |= {json.loads(line).get("point") for line in file if line.endswith("\n")}
    return len(points - {None})


def wait_until_idle():
    wait_for("the queue", lambda: not call("squeue", "-h").strip(), 40)


def begin_in_folder(plan, rows, columns):
    """Enters a new folder with a plan and its matrix; skips the test if no Slurm can be started."""
    program, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    if shutil.which("sbatch") is None or shutil.which("slurmctld") is None:
        skip("no Slurm here; ./setup test-full installs it")
    if os.geteuid() != 0:
        skip("a private Slurm is started by root alone")
    try:
        import h5py
        import numpy as np
    except ImportError as error:
        skip(error)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)
    i, j = np.mgrid[0:rows, 0:columns]
    with h5py.File("rows.h5", "w") as file:
        file["rows"] = np.exp(-8 * np.abs(i / rows - j / columns)) * np.cos(0.1 * i + 0.3 * j)
    with open("plan.yaml", "w") as file:
        file.write(plan)
    return program, folder


def main():
    begin = time.monotonic()
    program, folder = begin_in_folder(PLAN, 400, 900)
    for name in ("local", "shared"):
        call(program, "sweep", "plan", "plan.yaml", name)
    call(program, "sweep", "run", "local", "--jobs", "2", "-q")
    call(program, "sweep", "collect", "local", "-o", "local.h5")
    print(f"local run: {time.monotonic() - begin:.1f} s")
    shared, slurm = f"{folder}/shared", f"{folder}/slurm"
    os.environ["SLURM_CONF"] = f"{slurm}/slurm.conf"
    call(f"{HERE}/private_slurm", "start", slurm, str(SHARDS))
    try:
        faults(program, shared, slurm)
        wait_until_idle()
        status = call(program, "sweep", "status", shared).splitlines()[0]
        print(f"after the faults: {status} ({time.monotonic() - begin:.1f} s)")
        if "to do" in status:
            call(program, "sweep", "submit", shared, "--slurm", "-o", f"{shared}/all.h5", "--",
                 "--mem=0")
            wait_until_idle()
        print(call(program, "sweep", "status", shared).splitlines()[0])
    finally:
        call(f"{HERE}/private_slurm", "stop", slurm, check=False)
    # File names include the restart that wrote them: SHARD.JOB.RESTART.RANDOM.jsonl.
    names = [name.split(".") for name in os.listdir(f"{shared}/shards")]
    for element in ("2", "4"):
        restarted = any(name[0] == element and name[2] != "0" for name in names)
        # A fault at the last points of an element leaves nothing for the restart to write.
        assert restarted or points_of(f"{shared}/shards", element) == POINTS // SHARDS, names
    assert any(name[0] == "3" and name[1] == "local" for name in names), names
    datasets = compare("local.h5", f"{shared}/all.h5")
    assert len(read("local.h5")["point_number"]) == 10
    print(f"{datasets} datasets are equal, {len(names)} files of lines, "
          f"{time.monotonic() - begin:.1f} s in all")
    os.chdir("/")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
