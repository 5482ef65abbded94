"""What can end a command, what it says then, and the exit codes, which are those of sort-render and two more."""

import sys

DONE = 0
FAILED = 1
USAGE = 2
DAMAGED = 3
GO_ON = 4  # interrupted: what was rendered is in a checkpoint, and the same command goes on
UNFINISHED = 5  # nothing has failed, but work is left

MEANING = {
    DONE: "done",
    FAILED: "failed: the message names the file, the place and the reason; or, of status, tasks have failed",
    USAGE: "the command line is invalid, or does not fit the farm; nothing was changed",
    DAMAGED: "done, but textures are missing or damaged or shaders had faults, which the plan allows (--missing magenta)",
    GO_ON: "interrupted; what was rendered is in a checkpoint: start the same task again to go on",
    UNFINISHED: "nothing has failed, but work is left",
}


class FarmError(Exception):
    """A reason that names the file and the place; `code` is the exit code."""

    def __init__(self, text: str, code: int = FAILED) -> None:
        super().__init__(text)
        self.code = code


def tell(text: str) -> None:
    """Says it to whoever listens: a terminal that was closed is no reason to stop."""
    try:
        print(f"sort-farm: {text}", file=sys.stderr, flush=True)
    except OSError:
        pass
