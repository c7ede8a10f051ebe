#!/usr/bin/env python3
"""The runner of the guide's examples notices what is wrong. Runs without ingot."""
import pathlib
import tempfile
import unittest

import run


class Runner(unittest.TestCase):
    def page(self, text: str) -> tuple[int, list[str]]:
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text(text)
            return run.run_page(page, pathlib.Path(folder))

    def test_output_as_shown(self) -> None:
        self.assertEqual(self.page("```console\n$ echo one; echo two\none\ntwo\n```\n"), (1, []))

    def test_other_output(self) -> None:
        count, failures = self.page("Text\n```console\n$ echo one\ntwo\n```\n")
        self.assertEqual(count, 1)
        self.assertIn("page.md:3: echo one", failures[0])

    def test_output_that_is_missing_or_too_much(self) -> None:
        self.assertTrue(self.page("```console\n$ echo one\none\ntwo\n```\n")[1])
        self.assertTrue(self.page("```console\n$ echo one; echo two\none\n```\n")[1])

    def test_status(self) -> None:
        self.assertTrue(self.page("```console\n$ false\n```\n")[1])
        self.assertEqual(self.page("```console\n$ false   # exits with 1\n```\n"), (1, []))
        self.assertTrue(self.page("```console\n$ true   # exits with 1\n```\n")[1])

    def test_ellipses(self) -> None:
        self.assertEqual(self.page("```console\n$ seq 5; echo 12 ms\n1\n…\n5\n… ms\n```\n"), (1, []))
        self.assertTrue(self.page("```console\n$ seq 5\n1\n…\n6\n```\n")[1])

    def test_files_and_continued_lines(self) -> None:
        file = '```c title="a.c"\nint x;\n```\n'
        self.assertEqual(self.page(file + "```console\n$ cat \\\n    a.c\nint x;\n```\n"), (1, []))

    def test_levels_are_equal(self) -> None:
        for level in "x86-64-v3", "x86-64-v4-bf16", "x86-64-v4-bf16-amx", "aarch64", "aarch64-bf16":
            self.assertEqual(self.page(f"```console\n$ echo {level}\nx86-64-v4\n```\n"), (1, []))

    def test_blocks_that_are_not_run(self) -> None:
        self.assertEqual(self.page("<!-- not run: needs a card -->\n```console\n$ false\n```\n"), (0, []))
        self.assertEqual(self.page("```\n$ false\n```\n"), (0, []))

    def test_a_block_without_a_command(self) -> None:
        with self.assertRaises(ValueError):
            self.page("```console\nfalse\n```\n")


if __name__ == "__main__":
    unittest.main()
