"""`smorl analyse clusters|mig`: what the learned representations are like (App. A of the paper)."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from smorl.cli.options import check_numbers
from smorl.errors import InvalidInput, did_you_mean

_ANALYSES = {
    "clusters": "do detections of one object look alike, and of different ones different?",
    "mig": "do single numbers stand for single places of pucks? SCALOR against VAEs",
}
_DEFAULT = "shipped:scalor-3"
_BULK = ("plane", "colour", "cluster", "identity", "examples", "made")  # for the file only


def main(argv: list[str]) -> int:
    """Run one analysis with the remaining arguments; return the exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        lines = "".join(f"  {name:<10}{line}\n" for name, line in _ANALYSES.items())
        sys.stdout.write(f"usage: smorl analyse <name> [options]\n\nanalyses:\n{lines}")
        return 0
    name, words = argv[0], argv[1:]
    if name not in _ANALYSES:
        hint = did_you_mean(name, _ANALYSES)
        raise InvalidInput(f"no analysis called {name!r}; use {', '.join(_ANALYSES)}.{hint}")
    parser = _clusters_parser() if name == "clusters" else _mig_parser()
    args = parser.parse_args(words)
    # Imported here so that `--help` answers at once.
    from smorl.paper.files import check_figures, read_report, write_report

    outs = check_figures(args.out)
    if args.source is not None:
        report = read_report(Path(args.source), name)
    else:
        _check(args)
        command = shlex.join(["smorl", "analyse", *argv])
        report = {"analysis": name, **_run(name, args), "made": _made(command)}
    if args.keep is not None:
        write_report(Path(args.keep), report)
        sys.stderr.write(f"Report: {args.keep}\n")
    shown = {key: value for key, value in report.items() if key not in _BULK}
    text = json.dumps(shown) + "\n" if args.json else _said(name, report)
    sys.stdout.write(text)
    for path in _draw(name, report, outs):
        sys.stderr.write(f"Figure: {path}\n")
    return 0


def _run(name: str, args: argparse.Namespace) -> dict[str, Any]:
    import torch

    from smorl.representations.perceptions import load_perception
    from smorl.studies.footage import record

    torch.set_num_threads(args.threads)
    names = args.perception if name == "mig" else [args.perception]
    weights = [load_perception(one) for one in names]
    env = args.env or weights[0].env
    footage = record(env, args.episodes, args.steps, args.seed, args.threads)
    context = {"env": env, "seed": args.seed, "episodes": len(footage), "steps": args.steps}
    if name == "mig":
        from smorl.studies.mig import analyse_mig

        return context | analyse_mig(footage, names, args.vae, args.bins, _progress)
    from smorl.studies.clusters import analyse_clusters
    from smorl.studies.sightings import watch

    sightings, images = watch(weights[0].tracker(), footage, True, _progress)
    found = analyse_clusters(
        sightings, images, footage, points=args.points, clusters=args.clusters, raw=args.raw
    )
    return {"perception": names[0], **context, **found}


def _draw(name: str, report: dict[str, Any], outs: list[Path]) -> list[Path]:
    if not outs:
        return []
    from smorl.paper.figures.clusters import draw_clusters
    from smorl.paper.figures.mig import draw_mig

    return (draw_clusters if name == "clusters" else draw_mig)(report, outs)


def _said(name: str, report: dict[str, Any]) -> str:
    return _said_of_clusters(report) if name == "clusters" else _said_of_mig(report)


def _said_of_clusters(report: dict[str, Any]) -> str:
    from smorl.cli.options import aligned

    names = ("points", "clusters", "purity", "adjusted_rand", "purity_with_false",
             "adjusted_rand_with_false", "plane_agreement")  # fmt: skip
    lines = [f"{'cluster':<9}" + "".join(f"{name:>9}" for name in report["names"])]
    for number, row in enumerate(report["table"], 1):
        lines.append(f"{number:<9}" + "".join(f"{count:>9}" for count in row))
    return "\n".join(lines) + "\n\n" + aligned({name: report[name] for name in names})


def _said_of_mig(report: dict[str, Any]) -> str:
    width = max(len(model["model"]) for model in report["models"])
    lines = [
        f"{'':<8}{'model':<{width}}  {'gap':>6}  {'chance [nats]':>13}  {'probe [cm]':>10}  blind"
    ]
    for model in report["models"]:
        told, blind = (100 * sum(model[k]) / len(model[k]) for k in ("probe", "probe_blind"))
        numbers = f"{model['mig']:>6.3f}  {model['chance']:>13.3f}  {told:>10.1f}  {blind:>5.1f}"
        lines.append(f"{model['kind']:<8}{model['model']:<{width}}  {numbers}")
    for kind, row in report["summary"].items():
        lines.append(
            f"{kind}: {row['mean']:.3f}, deviation {row['deviation']:.3f} over {row['models']}"
        )
    return "\n".join(lines) + "\n"


def _made(command: str) -> dict[str, Any]:
    from smorl.runs.versions import current_versions

    return current_versions(command)


def _check(args: argparse.Namespace) -> None:
    check_numbers(args)


def _progress(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"{done}/{total} {what}" + ("\r" if done < total else "\n"))
        sys.stderr.flush()


def _clusters_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl analyse clusters",
        description="Track random episodes, cluster the appearance of detections by k-means, and "
        "compare the clusters with what the simulator says is there: purity and adjusted Rand "
        "index over pucks and arm. The figure shows the first two principal components, points in "
        "the mean colour of their foreground, markers by true identity.",
    )
    parser.add_argument(
        "--perception", default=_DEFAULT, help=f"run or weights file (default {_DEFAULT})"
    )
    parser.add_argument("--points", type=int, default=3000, help="detections (default 3000)")
    parser.add_argument("--clusters", type=int, help="default: pucks and one for the arm")
    parser.add_argument(
        "--raw",
        action="store_true",
        help="cluster z^what as inferred from one frame, not the normalised and smoothed "
        "appearance that matching compares",
    )
    _common(parser, episodes=50, steps=20)
    return parser


def _mig_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl analyse mig",
        description="Mutual information gap of SCALOR's positions (ordered by cluster of "
        "appearance, zeros where one is missing) and of VAE latents, about the true places of "
        "pucks, on the same random episodes; and the mutual information matrix of SCALOR. The "
        "probe reads the places of pucks from the whole code, by its nearest neighbours in other "
        "episodes: how far off it is, and without any code (blind).",
    )
    parser.add_argument(
        "--perception", nargs="+", default=[_DEFAULT], metavar="P", help=f"default {_DEFAULT}"
    )
    parser.add_argument(
        "--vae", nargs="+", default=[], metavar="V", help="runs of rig-* or skewfit-*, VAE files"
    )
    parser.add_argument("--bins", type=int, default=20, help="of the histograms (default 20)")
    _common(parser, episodes=1000, steps=10)
    return parser


def _common(parser: argparse.ArgumentParser, episodes: int, steps: int) -> None:
    parser.add_argument("--env", help="another environment than the perception's own")
    parser.add_argument("--episodes", type=int, default=episodes, help=f"default {episodes}")
    parser.add_argument("--steps", type=int, default=steps, help=f"of each (default {steps})")
    parser.add_argument("--seed", type=int, default=0, help="decides everything (default 0)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    parser.add_argument("--json", action="store_true", help="print the numbers as one line of JSON")
    parser.add_argument("--out", nargs="+", default=[], metavar="F", help="draw to .png and .pdf")
    parser.add_argument("--keep", metavar="F.json", help="write numbers and points to this file")
    parser.add_argument(
        "--from", dest="source", metavar="F.json", help="only draw and print such a file"
    )
