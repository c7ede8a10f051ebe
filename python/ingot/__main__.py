"""`ingot …` and `python -m ingot …`: the command of docs/guide/reference/commands.md, as it lies in the package."""
import os
import sys


def command() -> str | None:
    """The path of the ingot program: in the package, in the build folder, or on $PATH."""
    package = os.path.dirname(os.path.abspath(__file__))
    extension = os.path.dirname(os.path.abspath(sys.modules["ingot._C"].__file__))
    for folder in (os.path.join(package, "bin"), os.path.join(extension, "..", "..", "bin")):
        path = os.path.normpath(os.path.join(folder, "ingot"))
        if os.access(path, os.X_OK):
            return path
    return None


def main() -> int:
    """Runs the program in place of this process."""
    path = command()
    if path is None:
        print("ingot: the package has no bin/ingot; it was built without its command", file=sys.stderr)
        return 3
    os.execv(path, ["ingot", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
