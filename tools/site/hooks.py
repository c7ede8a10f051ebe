"""Hooks of MkDocs for ingot's site (`make docs`).

The site is docs/ and what docs/ links to. A link to a file outside of docs/ leads to a page that is made here: of
Markdown the page itself, of a public header its API, of other files their text. The API of the Python package is
made by mkdocstrings from the pages below. Nothing is written to docs/. A link that leads nowhere fails the build.
"""
from __future__ import annotations

import os
import posixpath
import re
import sys
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).parent))
import headers  # noqa: E402
import python_api  # noqa: E402

LINK = re.compile(r"(\]\()(?!\w+:|#)([^)\s]+)(\))")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".c": "c", ".h": "c", ".metal": "cpp", ".sh": "bash", ".yml": "yaml", ".def": "c",
             ".toml": "toml", ".cmake": "cmake", ".txt": "text"}

pages: dict[str, str] = {}  # path in the repository → path of the page in the site
bodies: dict[str, str] = {}  # path of a made page → its Markdown
origins: dict[str, str] = {}  # path of a made page → the file of the repository that its links start from
anchors: dict[str, str] = {}  # name in the C API → path of its page


def api_page(path: str) -> str:
    name = Path(path).stem
    return f"reference/c/{'ops-' if '/ops/' in path else ''}{name}.md"


def name_link(page: str):
    def link(name: str) -> str:
        plain = name.removesuffix("()")
        target = anchors.get(plain)
        if not target:
            return f"`{name}`"
        return f"[`{name}`]({posixpath.relpath(target, posixpath.dirname(page))}#{plain})"
    return link


def make_headers() -> None:
    files = ["include/ingot/ingot.h", "include/ingot/metal.h", "include/ingot/ops.h",
             *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "include/ingot/ops").glob("*.h"))]
    texts = {path: (ROOT / path).read_text() for path in files}
    for path, text in texts.items():
        pages[path] = api_page(path)
        found = headers.names_of(text)
        if not found:
            raise PluginError(f"{path}: no name of the API was found")
        anchors.update(dict.fromkeys(found, pages[path]))
    for path, text in texts.items():
        page = pages[path]
        title = "ingot/" + path.split("include/ingot/", 1)[1]
        bodies[page] = headers.page(title, path, text, name_link(page))


def make_python() -> None:
    try:
        found = python_api.pages(Path(os.environ["INGOT_SITE_PYTHON"]) / "ingot")
    except ValueError as error:
        raise PluginError(str(error)) from None
    for name, page in found.items():
        bodies[f"reference/python/{name}.md"] = page.markdown()


def make_page(path: str) -> str:
    """The page of a file or folder outside of docs/, made if it is not there yet."""
    if path in pages:
        return pages[path]
    file = ROOT / path
    if path.endswith(".md"):
        page = f"repository/{path}"
        pages[path] = page
        bodies[page] = file.read_text()
        origins[page] = path
        find_links(path, bodies[page])
        return page
    page = f"repository/{path or 'index'}.md".replace("/.", "/dot-")
    pages[path] = page
    front = "---\nsearch:\n  exclude: true\nhide: [toc]\n---\n"
    if file.is_dir():
        shown = (p for p in file.iterdir() if not p.name.startswith((".", "__")))
        names = sorted(p.name + ("/" if p.is_dir() else "") for p in shown)
        bodies[page] = f"{front}# {path}/\n\n" + "".join(f"- `{name}`\n" for name in names)
    else:
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            raise PluginError(f"a document links to {path}, which is not text") from None
        fence = "`" * 5
        bodies[page] = f"{front}# {path}\n\n{fence}{LANGUAGES.get(file.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"
    origins[page] = path
    return page


def resolve(origin: str, target: str) -> str:
    """The path in the repository that a link of a file leads to; `/docs/x.md` starts at the top."""
    if target.startswith("/"):
        return target[1:]
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))


def find_links(origin: str, text: str) -> None:
    for match in LINK.finditer(FENCE.sub("", text)):
        target = match.group(2).partition("#")[0]
        if not target:
            continue
        path = resolve(origin, target)
        if not (ROOT / path).exists():
            raise PluginError(f"{origin}: the link to {target} leads nowhere")
        if not path.startswith("docs/"):
            make_page("" if path == "." else path)


def on_config(config):
    """Design pages in the order in which their index names them, then measurements and the project's own pages."""
    index = ROOT / "docs/design/README.md"
    names = re.findall(r"\]\(([\w-]+\.md)\)", index.read_text()) if index.exists() else []
    there = sorted(p.name for p in (ROOT / "docs/design").glob("*.md"))
    order = [n for n in dict.fromkeys(["README.md", *names, *there]) if n in there]
    if order:
        config.nav.append({"Design": [f"design/{n}" for n in order]})
    log = sorted((str(p.relative_to(ROOT)) for p in (ROOT / "bench/log").glob("*.md")), reverse=True)
    if log:
        config.nav.append({"Measurements": [f"repository/{p}" for p in log]})
    project = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]
    project = [name for name in project if (ROOT / name).exists()]
    config.nav.append({"Project": [f"repository/{n}" for n in project]})
    for table in (pages, bodies, origins, anchors):
        table.clear()
    make_headers()
    make_python()
    for path in [*log, *project]:
        make_page(path)
    for file in sorted((ROOT / "docs").rglob("*.md")):
        find_links(str(file.relative_to(ROOT)), file.read_text())
    return config


def on_files(files: Files, config) -> Files:
    for page, body in bodies.items():
        files.append(File.generated(config, page, content=body))
    return files


def on_page_markdown(markdown: str, page, config, files) -> str:
    here = page.file.src_uri
    origin = origins.get(here, f"docs/{here}")

    def rewrite(match: re.Match) -> str:
        target, hash_, anchor = match.group(2).partition("#")
        if not target or here in bodies and here not in origins and not target.startswith("/"):
            return match.group(0)  # inside of the page, or between pages of the API
        path = resolve(origin, target)
        if path.startswith("docs/"):
            to = path.removeprefix("docs/") + ("/README.md" if (ROOT / path).is_dir() else "")
        else:
            to = pages.get("" if path == "." else path, target)
        relative = posixpath.relpath(to, posixpath.dirname(here) or ".")
        return f"{match.group(1)}{relative}{hash_}{anchor}{match.group(3)}"

    parts, last = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [LINK.sub(rewrite, markdown[last:fence.start()]), fence.group(0)]
        last = fence.end()
    if here == "README.md":
        page.meta["hide"] = ["navigation"]
    text = "".join([*parts, LINK.sub(rewrite, markdown[last:])])
    return re.sub(r"^```metal\b", "```cpp", text, flags=re.MULTILINE)  # Pygments does not know Metal
