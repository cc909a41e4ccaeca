# SPDX-License-Identifier: Apache-2.0
"""The `anello` command, from its first instruction on: what Ctrl-C does before anything has begun, and which way leads
on. What is loaded here is loaded before that, so it is little."""

import os
import sys

# Else numpy's library for linear algebra starts threads that turn while they wait, beside those of the engine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it need not look through all packages for some
INTERRUPTED = 130  # as anello.system.exit_codes has it


def _stop(*_: object) -> None:
    """At once: nothing is to be put in order, and libraries that are being loaded print what is raised in them."""
    try:
        os.write(2, b"anello: stopped by Ctrl-C before anything began\n")
    finally:
        os._exit(INTERRUPTED)


try:
    import signal
    import time

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else whoever started us wants it ignored
        signal.signal(signal.SIGINT, _stop)
except KeyboardInterrupt:
    _stop()


def _again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C where Python cannot raise a KeyboardInterrupt, as in a weak reference's callback, comes once more when
    that is over."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        import _thread  # threading waits here until the thread runs

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
            signal.signal(signal.SIGINT, lambda *_: os._exit(code))  # all is done; only the interpreter has to end
    return code


def _main() -> int:
    if sys.argv[1:3] == ["source", "--led"]:
        from anello.run import led_source

        return led_source.main(sys.argv[3:])
    from anello import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
