"""The parts of a training step: what each costs, and the table of them."""

from smorl.bench.stopwatch import Stopwatch

REST = "rest"  # copies, goals, rewards of the environment, Python between the parts
PLAYING = ("physics", "drawing", "encoding", "acting", "waiting")
PARTS = (*PLAYING, "relabelling", "updating", "fitting", REST)


def summary(watch: Stopwatch, steps: int, updates: int) -> dict:
    """Steps per second and the parts' milliseconds per environment step, wall-clock and CPU."""
    wall, cpu = sum(watch.seconds.values()), sum(watch.cpu.values())
    return {
        "env_steps": steps,
        "updates": updates,
        "updates_per_step": updates / steps,
        "env_steps_per_second": steps / wall,
        "ms_per_step": 1e3 * wall / steps,
        "cpu_ms_per_step": 1e3 * cpu / steps,
        "parts": {
            name: {
                "share": watch.seconds.get(name, 0.0) / wall,
                "ms_per_step": 1e3 * watch.seconds.get(name, 0.0) / steps,
                "cpu_ms_per_step": 1e3 * watch.cpu.get(name, 0.0) / steps,
            }
            for name in PARTS
        },
    }


def as_text(report: dict) -> str:
    """Return the report as tables for people."""
    rows = report["loops"] + report["reference"]
    lines = [
        f"{'whole loop':20}{'threads':>8}{'rows':>6}{'batch':>7}{'updates/step':>14}"
        f"{'steps/s':>9}{'ms/step':>9}{'by CPU':>9}"
    ]
    for row in rows:
        lines.append(
            f"{row['preset']:20}{row['threads']:>8}{row['rows']:>6}{row['batch']:>7}"
            f"{row['updates_per_step']:>14.2f}{row['env_steps_per_second']:>9.1f}"
            f"{row['ms_per_step']:>9.2f}{row['cpu_ms_per_step']:>9.2f}"
        )
    for title, unit, column in (
        ("share", "%", "share"),
        ("ms/step", "ms", "ms_per_step"),
        ("ms/step by CPU", "ms", "cpu_ms_per_step"),
    ):
        lines += ["", f"{title:20}{'threads':>8}" + "".join(f"{part:>13}" for part in PARTS)]
        for row in rows:
            values = (part[column] for part in row["parts"].values())
            cells = (f"{v:.1%}" if unit == "%" else f"{v:.3f}" for v in values)
            line = "".join(f"{cell:>13}" for cell in cells)
            lines.append(f"{row['preset']:20}{row['threads']:>8}{line}")
    lines.append("")
    for row in report["ratios"]:
        lines.append(
            f"{row['ratio']:.1f} times the steps/s of the released recipe at {row['threads']} "
            f"thread(s), {row['cpu_ratio']:.1f} times by CPU"
        )
    told = report["evaluation"]
    lines.append(
        f"an evaluation costs {told['ms_per_training_step']:.2f} ms per step of training besides, "
        f"{told['planning_ms_per_training_step']:.2f} of it choosing actions ({told['controller']})"
    )
    goals = ", ".join(f"{name} {value:g}" for name, value in report["goals"].items())
    return "\n".join([*lines, f"peak memory: {report['memory_gb']:.2f} GB", "", f"goals: {goals}"])
