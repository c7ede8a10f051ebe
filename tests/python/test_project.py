"""The files around the code: one version everywhere, workflows that run what a person runs, checks that can fail."""
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import ingot


def header_version(repository: pathlib.Path) -> str:
    text = (repository / "include/ingot/ingot.h").read_text()
    return ".".join(re.search(rf"#define INGOT_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def test_the_version_is_the_same_everywhere(repository: pathlib.Path, build_folder: pathlib.Path) -> None:
    version = header_version(repository)
    assert ingot.__version__ == version
    for program in ("ingot", "ingotc"):
        said = subprocess.run([build_folder / "bin" / program, "--version"], stdout=subprocess.PIPE, text=True).stdout
        assert re.match(rf"{program} {re.escape(version)}\b", said), said
    assert f"\nVersion: {version}\n" in (build_folder / "ingot.pc").read_text()
    assert f'set(PACKAGE_VERSION "{version}")' in (build_folder / "ingotConfigVersion.cmake").read_text()
    newest = re.search(r"^## ([0-9.]+), \d{4}-\d\d-\d\d$", (repository / "CHANGELOG.md").read_text(), re.M)
    assert newest and newest[1] == version


def test_the_version_is_written_in_one_place(repository: pathlib.Path) -> None:
    files = subprocess.run(["git", "ls-files", "-z", "src", "python", "cmake", "include", "CMakeLists.txt",
                            "pyproject.toml"], cwd=repository, check=True, stdout=subprocess.PIPE, text=True).stdout
    version = re.compile(rf"(?<![\d.]){re.escape(header_version(repository))}(?![\d.])")
    for name in filter(None, files.split("\0")):
        if (repository / name).is_file():
            text = (repository / name).read_text(errors="replace")
            code = re.sub(r"/\*.*?\*/", "", text, flags=re.S) if name.endswith((".c", ".h")) else text
            assert not version.search(code), f"{name} has a version of its own"


def jobs(text: str) -> dict[str, str]:
    """The jobs of a workflow, by their indentation."""
    parts = re.split(r"^  ([\w-]+):\n", text.split("\njobs:\n")[1], flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def test_workflows_run_what_a_person_runs(repository: pathlib.Path) -> None:
    found = jobs((repository / ".github/workflows/test.yml").read_text())
    assert {"linux", "macos"} <= set(found)
    for name in ("linux", "macos"):
        assert re.findall(r"^      - run: (.*)$", found[name], re.M) == ["make run", "make test"], name
    assert "ubuntu-24.04\n" in found["linux"] and "ubuntu-24.04-arm\n" in found["linux"]


def test_the_image_has_the_package_that_needs_nothing(repository: pathlib.Path) -> None:
    """The last stage installs nothing: what it runs was packed in the first."""
    first, last = (repository / "Dockerfile").read_text().split("\nFROM ")[-2:]
    assert "tools/package archives" in first and "build/dist/ingot-*.tar.gz" in first
    assert "COPY --from=build" in last and "apt-get" not in last


# A change of a good tree, and what tools/check-project says of it.
BREAKS = {
    ".github/workflows/test.yml": ("runs-on:", "runs-where:", "wrong: workflows"),
    ".github/ISSUE_TEMPLATE/bug.yml": ("type: textarea", "type: novel", "wrong: issue forms"),
    ".pre-commit-config.yaml": ("tools/format", "tools/no-such-tool", "wrong: hook tools/no-such-tool"),
    "tools/format": ("#!/bin/sh\n", "#!/bin/sh\ncd $1/*.c; x=`ls`; if [ $x == 1 ]; then\n", "tools/format line 2"),
    "Dockerfile": ("--no-install-recommends ", "", "wrong: Dockerfile"),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """What tools/check-project looks at, as a repository of its own."""
    if not (pathlib.Path(sys.prefix) / "bin" / "check-jsonschema").exists():
        pytest.skip(f"{sys.prefix} has no check-jsonschema: make venv brings it")
    source, root = pathlib.Path(__file__).resolve().parents[2], tmp_path_factory.mktemp("project")
    for name in (".github", "tools", "docs/guide"):
        shutil.copytree(source / name, root / name)
    for name in ("Dockerfile", ".pre-commit-config.yaml", "action.yml"):
        shutil.copy(source / name, root / name)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    return root


def check(root: pathlib.Path) -> tuple[int, str]:
    done = subprocess.run([root / "tools" / "check-project", sys.prefix], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)
    return done.returncode, done.stdout


def test_the_files_are_as_their_schemas_say_and_faults_are_found(copy: pathlib.Path) -> None:
    status, said = check(copy)
    assert status == 0, said
    for name, (old, new, _) in BREAKS.items():
        good = (copy / name).read_text()
        assert old in good
        (copy / name).write_text(good.replace(old, new))
    status, said = check(copy)
    assert status == 1
    for name, (_, _, message) in BREAKS.items():
        assert message in said or (name == "Dockerfile" and "hadolint is not made for" in said), f"{name}: {said}"
