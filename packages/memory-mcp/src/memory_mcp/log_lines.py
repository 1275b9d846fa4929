"""Log lines of the command line: on stderr, short unless more is asked for."""

import logging


class OneLine(logging.Formatter):
    """A record without its traceback."""

    def formatException(self, ei: object) -> str:
        """Return nothing: the message has to do."""
        return ""


def log_to_stderr(verbose: bool) -> None:
    """Show warnings in one line each, or everything from INFO up with tracebacks."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        logging.Formatter("%(levelname)s %(name)s: %(message)s") if verbose else OneLine("%(message)s")
    )
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler], force=True)
