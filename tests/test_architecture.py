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
    "errors", "files", "formats", "ranges", "plugins", "images", "field_types", "config",
    "explain", "settings_file", "seeding", "types", "shipped", "envs", "runs", "goals",
    "representations", "replay", "dynamics", "learners", "planning", "evaluation", SCALOR_TRAINING,
    "methods", "training", "trained", "visualise", "studies", "presets", "paper",
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
