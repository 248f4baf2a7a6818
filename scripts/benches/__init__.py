"""The benchmarks of scripts/bench.

A new one is a new module here. Its docstring's first line is its summary, and it has

    add_arguments(parser)   its options, beside --quick, --json and --libpas
    run(args)               a common.Result: figures, and what went over a limit

Modules without a `run` are helpers. Comparisons are interleaved in one run, since the machine
changes under it, and what is told is a median with its spread."""
