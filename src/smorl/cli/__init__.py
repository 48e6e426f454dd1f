"""The `smorl` command: one verb per module, imported only when it is used."""

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from smorl.errors import InvalidInput, SmorlError, did_you_mean

# verb -> (module, one line). Kept as strings so that `smorl --help` answers at once.
VERBS: dict[str, tuple[str, str]] = {
    "envs": ("smorl.cli.envs", "list the environments"),
    "play": ("smorl.cli.play", "run a simple policy in an environment and record a video"),
    "demo": ("smorl.cli.demo", "watch a trained agent rearrange the table, from pixels"),
    "view": ("smorl.cli.view", "a live page: drag a goal and watch an agent chase it"),
    "presets": ("smorl.cli.presets", "list training presets, or print one as JSON"),
    "train": ("smorl.cli.train", "train an agent from a preset; run again to resume"),
    "evaluate": ("smorl.cli.evaluate", "evaluate a trained run on fixed episodes"),
    "gap": ("smorl.cli.gap", "which part of perception costs how much of an agent's result"),
    "export": ("smorl.cli.export", "an agent in one small file, or episodes as a data set"),
    "study": ("smorl.cli.study", "what settings and parts of the tracker are worth; other studies"),
    "analyse": ("smorl.cli.analyse", "what representations are like: `clusters`, `mig`"),
    "perception": ("smorl.cli.perception", "objects from pixels: train, evaluate, show and more"),
    "results": ("smorl.cli.results", "a table of finished runs; keep them for the record"),
    "curves": ("smorl.cli.curves", "draw learning curves from runs or committed results"),
    "figures": ("smorl.cli.figures", "draw the figures of the paper; write the page of claims"),
    "reproduce": ("smorl.cli.reproduce", "make a figure of the paper: plan, run, keep, draw"),
    "sweep": ("smorl.cli.sweep", "many runs of a preset, settings varied by grid or search"),
    "bench": ("smorl.cli.bench", "measure speed here: everything, or one part (`bench loop`)"),
}


def usage() -> str:
    """Return the text of `smorl --help`."""
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {verb:<{width}}  {line}" for verb, (_, line) in VERBS.items())
    return (
        "usage: smorl <verb> [options]\n\n"
        "Self-supervised multi-object visual RL: discover objects, set goals, rearrange.\n\n"
        f"verbs:\n{verbs}\n\n"
        "`smorl <verb> --help` explains a verb. --trust MODULE lets any of them use Python code "
        "that a run\nor a file of settings names (docs/extending.md). Start with `smorl demo`, "
        "then `smorl train visual-rearrange-1`.\n"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; return the exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    if not args or args[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0
    if args[0] == "--version":
        from importlib.metadata import version

        sys.stdout.write(f"smorl {version('smorl')}\n")
        return 0
    verb = args[0]
    if verb not in VERBS:
        hint = did_you_mean(verb, VERBS)
        sys.stderr.write(f"smorl: unknown verb {verb!r}.{hint} `smorl --help` lists the verbs.\n")
        return 2
    try:
        _point_to_glfw()
        words = _trusting(_filled(args[1:]))
        code = int(importlib.import_module(VERBS[verb][0]).main(words) or 0)
        sys.stdout.flush()
        return code
    except SmorlError as error:
        return _say(verb, str(error))
    except KeyboardInterrupt:
        return _say(verb, "stopped. What was saved before is whole.", 130)
    except BrokenPipeError:  # `smorl presets | head`
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  what is left has no reader
        return 0
    except MemoryError:
        return _say(verb, "not enough memory; choose smaller settings.")
    except OSError as error:  # e.g. a full disk behind `>`
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  or the rest would fail again at exit
        name = f" {error.filename}" if error.filename else ""
        return _say(verb, f"the system says about{name or ' a file'}: {error.strerror or error}.")


def _point_to_glfw() -> None:
    """Say where GLFW is, which comes with MuJoCo, unless somebody has said so.

    It would ask a child process, which shows a traceback of its own when a signal ends both.
    """
    names = ("PYGLFW_LIBRARY", "PYGLFW_LIBRARY_VARIANT")
    if any(os.environ.get(name) for name in names) or sys.platform != "linux":
        return
    if os.environ.get("XDG_SESSION_TYPE") == "wayland":
        return
    spec = importlib.util.find_spec("glfw")
    for folder in (spec and spec.submodule_search_locations) or ():
        library = Path(folder, "x11", "libglfw.so")
        if library.is_file():
            os.environ["PYGLFW_LIBRARY"] = str(library)


def _filled(words: list[str]) -> list[str]:
    """Refuse empty words: mostly a variable of the shell that was not set, and never a name."""
    for before, word in zip(["", *words], words, strict=False):
        if not word:
            after = f" after {before}" if before else ""
            raise InvalidInput(f"there is an empty word ''{after}; fill it in, or leave it out.")
    return words


def _trusting(words: list[str]) -> list[str]:
    """Take `--trust MODULE` out of any verb's words; it and the parts they name may be imported."""
    from smorl.plugins import trust, trust_command_line

    rest: list[str] = []
    left = iter(words)
    for word in left:
        option, given, module = word.partition("=")
        if option != "--trust":
            rest.append(word)
            continue
        module = module if given else next(left, "")
        if not module:
            raise InvalidInput("--trust needs the name of a module, e.g. --trust parts.py.")
        trust(module)
    trust_command_line(rest)
    return rest


def _say(verb: str, text: str, code: int = 2) -> int:
    sys.stderr.write(f"smorl {verb}: {text}\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
