# SPDX-License-Identifier: Apache-2.0
"""The `anello` command from its first instruction on: what Ctrl-C does before anything has begun, and which code
runs next. This module imports little, because everything it imports is loaded before Ctrl-C is handled."""

import os
import sys

# Otherwise NumPy's linear algebra library starts threads that spin while they wait, in addition to the engine's.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # pydantic need not search all packages for plug-ins
INTERRUPTED = 130  # the same value as in anello.system.exit_codes


def _stop(*_: object) -> None:
    """Ends the process at once: nothing has to be cleaned up, and libraries that are still loading print exceptions."""
    try:
        os.write(2, b"anello: stopped by Ctrl-C before anything began\n")
    finally:
        os._exit(INTERRUPTED)


try:
    import signal
    import time

    # otherwise the parent process wants SIGINT ignored
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
except KeyboardInterrupt:
    _stop()


def _again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Repeats a Ctrl-C that arrived where Python cannot raise KeyboardInterrupt, such as in a weak reference's
    callback, as soon as that code has returned."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        import _thread  # the module threading would wait here until the thread runs

        _thread.start_new_thread(_interrupt_soon, ())
    else:
        sys.__unraisablehook__(unraisable)


def _interrupt_soon() -> None:
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)


def main() -> int:
    """Returns the exit code."""
    sys.unraisablehook = _again
    code = INTERRUPTED
    try:
        code = _main()
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            # the command is done; only the interpreter still has to end
            signal.signal(signal.SIGINT, lambda *_: os._exit(code))
    return code


def _main() -> int:
    if sys.argv[1:3] == ["source", "--led"]:
        from anello.run import led_source

        return led_source.main(sys.argv[3:])
    from anello import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
