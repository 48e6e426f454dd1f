"""`smorl view` before anything is served."""

import pytest

from smorl.cli import main
from smorl.cli.view import _announce, choices
from smorl.errors import InvalidInput


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--visitors", "0"], "at least 1"),
        (["--port", "99999"], "65535"),
        (["no/such/run"], "shipped:visual-rearrange-2"),
        (["shipped:no-such-agent"], "no agents called"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(options, words, capsys):
    assert main(["view", *options]) == 2
    assert words in capsys.readouterr().err


def test_the_named_agent_comes_first_and_once():
    known = choices("shipped:visual-rearrange-1")
    assert known[0] == "shipped:visual-rearrange-1"
    assert len(known) == len(set(known))


def test_a_run_that_does_not_exist_is_refused():
    with pytest.raises(InvalidInput, match="neither"):
        choices("runs/of-nobody")


def test_a_page_for_the_whole_network_comes_with_a_warning(capsys):
    _announce("http://0.0.0.0:8080", "0.0.0.0")
    assert "anybody on this network" in capsys.readouterr().err
    _announce("http://127.0.0.1:8080", "127.0.0.1")
    said = capsys.readouterr()
    assert said.err == ""
    assert "http://127.0.0.1:8080" in said.out
