"""The extension caret._core: the engine and the binding, with nothing but a C compiler.

In a checkout the engine is two folders up; in an sdist it is in the folder engine/, where the command sdist copies it.
Its files are compiled side by side, on all processors, and not as one unit that includes them all: static functions of
several files have the same names, and tools/amalgamate.lua, which tells them apart, needs Lua.  What that costs is 3 %
of a get and of a step, 4 % of a child, 6 % of a transaction and 10 % of a set, beside the module of `make`.
"""

import os
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from glob import glob

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(HERE)
PACKED = os.path.isdir("engine")
ENGINE = "engine" if PACKED else os.path.join("..", "..")
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
NEEDED = ("layers", "LICENSE", "include/caret.h", "src", "front/python", "front/m/errors.def")

if not sys.platform.startswith("linux"):
    sys.exit("caretdb runs on Linux alone: it shares memory between processes by robust futexes")


def engine_sources():
    with open(os.path.join(ENGINE, "layers")) as f:
        layers = [name for line in f if line.startswith("engine ") for name in line.split()[1:]]
    return sorted(path for name in layers for path in glob(os.path.join(ENGINE, "src", name, "*.c")))


class Build(build_ext):
    def build_extension(self, ext):
        """Compile in parallel, each file to an object of its own name, also those from outside of this folder."""
        compiler, folder = self.compiler, os.path.join(self.build_temp, "caret")
        extra = list(ext.extra_compile_args)

        def compile(source):
            name = os.path.relpath(source, ENGINE).replace(os.sep, "_")[:-2] + ".o"
            target = os.path.join(folder, name)
            command = [*compiler.compiler_so, *extra, "-c", source, "-o", target]
            for include in [*ext.include_dirs, *compiler.include_dirs]:
                command[-4:-4] = ["-I" + include]
            for key, value in ext.define_macros:
                command[-4:-4] = ["-D%s=%s" % (key, value) if value else "-D" + key]
            self.spawn(command)
            return target

        os.makedirs(folder, exist_ok=True)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            objects = list(pool.map(compile, ext.sources))
        path = self.get_ext_fullpath(ext.name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        compiler.link_shared_object(objects, path, libraries=ext.libraries, extra_postargs=ext.extra_link_args,
                                    build_temp=self.build_temp, target_lang="c")


class Copy(build_py):
    def run(self):
        """Beside the modules goes the table of M's errors, which caret.yottadb reads."""
        super().run()
        shutil.copy(os.path.join(ENGINE, "front", "m", "errors.def"), os.path.join(self.build_lib, "caret", "yottadb"))


class Pack(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, [f for f in files if not f.startswith("engine")])
        for name in NEEDED:
            source, target = os.path.join(ENGINE, name), os.path.join(base_dir, "engine", name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.isdir(source):
                only = lambda folder, names: [n for n in names if not os.path.isdir(os.path.join(folder, n))
                                              and not n.endswith((".c", ".h", ".def", ".map"))
                                              or n in ("build", "caret", "__pycache__", "engine", "caretdb.egg-info")]
                shutil.copytree(source, target, ignore=only, dirs_exist_ok=True)
            else:
                shutil.copy(source, target)


binding = os.path.join(ENGINE, "front", "python")
core = Extension(
    "caret._core",
    sources=engine_sources() + sorted(glob(os.path.join(binding, "*.c"))),
    include_dirs=[os.path.join(ENGINE, folder) for folder in ("include", "src", "front")],
    define_macros=[("_GNU_SOURCE", ""), ("NDEBUG", "")],
    extra_compile_args=["-std=gnu17", "-O2", "-g0", "-fvisibility=hidden", "-fno-plt", "-pthread",
                        "-Werror=implicit-function-declaration"],
    extra_link_args=["-pthread", "-Wl,-s", "-Wl,-z,nodelete", "-Wl,--version-script=" + os.path.join(binding, "module.map")],
    libraries=["m"],
    py_limited_api=not FREE_THREADED,
)
setup(
    license="MIT",  # here, as old setuptools and new ones want it in pyproject.toml in different ways
    ext_modules=[core],
    cmdclass={"build_ext": Build, "build_py": Copy, "sdist": Pack},
    options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
