"""The bar on standard error."""

import io

from biowarp._progress import Bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_file_gets_a_line_for_each_tenth():
    stream = io.StringIO()
    bar = Bar(stream)
    for done in range(0, 101):
        bar(done, 100)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert "100/100 sequences" in lines[-1] and "#" * Bar.WIDTH in lines[-1]


def test_a_terminal_gets_one_line_redrawn():
    stream = Terminal()
    bar = Bar(stream)
    bar(1, 3)
    bar(2, 3)  # too soon after the first to be drawn
    bar(3, 3)
    assert stream.getvalue().count("\r") == 2
    assert stream.getvalue().endswith("\n") and "3/3" in stream.getvalue()


def test_nothing_to_do():
    Bar(io.StringIO())(0, 0)
