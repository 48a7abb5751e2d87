"""quickstart_page.py <source tree> <build folder> <cmake> <compiler>: the README's quickstart is a project that builds and runs as it stands, with CMake
and with pkg-config, against the package that the build folder installs."""

import glob
import os
import re
import subprocess
import sys
import tempfile

from pages import blocks

root, build, cmake, compiler = sys.argv[1:5]


def shown(page, language, first=""):
    return next(block.text for block in blocks(root) if block.page == page and block.language == language and block.first.startswith(first))


def run(*words, **more):
    ran = subprocess.run(words, stdout=subprocess.PIPE, text=True, **more)
    print(ran.stdout)
    assert ran.returncode == 0, words
    return ran.stdout


# What every project begins with, and the page leaves out.
beginning = "cmake_minimum_required(VERSION 3.25)\nproject(shop LANGUAGES CXX)\nadd_executable(shop shop.cpp)\n"
package = shown("README.md", "cmake")
assert package == shown("docs/start/install.md", "cmake", "find_package("), "the two pages differ"
by_hand = shown("docs/start/install.md", "", "$ g++ ").removeprefix("$ ").strip()

with tempfile.TemporaryDirectory() as folder:
    prefix = os.path.join(folder, "prefix")
    subprocess.run([cmake, "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    for name, text in (("shop.cpp", shown("README.md", "cpp")), ("CMakeLists.txt", beginning + package)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    run(cmake, "-S", folder, "-B", os.path.join(folder, "build"), f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}")
    run(cmake, "--build", os.path.join(folder, "build"))
    [modules] = glob.glob(os.path.join(prefix, "**", "pkgconfig"), recursive=True)
    libraries = os.path.dirname(modules)
    run("sh", "-c", by_hand.replace("g++", compiler, 1), cwd=folder, env=dict(os.environ, PKG_CONFIG_PATH=modules))

    environment = dict(os.environ, LD_LIBRARY_PATH=libraries)  # as ldconfig does for /usr/local/lib
    for program in ("build/shop", "shop"):
        said = run(os.path.join(folder, program), cwd=folder, env=environment)
        assert re.fullmatch(r"order 17, message \w{26}\n", said), said
