"""usage: install_test.py CMAKE BUILD_FOLDER SOURCE_FOLDER

Installs a build under a temporary prefix, moves the prefix, and checks from outside the tree: the program finds its
model by itself, a CMake project and a pkg-config user build and run, and only the public interface is shown.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
HERE = pathlib.Path(__file__).parent
EXPECTED = r"0\.\d+\.\d+ 2 320 1 3\n"


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise AssertionError(f"{command} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout


def visible_symbols(library):
    """Mangled names that a shared library defines for others."""
    return [line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()]


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        run(CMAKE, "--install", BUILD, "--prefix", cls.work / "first")
        cls.prefix = cls.work / "moved"
        shutil.move(cls.work / "first", cls.prefix)
        cls.library = next(cls.prefix.glob("lib*/**/libbiowarp.so")).parent
        # Nothing of the surroundings but the search path: no library path, no home, no settings.
        cls.bare = {"PATH": os.environ["PATH"]}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_program_embeds_without_any_path(self):
        fasta = self.work / "two.fasta"
        fasta.write_text(">one\nMKTAYIAKQR\n>two\nGSHM\n")
        run(self.prefix / "bin/biowarp", "embed", fasta, "-o", self.work / "out.npy", cwd=self.work, env=self.bare)
        header = (self.work / "out.npy").read_bytes()[:128]
        self.assertIn(b"(2, 320)", header)

    def test_cmake_package(self):
        build = self.work / "consumer"
        run(CMAKE, "-S", HERE / "consumer", "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run(CMAKE, "--build", build)
        self.assertRegex(run(build / "consumer", cwd=self.work, env=self.bare), EXPECTED)

    def test_pkg_config(self):
        environment = {**self.bare, "PKG_CONFIG_PATH": str(self.library / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "biowarp", env=environment).split()
        program = self.work / "by_pkg_config"
        run("c++", "-std=c++20", HERE / "consumer/main.cpp", "-o", program, *flags)
        found = run(program, cwd=self.work, env={**self.bare, "LD_LIBRARY_PATH": str(self.library)})
        self.assertRegex(found, EXPECTED)

    def test_only_the_interface_is_visible(self):
        names = visible_symbols(self.library / "libbiowarp.so")
        own = [name for name in names if re.match(r"_ZN?K?(T[ISV])?N?K?7biowarp", name)]
        self.assertTrue(any("Model" in name for name in own))
        inside = ("Engine", "Context", "ThreadPool", "Esm2", "MappedFile", "AtomicFile", "TensorView")
        self.assertEqual([name for name in own if any(f"{len(word)}{word}" in name for word in inside)], [])
        foreign = ("dnnl", "nlohmann", "spdlog", "H5", "ZSTD", "curl_")
        self.assertEqual([name for name in names if name.startswith(foreign)], [])

    def test_headers_stand_alone(self):
        for header in (self.prefix / "include/biowarp").glob("*.h"):
            run("c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", self.prefix / "include",
                "-x", "c++", "-", input=f"#include <biowarp/{header.name}>\n")

    def test_completion(self):
        script = self.prefix / "share/bash-completion/completions/biowarp"
        self.assertIn("embed", script.read_text())
        run("bash", "-n", script)

    def test_no_path_of_the_tree_is_left_behind(self):
        for file in [*self.prefix.rglob("*.cmake"), *self.prefix.rglob("*.pc")]:
            self.assertNotIn(str(SOURCE), file.read_text(), file)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
