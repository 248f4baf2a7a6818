"""What libpas.so adds to a call and to the memory of a rank.

Variants take turns, a process each, and their order moves on each round. A process's figure for a
case is the lower quartile of its bursts: above it are the interrupts and the other programs. What
is told is the median over the rounds of the difference to the same round's native process."""

import collections
import itertools
import pathlib
import statistics
import tempfile
import time

from . import common, instructions
from .common import Figure, Result

# By ranks. The flood is told apart: it never lets the ring be emptied, see its note.
CASES = {
    1: ("send_null", "allreduce_self", "send_flood"),
    2: ("allreduce", "pingpong", "exchange", "barrier", "bcast"),
}
FLOOD = "send_flood"
NOTE = (
    "the largest median of all cases but send_flood. What the calling thread pays: bursts are "
    "shorter than the ring, which is emptied in the pauses. With 2 ranks on 2 cores the shim's "
    "workers compete with the ranks, and where their memory lies makes some processes a quarter "
    "slower: below ten rounds the cases of 2 ranks say little"
)
FLOOD_NOTE = (
    "never a pause: the ring is full and most calls are only counted, while the worker competes "
    "for cache lines and, on few cores, for time"
)


def add_arguments(parser):
    """This benchmark's options."""
    parser.add_argument("--rounds", type=int, help="of timed processes (default 15)")
    parser.add_argument("--mpip", type=pathlib.Path, metavar="DIR", help="with a libmpiP.so")
    parser.add_argument("--mpi", choices=common.MPIS, action="append", help="not both")
    parser.add_argument("--instructions-only", action="store_true", help="count, and time nothing")
    for mode in instructions.MODES:
        help_text = f"most instructions that PAS_MODE={mode} may add to a call"
        parser.add_argument(f"--limit-{mode}", type=float, metavar="N", help=help_text)


def variants(mpi, library, url, mpip):
    """The environment of each variant."""
    pas = {"LD_PRELOAD": library, "PAS_URL": url}
    empty = common.compiled(mpi, "empty.c", "-shared", "-fPIC")
    found = {"native": {}, "empty": {"LD_PRELOAD": empty}}
    found |= {mode: {**pas, "PAS_MODE": mode} for mode in ("off", "observe", "advise")}
    if mpip and (b"libmpich" in mpip.read_bytes()) == (mpi == "mpich"):
        found["mpip"] = {"LD_PRELOAD": mpip}
    return found


def timed(mpi, ranks, variant, bursts, folder):
    """One process: nanoseconds a call by case."""
    program = [common.compiled(mpi, "calls.c"), "time", bursts, *CASES[ranks]]
    command = common.mpirun(mpi, ranks, *program)
    lines = common.output(command, env=common.environment(**variant), cwd=folder).splitlines()
    seen = collections.defaultdict(list)
    for case, ns in (line.split()[1:] for line in lines if line.startswith("burst ")):
        seen[case].append(float(ns))
    return {case: common.spread(values).low for case, values in seen.items()}


class Samples:
    """Nanoseconds by MPI, case and variant, one a round."""

    def __init__(self):
        self.ns = collections.defaultdict(list)

    def add_round(self, number, sets, bursts, folder):
        """Every variant once."""
        for mpi, ranks in itertools.product(sets, CASES):
            names = list(sets[mpi])
            start = number % len(names)
            for name in names[start:] + names[:start]:
                for case, ns in timed(mpi, ranks, sets[mpi][name], bursts, folder).items():
                    self.ns[mpi, case, name].append(ns)

    def keys(self):
        """MPI and case, in order."""
        return list(dict.fromkeys((mpi, case) for mpi, case, _ in self.ns))

    def names(self):
        """The variants, in order."""
        return list(dict.fromkeys(name for _, _, name in self.ns))

    def added(self, mpi, case, name, to="native"):
        """What a variant adds to another, paired by round; None where it was not measured."""
        pairs = zip(self.ns.get((mpi, case, name), []), self.ns[mpi, case, to])
        differences = [one - other for one, other in pairs]
        return common.spread(differences) if differences else None


def time_calls(args, library, deadline):
    """The rounds; with --quick as many as there is time for, two at least."""
    rounds, bursts = (99, 8) if args.quick else (15, 20)
    samples, took = Samples(), 0
    mpip = args.mpip and args.mpip.resolve() / "libmpiP.so"
    with common.closed_port() as url, tempfile.TemporaryDirectory(prefix="pas-bench-") as folder:
        sets = {mpi: variants(mpi, library, url, mpip) for mpi in args.mpi or common.MPIS}
        for number in range(args.rounds or rounds):
            began = time.monotonic()
            in_a_hurry = args.quick and not args.rounds
            if in_a_hurry and number >= 2 and began + took > deadline:
                break
            common.say(f"timing calls, round {number + 1}")
            samples.add_round(number, sets, bursts, folder)
            took = time.monotonic() - began
    return samples


def call_figures(samples):
    """Figures of the cases and their maxima."""
    figures, flood, best = [], [], {}
    wanted = [("observe_added_ns", "observe", "native"), ("advise_added_ns", "advise", "native")]
    wanted.insert(0, ("off_minus_empty_ns", "off", "empty"))
    if "mpip" in samples.names():
        wanted.append(("mpip_added_ns", "mpip", "native"))
    for (what, name, to), (mpi, case) in itertools.product(wanted, samples.keys()):
        added = samples.added(mpi, case, name, to)
        if added is None:
            continue
        figure = Figure(f"overhead.{what}.{mpi}.{case}", added.median, "ns", added.note("ns"))
        if case == FLOOD:
            flood.append(figure._replace(note=f"{figure.note}; {FLOOD_NOTE}"))
            continue
        figures.append(figure)
        kinds = [f"overhead.{what}.max"]
        # These have next to no noise: the machine decides the others as much as the shim does.
        if case in CASES[1]:
            kinds.append(f"overhead.{what}.one_rank.max")
        for kind in kinds:
            if kind not in best or best[kind].value < figure.value:
                best[kind] = figure
    rounds = min(map(len, samples.ns.values()))
    maxima = [
        Figure(kind, top.value, "ns", f"{top.name.split('.', 2)[2]}, {top.note}, {rounds} rounds")
        for kind, top in best.items()
    ]
    # The first of all tells what all of them are.
    maxima[0] = maxima[0]._replace(note=f"{maxima[0].note}; {NOTE}")
    return maxima, figures + flood


def table(samples):
    """Prints the medians: native as it is, the others as what they add."""
    names = samples.names()
    head = ["ns a call", "native", *(f"+{name}" for name in names[1:])]
    rows = []
    for mpi, case in samples.keys():
        row = [f"{mpi} {case}", f"{statistics.median(samples.ns[mpi, case, 'native']):.1f}"]
        for name in names[1:]:
            added = samples.added(mpi, case, name)
            row.append(f"{added.median:.1f} ({added.low:.1f}..{added.high:.1f})" if added else "-")
        rows.append(row)
    common.print_table(head, rows)


def grown(mpi, variant, calls):
    """Memory of a rank after the first 10^5 calls and at the end, KiB."""
    first = 10**5
    program = [common.compiled(mpi, "calls.c"), "grow", first, calls]
    env = common.environment(**variant)
    lines = common.output(common.mpirun(mpi, 1, *program), limit_s=900, env=env).splitlines()
    kib = [int(line.split()[2]) for line in lines if line.startswith("rss ")]
    return kib[0], kib[1]


def memory_figures(args, library):
    """What the shim's memory grows by."""
    calls = 10**7 if args.quick else 10**8
    mpi = (args.mpi or common.MPIS)[0]
    common.say(f"memory after {calls} calls, {mpi}")
    native = grown(mpi, {}, calls)
    with common.closed_port() as url:
        shim = grown(mpi, {"LD_PRELOAD": library, "PAS_URL": url, "PAS_MODE": "advise"}, calls)
    growth = (shim[1] - shim[0]) - (native[1] - native[0])
    note = f"from 10^5 to {calls:.0e} calls, natively {native[1] - native[0]} KiB; {mpi}, advise"
    whole = "the same rank's memory at the end, preloaded less native"
    return [
        Figure("overhead.rss_growth_kib", growth, "KiB", note),
        Figure("overhead.rss_shim_kib", shim[1] - native[1], "KiB", whole),
    ]


def run(args):
    """Measures."""
    began = time.monotonic()
    library = common.libpas(args)
    # Callgrind takes some four seconds a run.
    few = args.quick and not args.instructions_only
    counts = instructions.measure(library, args.mpi or common.MPIS[: 1 if few else 2])
    limits = {mode: getattr(args, f"limit_{mode}") for mode in instructions.MODES}
    over = instructions.excesses(counts, limits)
    if args.instructions_only:
        return Result(counts, over)
    memory = memory_figures(args, library)
    samples = time_calls(args, library, began + 52)
    table(samples)
    maxima, cases = call_figures(samples)
    return Result(maxima + memory + counts + cases, over)
