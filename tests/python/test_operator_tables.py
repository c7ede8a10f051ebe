"""tools/operator-tables: what it makes of descriptions, and that a mistake is an error with its file and line; and what
ingot._torch.describe says of a description that is not whole."""
from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest
import torch

import ingot._C
import ingot.ops  # noqa: F401 (registers the operators)
from ingot._torch import describe

WHOLE = '''"""An operation."""
from ingot._torch.describe import operator

OPS = ("halve", "halve_")
NN = ("Halve",)


class Shared:
    schema = "halve_backward(Tensor d_out, Tensor? x, Tensor(b!)[] lists) -> ()"


@operator
class InPlace:
    schema = "halve_(Tensor(a!) x, float by=2.0) -> ()"


@operator
class Forward:
    schema = ("halve(Tensor x, Tensor? y=None, Tensor[] z, int? n=None, bool last=False,"
              " ScalarType dtype) -> (Tensor, Tensor)")


limits("group", "halve", "halve_direct", float32_only=True)


@leaf("group", "_halve", original="_ZN2at3cpu6_halveERKNS_6TensorEN3c108ArrayRefIlEE")
def override(x):
    return NotImplemented


@composite("group", "halve")
def override_in_python_only(x):
    return NotImplemented


native("group", "quarter",
       original="_ZN2at25compositeimplicitautograd7quarterESt17basic_string_viewIcSt11char_traitsIcEE")
'''


@pytest.fixture
def tables(repository: pathlib.Path, tmp_path: pathlib.Path):
    """Runs the tool on descriptions by name; gives its exit status, its errors, and the folder of what it made."""

    def run(**descriptions: str) -> tuple[int, str, pathlib.Path]:
        files = []
        for name, text in descriptions.items():
            files.append(tmp_path / name / f"{name}.py")
            files[-1].parent.mkdir(exist_ok=True)
            files[-1].write_text(text)
        done = subprocess.run([sys.executable, repository / "tools/operator-tables", "--tables", tmp_path / "tables",
                               "--package", tmp_path / "package", *files], text=True, capture_output=True, timeout=60)
        return done.returncode, re.sub(rf"{tmp_path}/\w+/", "", done.stderr), tmp_path

    return run


def rows(path: pathlib.Path) -> list[str]:
    return path.read_text().splitlines()[1:]


def test_tables_of_a_description(tables):
    status, errors, made = tables(halve=WHOLE)
    assert (status, errors) == (0, "")
    assert rows(made / "tables/operators.def") == [
        'OPERATOR(halve_, "(Tensor(a!) x, float by=2.0) -> ()")',
        'OPERATOR(halve, "(Tensor x, Tensor? y=None, Tensor[] z, int? n=None, bool last=False, ScalarType dtype)'
        ' -> (Tensor, Tensor)")']
    assert rows(made / "tables/overrides.def") == [
        'OVERRIDE(_halve, "_ZN2at3cpu6_halveERKNS_6TensorEN3c108ArrayRefIlEE", 0, 1, 0)',
        'OVERRIDE(quarter, "_ZN2at25compositeimplicitautograd7quarterESt17basic_string_viewIcSt11char_traitsIcEE",'
        ' 1, 0, 1)']
    assert rows(made / "tables/limits.def") == ["LIMIT(halve)", "LIMIT(halve_direct)"]
    package = {}
    exec((made / "package/__init__.py").read_text(), package)
    assert package["NAMES"] == ("halve",)
    exported = (made / "package/exported_ops.py").read_text()
    assert "from ingot._operations.halve import halve_ as halve_\n" in exported
    assert exported.endswith('__all__ = [\n    "halve",\n    "halve_",\n]\n')


def test_files_that_do_not_change_are_not_written(tables):
    _, _, made = tables(halve=WHOLE)
    before = {path: path.stat().st_mtime_ns for path in (*made.glob("tables/*"), *made.glob("package/*"))}
    assert len(before) == 7
    tables(halve=WHOLE + "\n# more\n")
    assert {path: path.stat().st_mtime_ns for path in (*made.glob("tables/*"), *made.glob("package/*"))} == before


def described(schema: str) -> str:
    return f"@operator\nclass One:\n    schema = {schema}\n"


MISTAKES = {
    "no schema": ("@operator\nclass One:\n    pass\n", "one.py:2: the operator One has no schema"),
    "computed": (described('"one" + NAME'), "one.py:3: a schema is read by the build, so it has to be a literal"),
    "no schema's form": (described('"one(Tensor x)"'), "one.py:3: 'one(Tensor x)' is no schema"),
    "type": (described('"one(Tensor x, double y) -> Tensor"'), "one.py:3: one: 'double y' is no argument"),
    "no arguments": (described('"one() -> Tensor"'), "one.py:3: one has no arguments"),
    "arguments": (described(repr("one(Tensor x, " + ", ".join(f"int n{i}" for i in range(16)) + ") -> Tensor")),
                  "one.py:3: one has 17 arguments; at most 16 are possible"),
    "outputs": (described('"one(Tensor x) -> (Tensor, Tensor, Tensor, Tensor)"'), "one has 4 outputs; at most 3"),
    "name": (described('"one(Tensor a_name_that_is_much_too_long) -> Tensor"'), "has 28 characters; at most 23"),
    "mutable by name": (described('"one_(Tensor x) -> Tensor"'), "one.py:3: one_: an operator whose name ends in _"),
    "mutable by mark": (described('"one(Tensor(a!) x) -> Tensor"'), "one.py:3: one: an operator whose name ends in _"),
    "twice": (described('"one(Tensor x) -> Tensor"') * 2, "one.py:6: there is an operator one already, at one.py:3"),
    "limit": ('limits("g", "a")\nlimits("h", "a")\n', "one.py:2: there is a limit a already, at one.py:1"),
    "override": ('native("g", "mm", original="_Z1")\nnative("g", "mm", original="_Z2")\n',
                 "one.py:2: there is an override of mm already, at one.py:1"),
    "kind": ('@leaf("g", "x", original="_ZN2at25compositeimplicitautograd1xEv")\ndef f(): pass\n',
             "one.py:1: x: _ZN2at25compositeimplicitautograd1xEv is a composition, but it is declared as leaf"),
    "export": ('OPS = ("a",)\nOPS = ("a",)\n', "one.py:2: there is an exported a already, at one.py:1"),
    "syntax": ("class One\n", "one.py:1: expected ':'"),
}


@pytest.mark.parametrize("text,message", MISTAKES.values(), ids=list(MISTAKES))
def test_a_mistake_has_its_place(tables, text: str, message: str):
    status, errors, made = tables(one=text)
    assert status == 1 and message in errors and "Traceback" not in errors, errors
    assert not (made / "tables").exists()


def test_operators_of_two_descriptions_with_one_name(tables):
    text = described('"one(Tensor x) -> Tensor"')
    assert "two.py:3: there is an operator one already, at one.py:3" in tables(one=text, two=text)[1]


def test_every_operator_of_the_extension_is_described():
    assert describe.DESCRIBED == set(ingot._C.torch_schemas())


def test_the_extension_was_built_with_another_schema():
    with pytest.raises(ImportError, match=r"test_operator_tables.py:\d+: Silu has the schema 'silu\(Tensor y\) -> "
                                          r"Tensor', but the extension was built with 'silu\(Tensor x\) -> Tensor'"):
        @describe.operator
        class Silu:
            schema = "silu(Tensor y) -> Tensor"
    with pytest.raises(ImportError, match="'none of this name'"):
        @describe.operator
        class Nothing:
            schema = "nothing(Tensor y) -> Tensor"


def test_an_unknown_field():
    with pytest.raises(TypeError, match=r"test_operator_tables.py:\d+: Silu has fakes, which is none of autocast, "):
        @describe.operator
        class Silu:
            schema = "silu(Tensor x) -> Tensor"
            fakes = None


def zero(*arguments: object) -> None:
    """A function of a description."""


INCOMPLETE = {
    "fake": ("silu", {"backward": zero, "setup": zero}, "returns something, and has no fake"),
    "no gradient": ("silu", {"fake": zero}, "has none of backward, formula and no_gradient"),
    "two gradients": ("silu", {"fake": zero, "formula": zero, "no_gradient": "x"}, "has formula and no_gradient; one"),
    "in place": ("fill_", {"formula": zero}, "changes its arguments and has formula"),
    "autocast": ("silu", {"autocast": describe.float32("y")}, "has y in autocast, which is none of its arguments x"),
    "on_host": ("silu", {"on_host": ("y",)}, "has y in on_host, which is none of its arguments x"),
}


@pytest.mark.parametrize("name,fields,message", INCOMPLETE.values(), ids=list(INCOMPLETE))
def test_a_description_that_is_not_whole(name: str, fields: dict, message: str):
    with pytest.raises(TypeError, match=message):
        describe._register(describe.Operator(name), fields)


def test_operators_are_functions():
    from ingot._operations.pointwise import Silu

    x = torch.randn(3)
    assert torch.equal(Silu(x), torch.ops.ingot.silu(x)) and torch.equal(Silu.direct(x), Silu(x))
    assert Silu.name == "silu"


def test_members_say_where_users_find_them():
    import pickle

    import ingot.nn
    import ingot.optim

    assert ingot.ops.qr.__module__ == "ingot.ops" and ingot.nn.LogSoftmax.__module__ == "ingot.nn"
    assert ingot.optim.AdamW.__module__ == "ingot.optim"
    assert pickle.loads(pickle.dumps(ingot.nn.LogSoftmax)) is ingot.nn.LogSoftmax
    assert pickle.loads(pickle.dumps(ingot.ops.qr(torch.eye(2)))).R.shape == (2, 2)
