"""The import arrows of docs/architecture.md, read from the source with `ast`."""

import ast
import re
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

import smorl
from smorl.methods import Method

ROOT = Path(smorl.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py"))

# The rooms from the ground up: a part imports only parts named before it. SCALOR's training is a
# room of its own, above the evaluation it ends with, and so is what measures its speed.
SCALOR = "representations.scalor"
SCALOR_TRAINING, SCALOR_BENCH = f"{SCALOR}.training", f"{SCALOR}.bench"
ORDER = [
    "errors", "files", "formats", "ranges", "machine_code", "devices", "plugins", "images",
    "field_types", "config", "explain", "settings_file", "seeding", "types", "shipped", "envs",
    "runs", "goals", "representations", "replay", "dynamics", "learners", "planning", "evaluation",
    SCALOR_TRAINING, "methods", "training", "trained", "visualise", "studies", "presets", "paper",
    "cluster", "library", "page", "bench", SCALOR_BENCH, "cli",
]  # fmt: skip
TOP = {"__init__", "__main__"}
# Below these parts an arrow that points down is still one too many.
NEVER = {
    "types": {"config", "seeding"},
    "envs": {"config", "shipped"},
    "runs": {"types", "shipped", "envs"},
    "goals": {"config", "shipped", "envs", "runs"},
    "replay": {"envs", "representations"},
    "learners": {"envs", "representations"},
    "planning": {"envs"},
}
FORBIDDEN_LIBRARIES = {
    "envs": {"torch", "sklearn", "matplotlib"},
    "errors": {"torch", "mujoco", "gymnasium", "numpy"},
    "goals": {"mujoco", "gymnasium"},
    "replay": {"mujoco", "gymnasium"},
    "learners": {"mujoco", "gymnasium"},
    "planning": {"mujoco", "gymnasium"},
    "runs": {"mujoco", "gymnasium"},
}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> set[str]:
    """Every module a file imports, wherever in the file, as dotted names."""
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: use absolute imports"
            base = node.module or ""
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return found


def part_of(path: Path) -> str:
    """The first name below `smorl`: a folder, or a module of the package itself."""
    return part_named(".".join(path.relative_to(ROOT).with_suffix("").parts))


def part_named(name: str) -> str:
    own = (room for room in (SCALOR_TRAINING, SCALOR_BENCH) if name.startswith(room))
    return next(own, name.split(".")[0])


def parts_imported(path: Path) -> set[str]:
    names = {name for name in imports(path) if name.startswith("smorl.")}
    return {part_named(name.removeprefix("smorl.")) for name in names} & PARTS


PARTS = {part_of(module) for module in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_arrows_point_down(path):
    part = part_of(path)
    if part not in TOP:
        below = set(ORDER[: ORDER.index(part)]) - NEVER.get(part, set())
        extra = parts_imported(path) - below - {part}
        assert not extra, f"{part} must not import {sorted(extra)}"
    libraries = {name.split(".")[0] for name in imports(path)}
    bad = libraries & FORBIDDEN_LIBRARIES.get(part, set())
    assert not bad, f"{part} must not import {sorted(bad)}"


def test_the_check_sees_imports_inside_functions(tmp_path):
    source = tmp_path / "module.py"
    source.write_text("def f():\n    from smorl.envs.tabletop import scene\n    import torch.nn\n")
    assert {"smorl.envs.tabletop", "smorl.envs.tabletop.scene", "torch.nn"} <= imports(source)


def test_no_unpickling_and_no_print():
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            assert name not in {"print", "torch.load", "torch.save", "pickle.load"}, path
            for keyword in node.keywords:
                allows = keyword.arg == "allow_pickle" and ast.unparse(keyword.value) == "True"
                assert not allows, path


def rooms_without(*folders: str) -> list[Path]:
    """Every module that lies in none of these folders (or is none of these files)."""
    return [p for p in MODULES if not any(p.is_relative_to(ROOT / f) for f in folders)]


def test_scalor_is_known_to_its_table_and_to_presets_only():
    """Everybody else knows the contracts of representations/base.py and pretraining.py."""
    own = SCALOR.replace(".", "/")
    for path in rooms_without(own, "presets"):
        named = {name for name in imports(path) if name.startswith(f"smorl.{SCALOR}")}
        assert not named, f"{path} imports {sorted(named)}"
    # Named as text, to be imported when asked for: the kinds of perceptions, the benchmark's verb.
    tables = {ROOT / "representations/perceptions.py", ROOT / "cli/bench.py"}
    texts = {path for path in rooms_without(own) if f'"smorl.{SCALOR}' in path.read_text()}
    assert texts == tables


def test_nothing_outside_envs_touches_a_world():
    for path in rooms_without("envs"):
        for node in ast.walk(tree_of(path)):
            assert not (isinstance(node, ast.Attribute) and node.attr == "world"), path


def test_nobody_writes_down_how_long_an_action_is():
    """Made-up data of benchmarks has some length; everything else asks the spaces."""
    written = re.compile(r"\b\w*(actions?|ACTIONS?)(: int)? = [1-9]")
    for path in rooms_without("bench"):
        assert not written.search(path.read_text()), path


def test_the_loop_does_not_ask_what_a_method_sees():
    asked = {"pixels", "latent", "latents", "visual", "needs_perception", "trains_vae"}
    for name in ("loop", "collector", "ahead", "acting", "updates", "foresight", "random_data"):
        for node in ast.walk(tree_of(ROOT / f"training/{name}.py")):
            assert not (isinstance(node, ast.Attribute) and node.attr in asked), name
    assert not {"pixels", "latents"} & {field.name for field in fields(Method)}


DOCS = Path(__file__).parents[1] / "docs"
MAP = (DOCS / "architecture.md").read_text()


def rooms_on_the_map() -> dict[str, set[str]]:
    """What docs/architecture.md says is in each folder; rooms stand two spaces in, or four."""
    rooms: dict[str, set[str]] = {}
    room = inner = ""
    for line in MAP.split("```")[1].splitlines()[2:]:
        depth, head = len(line) - len(line.lstrip()), line.split()[0]
        folder = head if head.endswith("/") else ""
        if depth == 2:
            room, inner = folder, ""
        elif depth == 4:
            inner = folder
        rooms.setdefault(room + inner, set()).update(re.findall(r"\w+", line))
    return rooms


def test_every_module_is_on_the_map_and_rooms_stand_in_their_order():
    rooms, perception = rooms_on_the_map(), (DOCS / "perception.md").read_text()
    named = [path for path in rooms_without("cli") if not path.stem.startswith("__")]
    scalor = ROOT / SCALOR.replace(".", "/")
    for path in named:
        if path.is_relative_to(scalor):
            assert f"{path.name}`" in perception, f"{path.name} is not on the map of perception"
            continue
        folder = path.parent.relative_to(ROOT).as_posix()
        known = rooms["" if folder == "." else f"{folder}/"]
        assert path.stem in known, f"{path} is not on the map of docs/architecture.md"
    top = [room.rstrip("/") for room in rooms if room.count("/") == 1]
    assert top == [part for part in ORDER if part in top]
    assert set(top) == {p.parent.name for p in ROOT.glob("*/__init__.py")}


def test_walks_and_contracts_lead_to_files_and_classes_that_are_there():
    walks = MAP.split("## Five walks")[1].split("\n## ")[0]
    assert len(re.findall(r"^\*\*From ", walks, re.MULTILINE)) == 5
    names = {path.relative_to(ROOT).as_posix() for path in MODULES}
    for path in re.findall(r"`([\w/]+\.py)`", MAP):
        there = any(f"/{name}".endswith(f"/{path}") for name in names)
        assert there or (DOCS.parent / path).is_file(), path
    rows = MAP.split("## The contracts")[1].split("\n## ")[0].splitlines()
    homes = [row.split("|")[1:3] for row in rows if row.startswith("| ") and ".py" in row]
    assert len(homes) >= 7
    for contracts, home in homes:
        tree = tree_of(ROOT / home.strip(" `"))
        classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
        assert set(re.findall(r"`(\w+)`", contracts)) <= classes, home
