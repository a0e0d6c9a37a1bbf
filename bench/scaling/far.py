#!/usr/bin/env python3
"""Two machines that are far apart, made of one: network namespaces whose packets a process delays and lets through at a limited rate.

    sudo bench/scaling/far.py --delay 1e-3 --rate 1.25e8 -- mpirun -n 2 {far} broadloom train ...

{far} becomes what tells Open MPI to put one rank on each: hosts, the interface, and how to start a process on the other. Seconds one way; bytes a
second each way. Needs Linux, root, iproute2, util-linux and /dev/net/tun. Told to stop, it ends the command and leaves nothing behind;
killed, it leaves the namespaces."""
import argparse
import contextlib
import fcntl
import heapq
import os
import select
import shlex
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time

HOSTS = ("broadloom-a", "broadloom-b")
ADDRESSES = ("10.231.0.1", "10.231.0.2")
LARGEST_PACKET = 60000  # of TCP: the fewer packets, the less time the process that passes them on takes from the ranks
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


def run(*words):
    subprocess.run(words, check=True)


def open_tun(host):
    """A packet interface in the host's namespace; the file stays readable from outside it."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    other = os.open(f"/run/netns/{host}", os.O_RDONLY)
    set_namespace(other)
    try:
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH", b"far0", IFF_TUN | IFF_NO_PI))
        return file
    finally:
        set_namespace(own)
        os.close(other)
        os.close(own)


def set_namespace(file):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(file, 0x40000000) != 0:  # CLONE_NEWNET
        raise OSError(ctypes.get_errno(), "setns")


class Wire:
    """One direction: packets leave it in order, `delay` after the last byte has been let through."""

    def __init__(self, delay, rate):
        self.delay, self.rate = delay, rate
        self.free = 0.0  # when the next packet may start

    def due(self, now, size):
        self.free = max(now, self.free) + size / self.rate
        return self.free + self.delay


def forward(files, delay, rate, parent):
    """Until the parent is gone."""
    wires = (Wire(delay, rate), Wire(delay, rate))
    waiting, count = [], 0
    while os.getppid() == parent:
        timeout = 0.5 if not waiting else max(0.0, waiting[0][0] - time.monotonic())
        readable, _, _ = select.select(files, [], [], timeout)
        now = time.monotonic()
        for file in readable:
            side = files.index(file)
            packet = os.read(file, 65536)
            count += 1
            heapq.heappush(waiting, (wires[side].due(now, len(packet)), count, 1 - side, packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, side, packet = heapq.heappop(waiting)
            try:
                os.write(files[side], packet)
            except OSError:  # an interface that is gone, or full: TCP sends again
                pass


def make_hosts(delay, rate, made):
    """The process that passes packets on. made: gets the names of those that are this one's to remove."""
    files = []
    for host, address in zip(HOSTS, ADDRESSES):
        if os.path.exists(f"/run/netns/{host}"):
            sys.exit(f"far.py: there is a network namespace {host}: another far.py runs, or one was killed. If none runs: ip netns del {host}")
        run("ip", "netns", "add", host)
        made.append(host)
        files.append(open_tun(host))
        inside = ("ip", "netns", "exec", host)
        run(*inside, "ip", "link", "set", "lo", "up")
        run(*inside, "ip", "addr", "add", f"{address}/24", "dev", "far0")
        run(*inside, "ip", "link", "set", "far0", "mtu", str(LARGEST_PACKET), "txqueuelen", "10000", "up")
        run(*inside, "sysctl", "-qw", "net.ipv4.tcp_slow_start_after_idle=0")
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            os.nice(-19)  # a wire waits for no processor
            forward(files, delay, rate, parent)
        finally:
            os._exit(0)
    return child


def remove_hosts(child, made):
    for host in made:  # mpirun and the ranks, where this was told to stop
        found = subprocess.run(["ip", "netns", "pids", host], check=False, capture_output=True, text=True).stdout.split()
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    if child:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    for host in made:
        subprocess.run(["ip", "netns", "del", host], check=False, stderr=subprocess.DEVNULL)


def flags_for_mpi(folder):
    """Of Open MPI 4: one rank on each, over the interface alone; `agent` starts the other's."""
    agent = os.path.join(folder, "agent")
    with open(agent, "w", encoding="utf-8") as file:
        # mpirun calls: agent HOST COMMAND...
        file.write("#!/bin/sh\ncase $1 in\n")
        for host, address in zip(HOSTS, ADDRESSES):
            file.write(f"{address}) name={host} ;;\n")
        file.write('esac\nshift\nexec ip netns exec $name unshare --uts sh -c "hostname $name; $*"\n')
    os.chmod(agent, os.stat(agent).st_mode | stat.S_IXUSR)
    return ["--host", ",".join(f"{address}:1" for address in ADDRESSES), "--map-by", "node", "--bind-to", "none", "--allow-run-as-root",
            "--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self", "--mca", "pml", "ob1", "--mca", "btl_tcp_if_include", "far0", "--mca", "oob_tcp_if_include", "far0"]


def positive(text):
    value = float(text)
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"got {text}, expected a number above 0")
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--delay", type=positive, default=1e-3, help="seconds, one way")
    parser.add_argument("--rate", type=positive, default=1.25e8, help="bytes a second, each way")
    parser.add_argument("command", nargs="+", help="after --, or its options are taken for this one's")
    options = parser.parse_args()
    child, made = None, []
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda which, _: sys.exit(128 + which))  # by way of `finally`
    with tempfile.TemporaryDirectory() as folder:
        try:
            child = make_hosts(options.delay, options.rate, made)
            command = []
            for word in options.command:
                command += flags_for_mpi(folder) if word == "{far}" else [word]
            inside = f"hostname {HOSTS[0]}; exec {shlex.join(command)}"
            return subprocess.run(["ip", "netns", "exec", HOSTS[0], "unshare", "--uts", "sh", "-c", inside], check=False).returncode
        finally:
            remove_hosts(child, made)


if __name__ == "__main__":
    sys.exit(main())
