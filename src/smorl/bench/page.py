"""The live page under load: visitors without a browser who drag goals, for some minutes.

Each visitor connects as a browser does and takes in everything the page sends, and once a second a
goal moves. Reported are control steps a second of every visitor, processor time per step, and the
memory of the process over time, which must stay flat. The visitors run in the same process, so
their share is included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import threading
import time
from pathlib import Path

import msgspec
import numpy as np
import torch
import viser
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from smorl.bench import command
from smorl.envs.tabletop.checks import TABLE_HIGH, TABLE_LOW
from smorl.errors import InvalidInput
from smorl.page.agents import AS_TRAINED, Agents, setup_of
from smorl.page.casting import Seat
from smorl.page.requests import SPEEDS, Drag, Speed
from smorl.page.server import Page, PageSettings

AGENT = "shipped:visual-rearrange-2"
# What a browser sends first: from where it looks.
CAMERA: bytes = msgspec.msgpack.encode(
    {
        "type": "ViewerCameraMessage",
        "wxyz": (1.0, 0.0, 0.0, 0.0),
        "position": (0.0, 2.0, 1.0),
        "image_height": 600,
        "image_width": 800,
        "fov": 0.8,
        "near": 0.1,
        "far": 10.0,
        "look_at": (0.0, 0.5, 0.0),
        "up_direction": (0.0, 0.0, 1.0),
    }
)


def main(argv: list[str]) -> int:
    """Measure and report; return the exit code."""
    parser = argparse.ArgumentParser(prog="smorl bench page", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--visitors", type=int, default=1)
    parser.add_argument(
        "--speed",
        type=float,
        default=1.0,
        choices=SPEEDS,
        help="times the robot's 10 steps a second; more than a core can do shows what it can",
    )
    parser.add_argument("--agent", default=AGENT, help=f"default {AGENT}")
    parser.add_argument("--out", default=None, metavar="FILE", help="keep the report as JSON")
    args = parser.parse_args(argv)
    if args.minutes <= 0 or args.visitors < 1:
        raise InvalidInput("--minutes and --visitors must be above 0.")
    torch.set_num_threads(1)
    report = measure(args.agent, args.minutes, args.visitors, args.speed)
    text = json.dumps(report, indent=1)
    if args.out is not None:
        Path(args.out).parent.mkdir(parents=True, exist_ok=True)
        Path(args.out).write_text(text + "\n", "utf-8")
    sys.stdout.write(text + "\n")
    return 0


def measure(agent: str, minutes: float, visitors: int, speed: float = 1.0) -> dict:
    """Serve the page to `visitors` for `minutes`, all at one `speed`; return what was measured."""
    agents = Agents([agent])
    setup = setup_of(agents.run(agent).config.env)
    settings = PageSettings(port=0, visitors=visitors)
    page = Page(agents, Seat(agent, AS_TRAINED), setup, settings)
    stop = threading.Event()
    crowd = [
        threading.Thread(target=lambda: asyncio.run(_visit(page.address, stop)), daemon=True)
        for _ in range(visitors)
    ]
    for one in crowd:
        one.start()
    try:
        while len(page.sessions()) < visitors or not all(s.scene for s in page.sessions()):
            time.sleep(0.1)
        page.ask_everybody(Speed(speed))
        report = _watch(page, minutes)
    finally:
        stop.set()
        page.stop()
        agents.close()
    asked = {"agent": agent, "visitors": visitors, "speed": speed}
    return {"machine": command.machine(), **asked, **report}


def _watch(page: Page, minutes: float) -> dict:
    rng = np.random.default_rng(0)
    sessions = page.sessions()
    first = np.array([s.scene[0].steps for s in sessions])
    start, cpu, drags, memory = time.monotonic(), time.process_time(), 0, []
    while (spent := time.monotonic() - start) < 60 * minutes:
        if spent >= 10 * len(memory):
            memory.append([round(spent / 60, 2), round(_memory(), 1)])
        for session in sessions:
            place = rng.uniform(TABLE_LOW, TABLE_HIGH)
            index = int(rng.integers(session.setup.pucks))
            session.ask(Drag("goal", index, (float(place[0]), float(place[1])), last=True))
            drags += 1
        time.sleep(1.0)
    steps = np.array([s.scene[0].steps for s in sessions]) - first
    return {
        "minutes": round(spent / 60, 2),
        "steps": steps.tolist(),
        "steps_per_second": (steps / spent).round(2).tolist(),
        "cpu_ms_per_step": round(1e3 * (time.process_time() - cpu) / max(1, steps.sum()), 1),
        "goals_moved": drags,
        "memory_mb_by_minute": memory,
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def connected(address: str) -> connect:
    """Connect to a page as a browser does; it must then send its camera."""
    protocol = Subprotocol(f"viser-v{viser.__version__}")
    return connect(address.replace("http", "ws", 1), subprotocols=[protocol], max_size=None)


async def _visit(address: str, stop: threading.Event) -> None:
    """Come like a browser, and take in what is sent until told to stop."""
    async with connected(address) as socket:
        await socket.send(CAMERA)
        while not stop.is_set():
            try:
                await asyncio.wait_for(socket.recv(), timeout=1.0)
            except TimeoutError:
                continue
            except ConnectionClosed:  # the page is stopped before we are
                return


def _memory() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20
