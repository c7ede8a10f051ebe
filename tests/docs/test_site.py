#!/usr/bin/env python3
"""What of the site needs no MkDocs: pages of the headers and of the Python package, and the list of pages.

`make docs` checks the rest."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/site"))
import headers  # noqa: E402
import python_api  # noqa: E402

HEADERS = sorted((ROOT / "include/ingot").rglob("*.h"))


class Headers(unittest.TestCase):
    def page(self, text: str) -> str:
        return headers.page("title", "include/x.h", text, lambda name: f"<{name}>")

    def test_every_name_of_every_header_has_an_anchor(self) -> None:
        for path in HEADERS:
            text = path.read_text()
            code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
            declared = "\n".join(re.findall(r"^INGOT_API[^;]*;", code, re.MULTILINE))
            functions = set(re.findall(r"\b(ingot_\w+)\(", declared))
            types = set(re.findall(r"^\} (ingot_\w+);", code, re.MULTILINE))
            page = self.page(text)
            for name in functions | types:
                self.assertRegex(page, rf'\{{ #{name} \}}|<a id="{name}">', f"{path.name}: {name}")
            self.assertTrue(functions, path.name)

    def test_comments_stand_above_what_they_describe(self) -> None:
        entry = "/* What it does. */\nINGOT_API int ingot_do(void);\n"
        page = self.page(f"/* Head. */\n\n/* ---- errors ---- */\n\n{entry}")
        order = ["Head.", "## Errors", "### `ingot_do` { #ingot_do }", "What it does.", "```c\nINGOT_API int"]
        places = [page.index(text) for text in order]
        self.assertEqual(places, sorted(places))

    def test_guards_are_not_shown(self) -> None:
        guards = '#ifndef A_H\n#define A_H\n#ifdef __cplusplus\nextern "C" {\n#endif\n'
        page = self.page(f"/* Head. */\n{guards}INGOT_API int ingot_do(void);\n")
        self.assertNotIn("#ifndef", page)
        self.assertNotIn("__cplusplus", page)


class Pages(unittest.TestCase):
    def test_every_page_of_the_guide_is_in_the_navigation(self) -> None:
        listed = re.findall(r"- (?:\w+: )?((?:guide/)[\w/.-]+\.md)", (ROOT / "mkdocs.yml").read_text())
        there = [str(path.relative_to(ROOT / "docs")) for path in sorted((ROOT / "docs/guide").rglob("*.md"))]
        self.assertEqual(sorted(listed), sorted(there))

    def test_every_header_of_the_operations_is_in_the_navigation(self) -> None:
        listed = set(re.findall(r"reference/c/ops-(\w+)\.md", (ROOT / "mkdocs.yml").read_text()))
        self.assertEqual(listed, {path.stem for path in (ROOT / "include/ingot/ops").glob("*.h")})

    def test_every_name_of_the_python_package_has_a_page_in_the_navigation(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([ROOT / "tools/site/package", folder], check=True)
            pages = python_api.pages(pathlib.Path(folder) / "ingot")
        listed = set(re.findall(r"reference/python/([\w-]+)\.md", (ROOT / "mkdocs.yml").read_text()))
        self.assertEqual(listed, set(pages))


if __name__ == "__main__":
    unittest.main()
