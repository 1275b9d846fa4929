"""What of the environment a started program sees: an allow-list, so that no secret of the host leaks by default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

TRIGGER_VARIABLE = "MEMORY_TRIGGER_SOURCE"

# What programs need to run at all, to find their own files, and to reach the network where it takes a proxy.
USUAL = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "TMPDIR",
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        "SystemRoot",
        "SystemDrive",
        "ComSpec",
        "PATHEXT",
        "USERPROFILE",
        "APPDATA",
        "LOCALAPPDATA",
        "PROGRAMDATA",
        "TEMP",
        "TMP",
    ]
)


def allowed_environment(
    environ: Mapping[str, str], also: Iterable[str] = (), *, trigger_source: str = ""
) -> dict[str, str]:
    """Return the usual variables and those named, and which trigger a program runs for.

    A hook that stores sessions as episodes can see from the trigger that this one is not to be stored.
    """
    names = USUAL | set(also)
    return {name: value for name, value in environ.items() if name in names} | {TRIGGER_VARIABLE: trigger_source}
