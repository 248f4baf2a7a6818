"""What is not compared in the output of a program: what two native runs need not have in common.

Everything else is. Whole numbers stay, since they are ranks, counts, error codes and results.
"""

import re
import socket

HOST = socket.gethostname()
DAY = r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +"
MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"

# In this order: a later row sees what the earlier ones left.
RULES = [
    # Names of the machine, in what launchers say of a rank and in tests of MPI_Get_processor_name.
    (re.compile(rf"(?<![\w.-]){re.escape(HOST)}(?![\w-])"), "HOST"),
    # Addresses of memory, and handles, which are addresses in Open MPI.
    (re.compile(r"\b0x[0-9a-fA-F]+"), "0xPTR"),
    # Dates and times of day, in the heads of benchmarks.
    (re.compile(DAY + MONTH + r" +\d+(?: +\d\d:\d\d:\d\d)?(?: +[A-Z]+)?(?: +\d{4})?"), "DATE"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "TIME"),
    # Process and job numbers: [host:1234], pid 1234, [[1234,1],0], prterun-host-1234@1.
    (re.compile(r"\[HOST:\d+\]"), "[HOST:PID]"),
    (re.compile(r"\b(pid|process id)([ =:]+)\d+", re.I), r"\1\2PID"),
    (re.compile(r"\[\[\d+,"), "[[JOB,"),
    (re.compile(r"\b(prterun|mpirun|prte)-HOST-\d+"), r"\1-HOST-PID"),
    (re.compile(r"\b(port)([ =:#]+)\d+", re.I), r"\1\2PORT"),
    # MPICH's error codes: below the seven bits of the class is where it keeps the message.
    (re.compile(r"\bAbort\((\d+)\)"), lambda found: f"Abort(class {int(found[1]) & 127})"),
    # Fractions are times, rates and shares of them in all of these suites; results are whole.
    (re.compile(r"(?<![\w.])-?\d+\.\d+(?:[eE][-+]?\d+)?"), "FRACTION"),
    # Whole numbers with a unit of time, or of bytes per time.
    (re.compile(r"\b\d+( ?(?:ns|us|usec|ms|msec|s|sec|secs|seconds?|[KMG]?i?B/s))\b"), r"N\1"),
    # Padding depends on the width of what was replaced.
    (re.compile(r"[ \t]+"), " "),
]


# A frame of the stack, as Open MPI and UCX print them at a signal. The wrappers of libpas.so are
# among them, as those of any tool would be; the signal itself, its code and address are compared.
FRAME = re.compile(r"^(?:\[HOST:PID\] \[ ?\d+\] |=*\s*\d+ +0xPTR |\s*\d+ [/\w.-]+\.so)")


def lines(text, scratch):
    """The lines of a text, made comparable. `scratch` is the folder that this run alone had."""
    text = text.replace(scratch, "SCRATCH")
    for pattern, with_what in RULES:
        text = pattern.sub(with_what, text)
    found = (line.strip() for line in text.splitlines())
    return [line for line in found if not FRAME.match(line)]


def ours(lines):
    """The lines that libpas.so wrote: it may not say anything in a job that it serves."""
    return [line for line in lines if "pas: " in line]
