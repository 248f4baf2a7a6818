"""Gets sources and compiles programs; all of it under target/suites, to be found there again."""

import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from suites.mpis import Missing

# Two, as in the rest of the project's scripts: machines for development are small.
COMPILERS = 2


def quiet(command, log, **more):
    """Runs a command with its output in a file; the end of that is what is told of a failure."""
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [str(word) for word in command]
    with open(log, "wb") as out:
        out.write((shlex.join(command) + "\n").encode())
        out.flush()
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, **more
        )
    if done.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        raise Missing(f"failed: {shlex.join(command)}\n{tail}\nall of it is in {log}")


def whole(folder, make):
    """A folder that is either complete or not there: make(other) fills another one first."""
    if not folder.is_dir():
        part = folder.with_name(folder.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        part.parent.mkdir(parents=True, exist_ok=True)
        make(part)
        part.rename(folder)
    return folder


def debian_source(package, root):
    """The unpacked source of a Debian package, in the release of this machine."""
    return whole(root / "sources" / package, lambda part: _apt_source(package, part, root))


def _apt_source(package, part, root):
    for tool in ("apt-get", "dpkg-source"):
        if not shutil.which(tool):
            raise Missing(f"no {tool}: this suite's sources come from Debian's source packages")
    apt = root / "apt"
    lists, sources = apt / "lists", apt / "src.sources"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    sources.write_text(_deb_src())
    # Lists and sources of our own: the machine's stay as they are.
    options = [
        f"-oDir::Etc::sourcelist={sources}",
        "-oDir::Etc::sourceparts=/dev/null",
        f"-oDir::State::lists={lists}",
        # Without this, apt changes to a user who may not be able to write here.
        "-oAPT::Sandbox::User=root",
    ]
    quiet(["apt-get", *options, "update"], apt / "update.log")
    down = apt / package
    shutil.rmtree(down, ignore_errors=True)
    down.mkdir(parents=True)
    command = ["apt-get", *options, "source", "--download-only", package]
    quiet(command, apt / f"{package}.log", cwd=down)
    found = list(down.glob("*.dsc"))
    if len(found) != 1:
        raise Missing(f"apt-get source {package} brought no .dsc file into {down}")
    quiet(["dpkg-source", "--no-check", "-x", found[0], part], apt / f"{package}.unpack.log")


def _deb_src():
    """Debian's own entries of this machine's sources, as sources of source packages."""
    out = []
    for path in sorted(Path("/etc/apt/sources.list.d").glob("*.sources")):
        for block in re.split(r"\n\s*\n", path.read_text()):
            if re.search(r"^URIs:.*debian", block, re.M):
                out.append(re.sub(r"^Types:.*$", "Types: deb-src", block, flags=re.M))
    listed = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*.list")]
    for path in listed:
        for line in path.read_text().splitlines() if path.is_file() else []:
            # deb [options] URI suite components...
            words = re.match(r"deb\s+(\[[^]]*\]\s+)?(\S*debian\S*)\s+(\S+)\s+(.+)", line)
            if words:
                signed = re.search(r"signed-by=(\S+?)[\s\]]", words[1] or "")
                key = f"\nSigned-By: {signed[1]}" if signed else ""
                where = f"URIs: {words[2]}\nSuites: {words[3]}\nComponents: {words[4]}"
                out.append(f"Types: deb-src\n{where}{key}")
    if not out:
        raise Missing("apt has no source with `debian` in its address, so no source packages")
    return "\n\n".join(block.strip() for block in out) + "\n"


def compile_all(jobs, mpi):
    """Compiles with an MPI; a job is (name, program, command). Returns why some failed, by name.

    A program that is there is not compiled again, nor is one where the same command failed.
    """
    with ThreadPoolExecutor(COMPILERS) as pool:
        reasons = pool.map(lambda one: _compile(*one[1:], environment(mpi)), jobs)
        return {name: reason for (name, *_), reason in zip(jobs, reasons) if reason}


def _compile(program, command, env):
    if program.exists():
        return None
    command = [str(word) for word in command]
    # The command, the reason, and all that the compiler said, for who wants it.
    failed = program.with_name(program.name + ".failed")
    before = failed.read_text().splitlines() if failed.exists() else []
    if before[:1] == [shlex.join(command)]:
        return before[1]
    program.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        failed.unlink(missing_ok=True)
        return None
    lines = done.stderr.splitlines()
    # gcc says error:, gfortran Error:, the linker undefined reference.
    errors = [line for line in lines if "rror:" in line or "undefined" in line]
    reason = (errors or lines or ["the compiler failed"])[0]
    failed.write_text("\n".join([shlex.join(command), reason, *lines]) + "\n")
    return reason


def environment(mpi):
    """For compilers and configure scripts."""
    return os.environ | mpi.env
