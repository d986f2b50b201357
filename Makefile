# A short front of the CMake build.  The presets are in CMakePresets.json.
#
#   make            build release into build/
#   make deps       install what is missing (apt, as root or with sudo)
#   make demo       deps, build, run the main job
#   make test       deps, all tests in all configurations
#   make test-python  the tests of the Python package alone
#   make test-store  what a database by an address must do: that of CARET_TEST_URL (all in it is killed), else a
#                   PostgreSQL of its own
#   make wheel      the Python package as wheels, in build/wheel
#   make torture    deps, the long forms of the tests, with counts
#   make bench      build and run the benchmarks
#   make rivals     install the systems that 3n+1 can be compared with, build their programs
#   make docs       deps, the reference of the Lua module as HTML
#   make deb        Debian packages, in build/deb
#   make install    cmake --install (PREFIX=/usr/local, DESTDIR)
#   make clean      remove all build folders

PREFIX ?= /usr/local

.NOTPARALLEL:
.PHONY: release deps demo test test-python test-store wheel torture bench rivals docs deb install clean

release:
	@sh tools/deps.sh --build
	@mkdir -p build
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >build/configure.log 2>&1 || \
	    { cat build/configure.log; exit 1; }
	@cmake --build build --target product

deps:
	@sh tools/deps.sh

demo: deps release
	build/caret 3n1 -n 100000 -w 1
	build/caret 3n1 -n 100000 -w 4

test: deps
	@sh tools/test.sh

test-python: deps release
	@cmake --preset release >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build build --target caret_python judge watch
	@ctest --test-dir build -R '^python/' --output-on-failure
	@sh test/torture/python_package.sh

test-store: deps release
	@cmake --preset release >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build build --target judge behaviour_c test_api_history store_append store_differ store_locks
	@sh test/with_postgres.sh sh test/store/suite.sh long

wheel: deps
	@sh tools/wheel.sh

torture: deps
	@sh tools/torture.sh

bench: deps release
	@cmake --build build --target benchmarks
	@sh bench/run.sh build

rivals:
	@sh tools/deps.sh --rivals
	@$(MAKE) --no-print-directory release
	@cmake --preset release >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build build --target benchmarks
	build/caret 3n1 --list

docs: deps
	@mkdir -p build/docs
	@lua5.4 tools/reference.lua build/docs
	@cd build/docs && ldoc -q .
	@echo build/docs/html/index.html

deb: deps
	@sh tools/deb.sh

install: release
	cmake --install build

clean:
	rm -rf build build-debug build-small build-asan build-asan-small build-tsan build-tsan-small build-fuzz
