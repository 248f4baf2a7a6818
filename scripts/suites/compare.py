"""Judges a unit: is it the same natively and under libpas.so?"""

import difflib
import time
from dataclasses import dataclass, field, replace

from suites import job, normal

# How often a unit is run again, natively and preloaded, before a difference is believed.
RERUNS = 3


@dataclass
class Verdict:
    """What came out for one unit in one mode."""

    unit: job.Unit
    mode: str
    # same, different, flaky or native_timeout.
    kind: str
    native_failed: bool
    note: str = ""
    diff: list = field(default_factory=list)
    seconds: float = 0.0


class Judge:
    """Runs units and compares them; keeps whether libpas.so was seen at work in each mode."""

    def __init__(self, mpi, libpas, limit):
        self.mpi, self.libpas, self.limit = mpi, libpas, limit
        self.at_work = {}

    def run(self, unit, mode, limit=None, **more):
        return job.run(self.mpi, unit, mode, self.libpas, limit or self.limit, **more)

    def unit(self, unit, modes):
        """The verdicts of a unit, one a mode."""
        natives = [self.run(unit, "native")]
        if natives[0].code != 0 and unit.more:
            unit = replace(unit, ranks=unit.more)
            natives = [self.run(unit, "native")]
        if natives[0].timed_out:
            note = f"natively more than {self.limit:.0f} s, so not run preloaded"
            return [Verdict(unit, mode, "native_timeout", False, note) for mode in modes]
        natives.append(self.run(unit, "native"))
        return [self._mode(unit, mode, natives) for mode in modes]

    def _mode(self, unit, mode, natives):
        """One mode. `natives` is what is known of the unit natively, and may grow."""
        started = time.monotonic()
        tried = [self._preloaded(unit, mode, natives)]
        for _ in range(RERUNS):
            if _settled(natives, tried):
                break
            natives.append(self.run(unit, "native"))
            tried.append(self._preloaded(unit, mode, natives))
        kind, note = _judge(natives, tried)
        failed = any(outcome.code != 0 for outcome in natives)
        odd = [outcome for outcome in tried if outcome not in natives]
        diff = _diff(natives[-1], odd[0], mode) if odd else []
        if not diff and kind == "flaky":
            other = [outcome for outcome in natives if outcome != natives[0]]
            diff = _diff(natives[0], other[0], "native again")
        seconds = time.monotonic() - started
        return Verdict(unit, mode, kind, failed, note, diff, seconds)

    def _preloaded(self, unit, mode, natives):
        # A run that natively takes nearly all of its time may not fail for the machine's noise.
        limit = self.limit + max(outcome.seconds for outcome in natives)
        outcome = self.run(unit, mode, limit)
        # Without this, a launcher that drops LD_PRELOAD would make every unit the same.
        if not self.at_work.get(mode) and outcome.code == 0:
            reports = self.run(unit, mode, limit, want_reports=True).reports
            self.at_work[mode] = reports > 0
        return outcome


def _settled(natives, tried):
    """True if further runs would not change what is said."""
    if all(outcome in natives for outcome in tried):
        return True
    codes = {outcome.code for outcome in natives}
    return len(set(natives)) > 1 and any(outcome.code in codes for outcome in tried)


def _judge(natives, tried):
    """The kind of a unit, and a word on it."""
    said = [line for outcome in tried for line in normal.ours(outcome.lines)]
    odd = [outcome for outcome in tried if outcome not in natives]
    count = f"{len(odd)} of {len(tried)} preloaded runs differ from {len(natives)} native ones"
    if said:
        return "different", f"libpas.so wrote into the job's output: {said[0]}"
    if len(set(natives)) == 1:
        return ("different", f"{count}, which agree") if odd else ("same", "")
    codes = {outcome.code for outcome in natives}
    if all(outcome.code not in codes for outcome in tried):
        return "different", f"{count}; those are flaky, but never with this exit code"
    return "flaky", f"{len(set(natives))} different results natively; {count}"


def _diff(native, other, name):
    """The unified diff of two outcomes, with the exit code as the first line."""
    texts = []
    for outcome in (native, other):
        code = "none: time limit" if outcome.timed_out else outcome.code
        texts.append([f"exit code: {code}", *outcome.lines])
    return list(difflib.unified_diff(*texts, "native", name, lineterm=""))
