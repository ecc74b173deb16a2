"""Runs commands of Mercurial, each in a process that is forked after Mercurial's modules were loaded.

Starting Python and loading them takes most of the time of a command. The argument is Mercurial's script.

A request is a length of four bytes in network order, and so many bytes: the folder, the number of variables, the
variables (NAME=value), and the arguments, with NUL between them. The answer is the status of wait(2) and the lengths of
standard output and standard error, four bytes each, and these two. A single byte says first that requests are read.
"""

import gc
import os
import struct
import sys
from importlib import import_module

script = sys.argv[1]
# As where the script itself is run; otherwise a file of a working copy could take the place of a module.
sys.path[0] = os.path.dirname(os.path.realpath(script))
with open(script, "rb") as file:
    program = compile(file.read(), script, "exec")

# What nearly every command needs. More is loaded by the command's own process.
for module in (
    "bundlerepo changelog commands context dirstate dispatch filelog formatter help localrepo logcmdutil manifest "
    "merge subrepo transaction"
).split():
    import_module(f"mercurial.{module}")


def read(count):
    data = b""
    while len(data) < count:
        piece = os.read(0, count - len(data))
        if not piece:
            sys.exit()
        data += piece
    return data


def write(data):
    while data:
        data = data[os.write(1, data) :]


def contents(descriptor):
    os.lseek(descriptor, 0, os.SEEK_SET)
    pieces = []
    while piece := os.read(descriptor, 1 << 20):
        pieces.append(piece)
    os.close(descriptor)
    return b"".join(pieces)


def run(folder, variables, arguments):
    os.chdir(folder)
    os.environb.clear()
    os.environb.update(variable.split(b"=", 1) for variable in variables)
    sys.argv = [script, *map(os.fsdecode, arguments)]
    pycompat = import_module("mercurial.pycompat")
    pycompat.sysargv = [os.fsencode(script), *arguments]
    try:
        exec(program, {"__name__": "__main__", "__file__": script})
    except SystemExit as end:
        return end.code or 0
    return 0


# So that the collector does not copy pages in each process.
gc.freeze()
write(b"\n")
while True:
    (length,) = struct.unpack("!I", read(4))
    folder, count, *words = read(length).split(b"\0")
    count = int(count)
    output, errors = os.memfd_create("output"), os.memfd_create("errors")
    child = os.fork()
    if child == 0:
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, descriptor in enumerate((nothing, output, errors)):
            os.dup2(descriptor, number)
        code = run(folder, words[:count], words[count:])
        sys.stdout.flush()
        sys.stderr.flush()
        # To free all that was loaded would take longer than the command.
        os._exit(code)
    _, status = os.waitpid(child, 0)
    output, errors = contents(output), contents(errors)
    write(struct.pack("!III", status, len(output), len(errors)))
    write(output)
    write(errors)
