"""What is shown of a suite's run: progress, the table, each difference, JSON."""

import json
import shlex
import sys
import time

from suites import job

DIFF_LINES = 40
COLUMNS = ["units", "same", "different", "flaky", "native_failed", "native_timeout", "not_built"]


class Progress:
    """A line a unit on a terminal, and one every ten seconds elsewhere."""

    def __init__(self, total):
        self.total, self.done, self.started, self.said = total, 0, time.monotonic(), 0.0

    def tick(self, name, verdicts):
        self.done += 1
        now = time.monotonic()
        bad = [verdict for verdict in verdicts if verdict.kind != "same"]
        if sys.stderr.isatty() or bad or now - self.said >= 10:
            self.said = now
            kinds = " ".join(f"{verdict.mode}:{verdict.kind}" for verdict in bad) or "same"
            clock = f"[{now - self.started:4.0f} s] {self.done}/{self.total}"
            print(f"{clock} {name}: {kinds}", file=sys.stderr, flush=True)


class Report:
    """All verdicts of one suite with one MPI."""

    def __init__(self, suite, mpi, modes, judge, not_built):
        self.suite, self.mpi, self.modes = suite, mpi, modes
        self.judge, self.not_built, self.verdicts = judge, not_built, []

    def count(self, mode):
        mine = [verdict for verdict in self.verdicts if verdict.mode == mode]
        row = {key: sum(verdict.kind == key for verdict in mine) for key in COLUMNS}
        row["units"] = len(mine)
        row["native_failed"] = sum(verdict.native_failed for verdict in mine)
        row["not_built"] = len(self.not_built)
        return row

    def different(self):
        return [verdict for verdict in self.verdicts if verdict.kind == "different"]

    def unseen(self):
        """The modes in which libpas.so gave no sign of life, so that the same means nothing.

        Not even where all tests fail: then it is likely the suite that does not work.
        """
        return [mode for mode in self.modes if not self.judge.at_work.get(mode)]

    def repeat(self, verdict):
        words = ["scripts/suite", self.suite.name, "--mpi", self.mpi.name]
        words += ["--modes", f"native,{verdict.mode}", "--only", verdict.unit.name]
        return shlex.join([*words, *self.suite.words])

    def show(self):
        heads = ["suite", "MPI", "mode", *COLUMNS]
        rows = [heads]
        for mode in self.modes:
            counts = self.count(mode)
            rows.append([self.suite.name, self.mpi.name, mode])
            rows[-1] += [str(counts[key]) for key in COLUMNS]
        widths = [max(len(row[index]) for row in rows) for index in range(len(heads))]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row[:3], widths)]
            cells += [cell.rjust(width) for cell, width in zip(row[3:], widths[3:])]
            print("  ".join(cells).rstrip())
        self._show_built()
        for kind in ("native_timeout", "flaky", "different"):
            self._show_kind(kind)
        for mode in self.unseen():
            why = "no unit ended well and wrote a report"
            print(f"\nlibpas.so was not seen at work in mode {mode}: {why}")
        counts = [self.count(mode) for mode in self.modes]
        same, different = (sum(row[key] for row in counts) for key in ("same", "different"))
        print(f"\n{same} passed, {different} failed")

    def _show_built(self):
        if self.not_built:
            print("\nnot_built (their programs do not compile with this MPI):")
            for name, reason in self.not_built:
                print(f"  {name}: {reason}")

    def _show_kind(self, kind):
        for verdict in self.verdicts:
            if verdict.kind != kind:
                continue
            print(f"\n{kind}: {verdict.unit.name}, {verdict.mode}: {verdict.note}")
            shown = DIFF_LINES if kind == "different" else 8
            for line in verdict.diff[:shown]:
                print(f"    {line[:200]}")
            if len(verdict.diff) > shown:
                print(f"    ... {len(verdict.diff) - shown} lines more")
            if kind == "different":
                print(f"  repeat: {self.repeat(verdict)}")
                command = job.shown(self.mpi, verdict.unit, verdict.mode, self.judge.libpas)
                print(f"  command: {shlex.join(command)}")

    def write(self, path):
        """Machine-readable: the counts of each mode, and all verdicts."""
        units = [
            {
                "name": verdict.unit.name,
                "mode": verdict.mode,
                "verdict": verdict.kind,
                "native_failed": verdict.native_failed,
                "note": verdict.note,
                "diff": verdict.diff,
                "seconds": round(verdict.seconds, 3),
                "repeat": self.repeat(verdict),
            }
            for verdict in self.verdicts
        ]
        text = {
            "suite": self.suite.name,
            "mpi": self.mpi.name,
            "modes": {mode: self.count(mode) for mode in self.modes},
            "not_built": [{"name": name, "reason": reason} for name, reason in self.not_built],
            "unseen": self.unseen(),
            "units": units,
        }
        path.write_text(json.dumps(text, indent=1) + "\n")
