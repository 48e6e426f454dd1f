"""Configs: exact JSON round trip, strict reading, differences, and overrides from text."""

import json
from dataclasses import dataclass, field, replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smorl.config import diff, from_json, override, paths, to_json
from smorl.errors import InvalidInput


@dataclass(frozen=True)
class Attention:
    kind: Literal["attention"] = "attention"
    heads: int = 3
    key_size: int = 16


@dataclass(frozen=True)
class DeepSets:
    kind: Literal["deep-sets"] = "deep-sets"
    width: int = 128
    masked: bool = True


@dataclass(frozen=True)
class Clip:
    norm: float = 1.0


@dataclass(frozen=True)
class Agent:
    lr: float = 1e-3
    hidden: tuple[int, ...] = (128, 128)
    torso: Attention | DeepSets = field(default_factory=Attention)
    activation: Literal["relu", "elu"] = "relu"
    temperature: float | Literal["auto"] = "auto"
    clip: Clip | None = None
    box: tuple[float, float] = (-0.2, 0.2)


@dataclass(frozen=True)
class Run:
    name: str
    agent: Agent = field(default_factory=Agent)
    steps: int = 1000
    out: str | None = None
    video: bool = False


numbers = st.floats(-1e30, 1e30, allow_nan=False)
agents = st.builds(
    Agent,
    lr=numbers,
    hidden=st.lists(st.integers(), max_size=4).map(tuple),
    torso=st.one_of(
        st.builds(Attention, heads=st.integers(), key_size=st.integers()),
        st.builds(DeepSets, width=st.integers(), masked=st.booleans()),
    ),
    activation=st.sampled_from(["relu", "elu"]),
    temperature=st.one_of(numbers, st.just("auto")),
    clip=st.one_of(st.none(), st.builds(Clip, norm=numbers)),
    box=st.tuples(numbers, numbers),
)
runs = st.builds(
    Run,
    name=st.text(),
    agent=agents,
    steps=st.integers(),
    out=st.one_of(st.none(), st.text()),
    video=st.booleans(),
)


@given(runs)
def test_json_round_trip_is_exact(run):
    text = json.dumps(to_json(run), allow_nan=False)
    again = from_json(Run, json.loads(text))
    assert again == run
    assert repr(again) == repr(run), "types and signs of zeros too"
    assert diff(to_json(run), json.loads(text)) == []


@given(runs, runs)
def test_configs_differ_exactly_when_their_json_does(one, other):
    same = json.dumps(to_json(one)) == json.dumps(to_json(other))
    if same:
        assert diff(to_json(one), to_json(other)) == []
    if one != other:
        assert diff(to_json(one), to_json(other))


def test_absent_fields_take_their_defaults():
    assert from_json(Run, {"name": "a"}) == Run("a")
    with pytest.raises(InvalidInput, match="'name' is missing"):
        from_json(Run, {})


@pytest.mark.parametrize(
    ("path", "value", "parts"),
    [
        ("steps", "many", ["steps must be int", '"many"']),
        ("steps", 1.5, ["steps must be int", "1.5"]),
        ("steps", True, ["steps must be int", "true"]),
        ("video", 1, ["video must be bool", "1"]),
        ("agent.lr", False, ["agent.lr must be float", "false"]),
        ("agent.lr", float("nan"), ["agent.lr must be float", "NaN"]),
        ("agent.lr", None, ["agent.lr must be float", "null"]),
        ("agent.hidden", [1, "x"], ["agent.hidden[1] must be int", '"x"']),
        ("agent.hidden", 3, ["agent.hidden must be a list of int", "3"]),
        ("agent.box", [1.0], ["agent.box must be", "[1.0]"]),
        ("agent.activation", "tanh", ["agent.activation must be 'relu' or 'elu'", '"tanh"']),
        ("agent.clip", 3, ["agent.clip must be Clip or none", "3"]),
        ("agent.torso", {"kind": "deepsets"}, ["agent.torso.kind", "Did you mean 'deep-sets'?"]),
        ("agent.torso", {"heads": 1}, ["agent.torso.kind must be one of attention, deep-sets"]),
        ("agent.torso.head", 1, ["'agent.torso.head'", "Did you mean 'agent.torso.heads'?"]),
        ("agent", 3, ["agent must be", "3"]),
        ("agnet", {}, ["Unknown field 'agnet'", "Did you mean 'agent'?"]),
    ],
)
def test_wrong_json_is_named(path, value, parts):
    data = to_json(Run("a"))
    node = data
    *groups, last = path.split(".")
    for group in groups:
        node = node[group]
    node[last] = value
    with pytest.raises(InvalidInput) as caught:
        from_json(Run, data)
    for part in parts:
        assert part in str(caught.value)


def test_a_config_must_be_an_object():
    with pytest.raises(InvalidInput, match="must be an object"):
        from_json(Run, [1])


def test_what_json_cannot_hold_is_refused():
    with pytest.raises(InvalidInput, match=r"agent\.lr is inf"):
        to_json(Run("a", Agent(lr=float("inf"))))
    with pytest.raises(InvalidInput, match="out is a set"):
        to_json(Run("a", out={1}))  # pyright: ignore[reportArgumentType]


def test_differences_read_well():
    one = Run("a", steps=1)
    other = replace(one, steps=1000, agent=Agent(lr=5e-4, hidden=(64,), clip=Clip()))
    assert diff(to_json(one), to_json(other)) == [
        "agent.lr: run has 0.001, asked 0.0005",
        "agent.hidden: run has [128, 128], asked [64]",
        'agent.clip: run has null, asked {"norm": 1.0}',
        "steps: run has 1, asked 1000",
    ]
    assert diff({"a": 1, "b": 2}, {"b": 2, "c": 3}) == [
        "a: run has 1, asked no such field",
        "c: run has no such field, asked 3",
    ]
    assert diff({"a": 1}, {"a": True}) == ["a: run has 1, asked true"]
    assert diff({"a": 1}, {"a": 1.0}) == []


def test_another_kind_is_one_difference():
    one, other = Run("a"), Run("a", Agent(torso=DeepSets()))
    assert diff(to_json(one), to_json(other)) == [
        'agent.torso.kind: run has "attention", asked "deep-sets"'
    ]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("steps", "1e5", Run("a", steps=100_000)),
        ("steps", "2_000", Run("a", steps=2000)),
        ("name", "1", Run("1")),
        ("video", "True", Run("a", video=True)),
        ("video", "no", Run("a", video=False)),
        ("out", "x", Run("a", out="x")),
        ("out", "none", Run("a", out=None)),
        ("agent.lr", "1e-4", Run("a", Agent(lr=1e-4))),
        ("agent.lr", "1", Run("a", Agent(lr=1.0))),
        ("agent.hidden", "64,32", Run("a", Agent(hidden=(64, 32)))),
        ("agent.hidden", "[64, 32]", Run("a", Agent(hidden=(64, 32)))),
        ("agent.hidden", "64 32", Run("a", Agent(hidden=(64, 32)))),
        ("agent.hidden", "()", Run("a", Agent(hidden=()))),
        ("agent.box", "(-1, .5)", Run("a", Agent(box=(-1.0, 0.5)))),
        ("agent.activation", "elu", Run("a", Agent(activation="elu"))),
        ("agent.temperature", "0.2", Run("a", Agent(temperature=0.2))),
        ("agent.temperature", "auto", Run("a", Agent(temperature="auto"))),
        ("agent.torso.heads", "1", Run("a", Agent(torso=Attention(heads=1)))),
        ("agent.torso.kind", "deep-sets", Run("a", Agent(torso=DeepSets()))),
        ("agent.clip.norm", "3", Run("a", Agent(clip=Clip(3.0)))),
        ("agent.clip", '{"norm": 2}', Run("a", Agent(clip=Clip(2.0)))),
    ],
)
def test_override_reads_text_by_the_fields_type(path, text, expected):
    changed = override(Run("a"), {path: text})
    assert changed == expected
    assert repr(changed) == repr(expected)


def test_a_kind_that_is_no_tag_is_a_field_like_any_other():
    @dataclass(frozen=True)
    class Torso:
        kind: Literal["attention", "deepsets"] = "attention"
        size: int = 48

    @dataclass(frozen=True)
    class Networks:
        torso: Torso = field(default_factory=Torso)

    one = Networks(Torso(size=7))
    other = override(one, {"torso.kind": "deepsets"})
    assert other == Networks(Torso("deepsets", 7))
    assert diff(to_json(one), to_json(replace(other, torso=replace(other.torso, size=8)))) == [
        'torso.kind: run has "attention", asked "deepsets"',
        "torso.size: run has 7, asked 8",
    ]
    with pytest.raises(InvalidInput, match="'attention' or 'deepsets', got 'deep'"):
        override(one, {"torso.kind": "deep"})


def test_override_can_switch_a_kind_and_set_its_fields_in_any_order():
    changed = override(Run("a"), {"agent.torso.width": "8", "agent.torso.kind": "deep-sets"})
    assert changed.agent.torso == DeepSets(width=8)
    kept = Run("a", Agent(torso=DeepSets(width=8)))
    assert override(kept, {"agent.torso.kind": "deep-sets"}) == kept
    assert override(Run("a", Agent(clip=Clip())), {"agent.clip": "none"}) == Run("a")


@pytest.mark.parametrize(
    ("path", "text", "parts"),
    [
        ("agent.lrr", "1", ["'agent.lrr'", "Did you mean 'agent.lr'?"]),
        ("agnet.lr", "1", ["'agnet.lr'", "Did you mean 'agent.lr'?"]),
        ("steps.x", "1", ["'steps.x'", "Did you mean 'steps'?"]),
        ("agent.torso.width", "1", ["Unknown setting 'agent.torso.width'"]),
        ("agent.torso.kind", "atention", ["one of attention, deep-sets", "mean 'attention'?"]),
        ("agent.lr", "fast", ["agent.lr must be float", "'fast'"]),
        ("agent.lr", "nan", ["agent.lr must be float"]),
        ("steps", "1.5", ["steps must be int", "'1.5'"]),
        ("steps", "1.5e0", ["steps must be int"]),
        ("video", "maybe", ["video must be bool", "'maybe'"]),
        ("agent.hidden", "a,b", ["agent.hidden must be a list of int", "'a,b'"]),
        ("agent.box", "1", ["agent.box must be"]),
        ("agent.activation", "tanh", ["'relu' or 'elu'", "'tanh'"]),
        ("agent", "big", ["agent must be Agent", "'big'"]),
    ],
)
def test_wrong_overrides_are_named(path, text, parts):
    with pytest.raises(InvalidInput) as caught:
        override(Run("a"), {path: text})
    for part in parts:
        assert part in str(caught.value)


@given(runs)
def test_every_path_can_be_set_to_its_own_value(run):
    data = to_json(run)
    for path in paths(Run, data):
        value = data
        for name in path.split("."):
            value = value[name]
        if isinstance(value, str) and (value != value.strip() or value.lower() in ("none", "null")):
            continue
        text = value if isinstance(value, str) else json.dumps(value)
        assert override(run, {path: text}) == run
