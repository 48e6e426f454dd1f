"""The import arrows of docs/architecture.md, read from the source with `ast`."""

import ast
from pathlib import Path

import pytest

import smorl

ROOT = Path(smorl.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py"))

# The rooms from the ground up: a part imports only parts named before it. SCALOR's training is a
# room of its own, above the evaluation it ends with.
SCALOR_TRAINING = "representations.scalor.training"
ORDER = [
    "errors", "files", "formats", "ranges", "plugins", "images", "config", "explain",
    "settings_file", "seeding", "types", "shipped", "envs", "runs", "goals", "representations",
    "replay", "dynamics", "learners", "planning", "evaluation", SCALOR_TRAINING,
    "methods", "training", "trained", "visualise", "studies", "presets", "paper",
    "cluster", "library", "page", "bench", "cli",
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


def imports(path: Path) -> set[str]:
    """Every module a file imports, wherever in the file, as dotted names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
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
    return SCALOR_TRAINING if name.startswith(SCALOR_TRAINING) else name.split(".")[0]


def parts_imported(path: Path) -> set[str]:
    known = {part_of(module) for module in MODULES}
    names = {name for name in imports(path) if name.startswith("smorl.")}
    return {part_named(name.removeprefix("smorl.")) for name in names} & known


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
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            assert name not in {"print", "torch.load", "torch.save", "pickle.load"}, path
            for keyword in node.keywords:
                allows = keyword.arg == "allow_pickle" and ast.unparse(keyword.value) == "True"
                assert not allows, path
