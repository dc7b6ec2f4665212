"""Each source check finds what it is there for, and nothing in a clean tree."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

import check_includes  # noqa: E402
import check_sources  # noqa: E402

CLEAN = {
    "docs/architecture.md": (HERE.parents[1] / "docs/architecture.md").read_text(),
    "include/biowarp/error.h": "// Errors.\n#pragma once\n#include <string>\n",
    "src/CMakeLists.txt": "biowarp_folder(base)\nbiowarp_folder(io DEPENDS base mem seq LIBRARIES ZLIB::ZLIB)\n",
    "src/base/fail.h": '// Throws.\n#pragma once\n#include <fmt/format.h>\n#include "biowarp/error.h"\n',
    "src/io/gzip.cpp": '#include <sys/stat.h>\n#include <zlib.h>\n#include "base/fail.h"\n',
    "src/ops/common/simd.h": "// Vectors.\n#pragma once\n#include <hwy/highway.h>\n",
    "src/ops/common/loop-inl.h": "// Loops.\n#if defined(LOOP_H) == defined(HWY_TARGET_TOGGLE)\n#endif\n",
    "src/ops/gemm/gemm.h": '// Products.\n#pragma once\n#include "ops/common/simd.h"\n',
    "src/ops/pool/pool.cpp": '#include "ops/common/simd.h"\n',
    "src/models/esm2.h": "// Model.\n#pragma once\n",
    "src/models/esm2_test.cpp": '#include <gtest/gtest.h>\n#include "ops/gemm/gemm.h"\n',
    "cli/main.cpp": '#include <CLI/CLI.hpp>\n#include "biowarp/error.h"\n\nint main() { std::exit(0); }\n',
}


class Tree(unittest.TestCase):
    """A small tree in a temporary folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path, text in CLEAN.items():
            self.write(path, text)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)


class Includes(Tree):
    def found(self, path="", text=""):
        if path:
            self.write(path, text)
        checker = check_includes.Checker(self.root)
        return [*checker.include_problems(), *checker.link_problems()]

    def assert_found(self, path, text, why):
        found = self.found(path, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(path, found[0])
        self.assertIn(why, found[0])

    def test_clean_tree(self):
        self.assertEqual(self.found(), [])

    def test_upward_include(self):
        self.assert_found("src/base/bad.cpp", '#include "io/gzip.cpp"\n', "src/base may include nothing else")

    def test_sideways_include(self):
        self.assert_found("src/io/bad.cpp", '#include "ops/gemm/gemm.h"\n', "src/io may include base, mem, seq")

    def test_op_includes_op(self):
        self.assert_found("src/ops/pool/bad.cpp", '#include "ops/gemm/gemm.h"\n', "op pool must not include op gemm")

    def test_only_tests_reach_through(self):
        self.write("src/tasks/good_test.cpp", '#include "nn/block.h"\n')
        self.write("src/nn/block.h", "// Block.\n#pragma once\n")
        self.assert_found("src/tasks/bad.cpp", '#include "nn/block.h"\n', "src/tasks may include")

    def test_test_reaches_up(self):
        self.assert_found("src/base/bad_test.cpp", '#include "models/esm2.h"\n', "src/base may include")

    def test_third_party_away_from_home(self):
        self.assert_found("src/models/bad.cpp", "#include <zlib.h>\n", "zlib is at home in src/io")

    def test_third_party_in_public_header(self):
        self.assert_found("include/biowarp/bad.h", "#include <fmt/format.h>\n", "fmt is at home in src, cli")

    def test_system_header_in_public_header(self):
        self.assert_found("include/biowarp/bad.h", "#include <unistd.h>\n", "standard library")

    def test_program_looks_inside(self):
        self.assert_found("cli/bad.cpp", '#include "base/fail.h"\n', "cli sees only include/biowarp/")

    def test_python_looks_inside(self):
        self.assert_found("python/bad.cpp", '#include "models/esm2.h"\n', "python sees only include/biowarp/")

    def test_unknown_header(self):
        self.assert_found("src/base/bad.cpp", "#include <boost/any.hpp>\n", "unknown header")

    def test_missing_public_header(self):
        self.assert_found("src/base/bad.cpp", '#include "biowarp/nothing.h"\n', "no such public header")

    def test_googletest_in_product(self):
        self.assert_found("src/base/bad.cpp", "#include <gtest/gtest.h>\n", "belongs into *_test.cpp")

    def test_helpers_of_tests(self):
        self.write("src/models/testing/good.h", '// Help.\n#pragma once\n#include <gtest/gtest.h>\n')
        self.assertEqual(self.found(), [])
        self.assert_found("src/models/bad.cpp", '#include "models/testing/good.h"\n', "helper of tests")

    def test_relative_include(self):
        self.assert_found("src/base/bad.cpp", '#include "fail.h"\n', "written from src")

    def test_folder_without_row(self):
        self.assert_found("src/extra/new.cpp", "#include <string>\n", "has no row")

    def test_link_beyond_the_table(self):
        self.assert_found("src/CMakeLists.txt", "biowarp_folder(io DEPENDS base ops)\n", "io DEPENDS ops")

    def test_exit_code(self):
        script = [sys.executable, HERE / "check_includes.py", self.root]
        self.assertEqual(subprocess.run(script, capture_output=True).returncode, 0)
        self.write("src/base/bad.cpp", "#include <zlib.h>\n")
        result = subprocess.run(script, capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.startswith("src/base/bad.cpp:1: includes zlib.h"))


class Sources(Tree):
    def assert_found(self, path, text, what):
        self.write(path, text)
        found = list(check_sources.problems(self.root))
        self.assertEqual(len(found), 1, found)
        self.assertIn(path, found[0])
        self.assertIn(what, found[0])

    def test_clean_tree(self):
        self.assertEqual(list(check_sources.problems(self.root)), [])

    def test_exit(self):
        for call in ("std::exit(1)", "exit (1)", "::abort()", "std::terminate()", "_exit(2)"):
            self.assert_found("src/base/bad.cpp", f"void f() {{ {call}; }}\n", "nobody exits below cli/")

    def test_exit_in_words_and_names(self):
        self.write("src/base/good.cpp", '// never exit(1)\nvoid on_exit(); const char* k = "abort()"; int x = exit_code(1);\n')
        self.assertEqual(list(check_sources.problems(self.root)), [])

    def test_public_without_mark(self):
        head = "// Text.\n#pragma once\n"
        for line in ("int f(int x);", "std::vector<int> f(", "class Model {", "class Bad : public Error {"):
            self.assert_found("include/biowarp/bad.h", f"{head}{line}\n", "BIOWARP_API")
        good = ("BIOWARP_API int f();", "class BIOWARP_API Model {", "inline int f() {", "struct Row {", "class Later;")
        self.write("include/biowarp/bad.h", head + "\n".join(good) + "\n")
        self.assertEqual(list(check_sources.problems(self.root)), [])

    def test_long_file(self):
        self.write("src/base/good.cpp", "int x;\n" * 600)
        self.assert_found("src/base/bad.cpp", "int x;\n" * 601, "601 lines")

    def test_unfinished(self):
        for mark in ("TO" + "DO", "FIX" + "ME"):
            self.assert_found("src/base/bad.cpp", f"// {mark}: later\n", mark)

    def test_merge_conflict(self):
        self.assert_found("src/base/bad.cpp", "int x;\n" + "<" * 7 + " HEAD\n", "merge conflict")

    def test_pragma_once(self):
        self.assert_found("src/base/bad.h", "// Text.\nint f();\n", "#pragma once")

    def test_highway_guard(self):
        self.assert_found("src/ops/bad-inl.h", "// Text.\nint f();\n", "#pragma once")

    def test_contract(self):
        self.assert_found("src/base/bad.h", "#pragma once\nint f();\n", "contract")

    def test_blanks(self):
        self.assert_found("src/base/bad.cpp", "int x; \n", "blanks at the end")

    def test_tab(self):
        self.assert_found("src/base/bad.cpp", "\tint x;\n", "tab")

    def test_last_line(self):
        self.assert_found("src/base/bad.cpp", "int x;", "no line break")


if __name__ == "__main__":
    unittest.main()
