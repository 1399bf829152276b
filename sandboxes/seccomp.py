"""The system calls a room may not make.

Everything is allowed but what reaches past the room: mounting, new namespaces, the kernel's keys, loadable
code, other machines' clocks and power, and interfaces known mostly for their holes. Refused calls fail
with EPERM ("not permitted"), so that programs which probe for them go on without.
Tracing one's own processes stays allowed: debuggers and coverage tools of test suites need it.
"""

from __future__ import annotations

import errno
import json
import platform
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

_DENIED = (
    # file systems
    "mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick",
    "move_mount", "open_tree", "mount_setattr", "swapon", "swapoff", "quotactl", "quotactl_fd", "nfsservctl",
    "open_by_handle_at", "name_to_handle_at", "fanotify_init", "mknod", "mknodat",
    # namespaces
    "unshare", "setns",
    # keys, programs in the kernel, and watching it
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "lookup_dcookie", "kcmp", "syslog",
    "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "vmsplice",
    "process_vm_writev", "process_madvise", "pidfd_getfd",
    # the machine
    "init_module", "finit_module", "delete_module", "create_module", "query_module", "get_kernel_syms",
    "kexec_load", "kexec_file_load", "reboot", "acct", "settimeofday", "stime", "adjtimex", "clock_settime",
    "clock_adjtime", "sethostname", "setdomainname", "iopl", "ioperm", "vhangup", "uselib", "ustat", "sysfs",
    "_sysctl", "vm86", "vm86old", "modify_ldt", "move_pages", "mbind", "set_mempolicy", "migrate_pages",
)  # fmt: skip
_FOR_NODES = ("mknod", "mknodat")
_CLONE_NEW = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x00000080)
"""New mount, cgroup, uts, ipc, user, pid, network and time namespaces."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FAMILIES = (16 + 1, 38, 40)
"""AF_PACKET, AF_ALG, AF_VSOCK: raw frames, the kernel's ciphers, the host of a virtual machine."""
_ARCHITECTURES = {
    "x86_64": ("SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"),
    "aarch64": ("SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"),
    "riscv64": ("SCMP_ARCH_RISCV64",),
}


def call_filter(info: Mapping[str, Any], *, tracing: bool = True) -> str:
    """The profile as JSON for an engine that describes itself by `info`; empty where it cannot take one: no
    seccomp there, Podman (which wants a file of its own), or an engine that knows no errno of our choosing,
    without which no program of a newer libc starts a thread. Without `tracing`, no process may trace another:
    where the room's init is of the same user, who traces it decides what it exits with."""
    version = tuple(int(part) for part in re.findall(r"\d+", str(info.get("ServerVersion", "")))[:3])
    filters = any("name=seccomp" in str(option) for option in info.get("SecurityOptions") or ())
    if "BuildahVersion" in info or not filters or version < _KNOWS_ERRNO:
        return ""
    made = profile(str(info.get("Architecture", "")))
    rules = made["syscalls"] if tracing else [*made["syscalls"], _refuse(["ptrace", "process_vm_readv"])]
    return json.dumps({**made, "syscalls": rules})


_KNOWS_ERRNO = (20, 10, 10)
"""The first Docker Engine that takes `errnoRet`."""


@cache
def profile(machine: str = "") -> dict[str, Any]:
    """The profile as an OCI runtime wants it (`linux.seccomp`); for this machine when none is named."""
    families = _ARCHITECTURES.get(machine or platform.machine(), ())
    plain = [name for name in _DENIED if name not in _FOR_NODES]
    rules: list[dict[str, Any]] = [_refuse(plain)]
    rules.append(_refuse(["clone3"], errno.ENOSYS))  # its flags cannot be looked at; clone serves instead
    rules += [_refuse(["clone"], when=_has_flag(0, flag)) for flag in _CLONE_NEW]
    rules += [_refuse(["ioctl"], when=_equals(1, request)) for request in (_TIOCSTI, _TIOCLINUX)]
    rules += [_refuse(["socket"], when=_equals(0, family)) for family in _FAMILIES]
    # a pipe or socket is a node too and harmless; character and block devices are not
    for name, argument in (("mknod", 1), ("mknodat", 2)):
        rules += [_refuse([name], when=_kind(argument, kind)) for kind in (0o020000, 0o060000)]
    return {"defaultAction": "SCMP_ACT_ALLOW", "architectures": list(families), "syscalls": rules}


def _refuse(names: list[str], code: int = errno.EPERM, when: dict[str, Any] | None = None) -> dict[str, Any]:
    rule: dict[str, Any] = {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": code}
    if when:
        rule["args"] = [when]
    return rule


def _equals(index: int, value: int) -> dict[str, Any]:
    return {"index": index, "value": value, "op": "SCMP_CMP_EQ"}


def _has_flag(index: int, flag: int) -> dict[str, Any]:
    return {"index": index, "value": flag, "valueTwo": flag, "op": "SCMP_CMP_MASKED_EQ"}


def _kind(index: int, kind: int) -> dict[str, Any]:
    return {"index": index, "value": 0o170000, "valueTwo": kind, "op": "SCMP_CMP_MASKED_EQ"}
