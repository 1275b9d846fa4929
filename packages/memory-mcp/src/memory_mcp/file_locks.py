"""Locks on open files, held until the file is closed or its process ends, however it ends."""

import sys

if sys.platform == "win32":
    import msvcrt

    def lock_file(file: int) -> bool:
        """Lock an open file for this process alone, unless another has it."""
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def lock_file(file: int) -> bool:
        """Lock an open file for this process alone, unless another has it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
