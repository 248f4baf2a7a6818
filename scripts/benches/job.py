"""How much longer a training job takes under libpas.so in its default mode, advise.

The trainer runs natively and with the daemon up, down (nobody listens) and hung (it accepts and
never answers), in turn, the order moving on each time. Each preloaded run is compared with the
native run of its own turn. Its loop is timed by the lines that it prints, so that what a short job
spends on starting and ending does not count; that is told in seconds, apart. Of a loop there is the
whole, and its median step, which other programs' bursts of load move less. What they do not move
is the CPU time of the shim's worker threads beside that of the ranks' own."""

import collections
import contextlib
import pathlib
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from typing import NamedTuple

from . import common
from .common import Figure, Result

# One rank a core: a rank that waits for a core would hide what the shim takes, or count it twice.
RANKS = 2
BATCH = 32
# The first steps allocate, and the detector has nothing yet.
FIRST_STEP = 5
# The name of the shim's thread.
WORKER = "pas-worker"
KINDS = ("native", "up", "down", "hung")


def add_arguments(parser):
    """This benchmark's options."""
    parser.add_argument("--pairs", type=int, help="of runs (default 15; with --quick what fits)")
    parser.add_argument("--steps", type=int, help="of a run (default 60; with --quick 30)")
    parser.add_argument("--mpi", choices=common.MPIS, default="openmpi")
    parser.add_argument("--pasd", type=pathlib.Path, metavar="FILE", help="not the built one")


def prepared(args):
    """The trainer's command, after making what is missing: Python packages, data, the program."""
    python, data = common.TARGET / "python/bin/python", common.BUILT / "pcam"
    program = common.TARGET / f"trainer/trainer.{args.mpi}"
    if not (data / "camelyonpatch_level_2_split_test_y.h5").exists():
        if not python.exists():
            common.say("installing what the trainer needs (scripts/setup demo)")
            common.output([common.TOP / "scripts/setup", "demo"], limit_s=1800)
        common.say("making the data set")
        # The test after the loop is not timed: few images for it.
        make = [python, common.TOP / "scripts/make-pcam", data, "--test", 32]
        common.output(make, limit_s=300)
    common.say(f"building {program.name}")
    found = common.output([common.TOP / "scripts/pkgconfig"]).strip()
    make = ["make", "--quiet", "-C", common.TOP / "c-tests/trainer", f"OUT={program.parent}"]
    common.output([*make, program], limit_s=600, env=common.environment(PKG_CONFIG_PATH=found))
    steps = args.steps or (30 if args.quick else 60)
    if steps <= FIRST_STEP:
        raise common.Unable(f"--steps {steps}: the first {FIRST_STEP} are not timed")
    return [program, "--data", data, "--steps", steps, "--batch", BATCH], steps


def daemon_program(args):
    """pasd, built only if there is none."""
    pasd = (args.pasd or common.TARGET / "release/pasd").resolve()
    if not pasd.exists():
        if args.pasd:
            raise common.Unable(f"no file {args.pasd}")
        common.say("building pasd (release)")
        build = ["cargo", "build", "--release", "--quiet", "--package", "pas-tools"]
        common.output(build, limit_s=1800, cwd=common.TOP)
    return pasd


@contextlib.contextmanager
def daemon_up(pasd, folder):
    """The URL of a pasd with the demo's fabric, in memory."""
    address = pathlib.Path(folder, "address")
    fabric = common.TOP / "scripts/fabric-demo.toml"
    command = [pasd, "--fabric", fabric, "--listen", "127.0.0.1:0", "--port-file", address]
    with open(pathlib.Path(folder, "pasd.log"), "w") as log:
        with common.started(command, stdout=log, stderr=log, env=common.environment()) as process:
            for _ in range(100):
                if address.exists() and address.read_text().strip():
                    break
                if process.poll() is not None:
                    raise common.Unable(f"pasd ended: {pathlib.Path(log.name).read_text()}")
                time.sleep(0.1)
            else:
                raise common.Unable("pasd did not come up in 10 s")
            yield f"http://{address.read_text().split()[0]}"


@contextlib.contextmanager
def daemon_hung():
    """The URL of a socket that accepts every connection and never answers."""
    held = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept():
            # Ends when the socket is shut down.
            with contextlib.suppress(OSError):
                while True:
                    held.append(server.accept()[0])

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in held:
                connection.close()


class Run(NamedTuple):
    """Seconds of a run."""

    loop: float
    step: float
    rest: float
    worker: float


def descendants(pid):
    """The processes that a process has started, and theirs."""
    children = collections.defaultdict(list)
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name, in parentheses, may hold anything.
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            children[parent].append(int(status.parent.name))
    found = [pid]
    for one in found:
        found += children[one]
    return found


def cpu_ns(launcher):
    """CPU time of the shim's workers below the launcher, and of the ranks' own threads."""
    worker, ranks = 0, 0
    for process in descendants(launcher):
        for task in pathlib.Path(f"/proc/{process}/task").glob("*"):
            with contextlib.suppress(OSError):
                ns = int((task / "schedstat").read_text().split()[0])
                name = (task / "comm").read_text().strip()
                worker += ns if name == WORKER else 0
                is_rank = task.name == str(process) and name.startswith("trainer")
                ranks += ns if is_rank else 0
    return worker, ranks


def timed(args, command, last_step, env):
    """One run, and its output."""
    began = time.monotonic()
    lines, stamps, cpu = [], {}, []
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    launch = common.mpirun(args.mpi, RANKS, *command)
    with common.started(launch, env=env, **pipes) as process:
        # A reader that waits for lines cannot watch the clock as well.
        watch = threading.Timer(120, process.terminate)
        watch.start()
        for line in process.stdout:
            words = line.split()
            if words and words[0] == "step":
                stamps[int(words[1])] = time.monotonic()
                if int(words[1]) in (FIRST_STEP, last_step):
                    cpu.append(cpu_ns(process.pid))
            lines.append(line)
        errors = process.stderr.read()
        process.wait()
        watch.cancel()
    whole = time.monotonic() - began
    if process.returncode != 0:
        raise common.Unable(f"the trainer: exit code {process.returncode}\n{errors}")
    times = [when for step, when in sorted(stamps.items()) if step >= FIRST_STEP]
    loop = times[-1] - times[0]
    steps = [after - before for before, after in zip(times, times[1:])]
    worker, ranks = (after - before for before, after in zip(*cpu))
    return Run(loop, statistics.median(steps), whole - loop, 100 * worker / ranks), lines


def environments(library, urls, pair):
    """The variables of each kind of run."""
    # A host of its own for each rank, or no phase would need a circuit.
    pas = {"PAS_MODE": "advise", "PAS_HOST": "host{rank}", "PAS_JOB_ID": f"bench-{pair}"}
    pas["LD_PRELOAD"] = library
    return {kind: {**pas, "PAS_URL": urls[kind]} if kind in urls else {} for kind in KINDS}


def turns(args, began):
    """The pairs' numbers; with --quick as many as there is time for, one at least."""
    pairs = args.pairs or (4 if args.quick else 15)
    before = time.monotonic()
    for pair in range(pairs):
        took, before = time.monotonic() - before, time.monotonic()
        if args.quick and not args.pairs and pair > 0 and before + took > began + 56:
            return
        yield pair


def measure(args, command, steps, began):
    """The runs by kind."""
    library, pasd = common.libpas(args), daemon_program(args)
    runs, printed = collections.defaultdict(list), None
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pas-bench-"))
        urls = {
            "up": stack.enter_context(daemon_up(pasd, folder)),
            "down": stack.enter_context(common.closed_port()),
            "hung": stack.enter_context(daemon_hung()),
        }
        for pair in turns(args, began):
            start = pair % len(KINDS)
            sets = environments(library, urls, pair)
            for kind in KINDS[start:] + KINDS[:start]:
                common.say(f"pair {pair + 1}: {kind}")
                one, lines = timed(args, command, steps, common.environment(**sets[kind]))
                # A run that did other work would be no comparison.
                printed = printed or lines
                if lines != printed:
                    raise common.Unable(f"the output of a {kind} run differs from the first run's")
                runs[kind].append(one)
    return runs


def slowdown(name, ones, others, about):
    """The figure of paired times: how many percent the ones are longer."""
    slower = common.spread([100 * (one / other - 1) for one, other in zip(ones, others)])
    note = f"{slower.note('%')}; {about}"
    if slower.high - slower.low > abs(slower.median):
        note = f"the spread is larger than the effect: {note}"
    return Figure(name, slower.median, "%", note)


def run(args):
    """Measures."""
    command, steps = prepared(args)
    runs = measure(args, command, steps, time.monotonic())
    native, timed_steps = runs["native"], steps - FIRST_STEP
    loop = common.spread([one.loop for one in native])
    about = f"{len(native)} pairs, {RANKS} ranks, {args.mpi}, {timed_steps} steps"
    about += f"; the native loop itself: {loop.median:.2f} s, {loop.note('s')}"
    wholes, medians, workers, ends, rows = [], [], [], [], []
    for kind in KINDS[1:]:
        preloaded = runs[kind]
        both = (preloaded, native)
        loops = [[one.loop for one in ones] for ones in both]
        steps = [[one.step for one in ones] for ones in both]
        wholes.append(slowdown(f"job.slowdown_percent.{kind}", *loops, about))
        medians.append(slowdown(f"job.step_slowdown_percent.{kind}", *steps, "by median steps"))
        worker = common.spread([one.worker for one in preloaded])
        note = f"CPU time of the shim's threads beside the ranks' own; {worker.note('%')}"
        workers.append(Figure(f"job.worker_cpu_percent.{kind}", worker.median, "%", note))
        more = common.spread([one.rest - other.rest for one, other in zip(preloaded, native)])
        note = f"outside the loop: start, end and the last messages; {more.note('s')}"
        ends.append(Figure(f"job.start_and_end_s.{kind}", more.median, "s", note))
        typical = (common.spread(loops[0]).median, 1e3 * common.spread(steps[0]).median)
        shares = [f"{slower[-1].value:+.2f}" for slower in (wholes, medians)]
        rows.append([kind, *typical, *shares, f"{worker.median:.3f}"])
    typical = 1e3 * common.spread([one.step for one in native]).median
    rows.insert(0, ["native", loop.median, typical, "", "", ""])
    common.print_table(["daemon", "loop s", "step ms", "slower %", "by steps %", "worker %"], rows)
    return Result(wholes + medians + workers + ends)
