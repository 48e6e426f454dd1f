"""The import arrows of docs/architecture.md, read from the source with `ast`."""

import ast
from pathlib import Path

import pytest

import smorl

ROOT = Path(smorl.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py"))

# What each part of the package may import of the others. Parts not listed are at the top and may
# import anything; nothing below imports them.
MAY_IMPORT = {
    "errors": set(),
    "config": {"errors"},
    "seeding": {"errors"},
    "types": {"errors"},
    "envs": {"errors", "seeding"},
    "goals": {"errors", "seeding", "types"},
    "replay": {"errors", "seeding", "types", "goals"},
    "agents": {"errors", "seeding", "types", "goals", "replay"},
    "shipped": {"errors"},
    "perception": {"errors", "config", "seeding", "types", "envs", "shipped"},
    "evaluation": {
        "errors", "seeding", "types", "envs", "goals", "replay", "agents", "perception",
    },
    "training": {
        "errors", "config", "seeding", "types", "envs", "goals", "replay", "agents", "perception",
        "evaluation", "methods", "shipped",
    },
    "analysis": {
        "errors", "seeding", "types", "envs", "goals", "perception", "evaluation", "methods",
        "training",
    },
    "figures": {"errors"},
    "reproduction": {"errors", "config", "presets", "training", "figures"},
}  # fmt: skip
FORBIDDEN_LIBRARIES = {
    "envs": {"torch", "sklearn", "matplotlib"},
    "errors": {"torch", "mujoco", "gymnasium", "numpy"},
    "goals": {"mujoco", "gymnasium"},
    "replay": {"mujoco", "gymnasium"},
    "agents": {"mujoco", "gymnasium"},
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
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def parts_imported(path: Path) -> set[str]:
    known = {part_of(module) for module in MODULES}
    names = {name.split(".")[1] for name in imports(path) if name.startswith("smorl.")}
    return names & known


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_arrows_point_down(path):
    part = part_of(path)
    if part in MAY_IMPORT:
        extra = parts_imported(path) - MAY_IMPORT[part] - {part}
        assert not extra, f"{part} must not import {sorted(extra)}"
    libraries = {name.split(".")[0] for name in imports(path)}
    bad = libraries & FORBIDDEN_LIBRARIES.get(part, set())
    assert not bad, f"{part} must not import {sorted(bad)}"


def test_agents_know_neither_simulator_nor_perception():
    for path in (ROOT / "agents").rglob("*.py"):
        assert not parts_imported(path) & {"envs", "perception"}, path


def test_the_check_sees_imports_inside_functions(tmp_path):
    source = tmp_path / "module.py"
    source.write_text("def f():\n    from smorl.envs import scene\n    import torch.nn\n")
    assert {"smorl.envs", "smorl.envs.tabletop.scene", "torch.nn"} <= imports(source)


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
