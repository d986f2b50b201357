# Tests, all found by their place and name:
#   test/<layer>/test_<topic>.c   cmocka program       -> <layer>/<topic>
#   test/lua/test_<topic>.lua     luaunit, per Lua     -> lua5.4/<topic>, lua5.3/..., luajit/...
#   test/python/test_<topic>.py   unittest program     -> python/<topic>
#   test/run/<topic>.sh           any other test       -> run/<topic>  (exit 77: skipped; common.sh is what they share)
#   test/fuzz/fuzz_<topic>.c      libFuzzer, with CARET_FUZZ
#   test/behaviour/*.txt          cases as data        -> behaviour/c, behaviour/yottadb, lua5.4/behaviour, ...
# test/support/*.c is linked into every C test.
#
# test/watch.c runs each: it ends what hangs, and fails what leaves a process running.  CTest's own limit is not to be met.

add_executable(watch test/watch.c)
target_compile_definitions(watch PRIVATE _GNU_SOURCE)
target_include_directories(watch PRIVATE test)
target_compile_options(watch PRIVATE -Wall -Wextra $<$<BOOL:${CARET_WERROR}>:-Werror>)
set_target_properties(watch PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
# What the tests need whose labels are neither lua, python nor run: a preset that runs only these builds nothing else.
add_custom_target(unit_tests DEPENDS watch caret_shared caret_yottadb)
foreach(target caret_lua54 caret_lua54_files) # api/unload
    if(TARGET ${target})
        add_dependencies(unit_tests ${target})
    endif()
endforeach()
set(test_environment "CARET_BUILD=${CMAKE_BINARY_DIR};CARET_SOURCE=${PROJECT_SOURCE_DIR}")

# Those that take long, the longest first: they begin before the others, so that no processor is idle at the end.
set(long_tests run/web_page run/deb run/lua55 run/install run/rivals api/step run/store_states log/powerloss run/web
    run/yottadb_rust run/store_phases run/store_trouble store/postgres log/syscalls run/style api/torture api/stopped
    run/musl run/mumps_conf run/transfer run/store_failover run/m_limits log/full lua5.2/iteration run/store_fronts
    run/yottadb_python run/signals)

# caret_test(name label... COMMAND command...)
function(caret_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS;COMMAND;ENVIRONMENT")
    add_test(NAME ${name}
        COMMAND $<TARGET_FILE:watch> 290 ${name} ${arg_COMMAND})
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 36000 SKIP_RETURN_CODE 77
        ENVIRONMENT "${test_environment};${arg_ENVIRONMENT}")
    list(FIND long_tests ${name} place)
    if(NOT place EQUAL -1)
        math(EXPR cost "1000 - ${place}")
        set_tests_properties(${name} PROPERTIES COST ${cost})
    endif()
endfunction()

# ---------------------------------------------------------------- C

find_path(CMOCKA_INCLUDE cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)
find_path(FUSE_INCLUDE fuse.h PATH_SUFFIXES fuse3 NO_CMAKE_PATH)
find_library(FUSE_LIBRARY fuse3)
if(NOT CMOCKA_INCLUDE OR NOT CMOCKA_LIBRARY)
    message(STATUS "cmocka is missing: the C tests are not built (make deps installs it)")
else()
    file(GLOB support_sources CONFIGURE_DEPENDS test/support/*.c)
    if(support_sources)
        add_library(caret_test_support STATIC ${support_sources})
        target_include_directories(caret_test_support PUBLIC test)
        target_include_directories(caret_test_support SYSTEM PUBLIC ${CMOCKA_INCLUDE})
        target_link_libraries(caret_test_support PUBLIC caret_static ${CMOCKA_LIBRARY})
    endif()
    file(GLOB test_sources CONFIGURE_DEPENDS test/*/test_*.c)
    # The library is what takes the time: its tests are not optimised, and what they compute themselves is not watched,
    # so that they compile in a third of the time.  Options of sources come after all others.
    set(test_options -O0 -g1)
    if(CARET_SANITIZE MATCHES "undefined")
        list(APPEND test_options -fno-sanitize=undefined)
    endif()
    set_source_files_properties(${support_sources} ${test_sources} PROPERTIES COMPILE_OPTIONS "${test_options}")
    foreach(source ${test_sources})
        get_filename_component(layer ${source} DIRECTORY)
        get_filename_component(layer ${layer} NAME)
        get_filename_component(topic ${source} NAME_WE)
        string(REGEX REPLACE "^test_" "" topic ${topic})
        set(target test_${layer}_${topic})
        if(target STREQUAL test_server_script AND NOT CARET_SCRIPT_LUA)
            message(STATUS "LuaJIT and Lua 5.1 are missing: modules of scripts are not tested (make deps installs them)")
            continue()
        endif()
        if(target STREQUAL test_server_power AND (CARET_SMALL OR NOT TARGET caret_server_objects))
            continue()
        endif()
        add_executable(${target} ${source})
        target_include_directories(${target} PRIVATE test)
        target_include_directories(${target} SYSTEM PRIVATE ${CMOCKA_INCLUDE})
        target_link_libraries(${target} PRIVATE caret_static ${CMOCKA_LIBRARY} ${CMAKE_DL_LIBS})
        if(TARGET caret_test_support)
            target_link_libraries(${target} PRIVATE caret_test_support)
        endif()
        set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
        if(layer STREQUAL m)
            target_link_libraries(${target} PRIVATE caret_m_static)
        elseif(layer STREQUAL yottadb)
            target_link_libraries(${target} PRIVATE caret_yottadb_static)
        elseif(layer STREQUAL server)
            target_link_libraries(${target} PRIVATE caret_server_parts)
        endif()
        if(target STREQUAL test_server_power) # has the server in it, whose calls it records
            caret_server_in(${target})
            if(CARET_SCRIPT_LUA)
                target_compile_definitions(${target} PRIVATE HAVE_SCRIPTS=1)
            endif()
        endif()
        if(target STREQUAL test_server_script)
            target_link_libraries(${target} PRIVATE caret_server_script ${CARET_SCRIPT_LUA})
        endif()
        if(target STREQUAL test_api_arguments) # compares itself with the header
            target_compile_definitions(${target} PRIVATE CARET_HEADER="${PROJECT_SOURCE_DIR}/include/caret.h")
        endif()
        if(target STREQUAL test_log_powerloss AND FUSE_INCLUDE AND FUSE_LIBRARY)
            target_compile_definitions(${target} PRIVATE HAVE_FUSE3=1)
            target_include_directories(${target} SYSTEM PRIVATE ${FUSE_INCLUDE})
            target_link_libraries(${target} PRIVATE ${FUSE_LIBRARY})
        endif()
        if(NOT CARET_FUZZ)
            add_dependencies(unit_tests ${target})
            caret_test(${layer}/${topic} LABELS c ${layer} COMMAND $<TARGET_FILE:${target}>)
        endif()
    endforeach()
endif()

# ---------------------------------------------------------------- behaviour

# What the database is, run by every front-end: test/behaviour/README.md.
file(GLOB behaviour_cases CONFIGURE_DEPENDS test/behaviour/*.txt)

# caret_behaviour(name label... COMMAND command...): a front-end, as the judge starts it
function(caret_behaviour name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS;COMMAND;ENVIRONMENT")
    caret_test(${name} LABELS ${arg_LABELS} ENVIRONMENT ${arg_ENVIRONMENT}
        COMMAND $<TARGET_FILE:judge> ${behaviour_cases} -- ${arg_COMMAND})
endfunction()

add_executable(judge test/behaviour/judge.c test/behaviour/script.c)
target_link_libraries(judge PRIVATE caret_flags)
target_include_directories(judge PRIVATE test)
set_target_properties(judge PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
foreach(pair c:caret_static yottadb:caret_yottadb)
    string(REGEX REPLACE ":.*" "" front ${pair})
    string(REGEX REPLACE ".*:" "" library ${pair})
    add_executable(behaviour_${front} test/behaviour/run_${front}.c test/behaviour/front.c)
    target_link_libraries(behaviour_${front} PRIVATE caret_flags ${library})
    set_target_properties(behaviour_${front} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
    caret_behaviour(behaviour/${front} LABELS c behaviour COMMAND $<TARGET_FILE:behaviour_${front}>)
endforeach()
caret_behaviour(behaviour/memory LABELS c behaviour COMMAND $<TARGET_FILE:behaviour_c> memory)
# The same over a store, which is the tests' own (test/support/memory_store.c).
add_executable(behaviour_store test/behaviour/run_c.c test/behaviour/front.c test/support/memory_store.c)
target_compile_definitions(behaviour_store PRIVATE CARET_TEST_STORE=1)
target_include_directories(behaviour_store PRIVATE test)
target_link_libraries(behaviour_store PRIVATE caret_flags caret_static)
set_target_properties(behaviour_store PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
caret_behaviour(behaviour/store LABELS c behaviour COMMAND $<TARGET_FILE:behaviour_store> store)
add_dependencies(unit_tests judge behaviour_c behaviour_yottadb behaviour_store)

# ---------------------------------------------------------------- stores

# Programs that test/run/store*.sh and test/torture/store*.sh use: test/store/postgres.sh.
add_executable(proxy test/store/proxy.c)
target_link_libraries(proxy PRIVATE caret_flags)
set_target_properties(proxy PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
if(TARGET caret_test_support)
    foreach(program append differ locks)
        add_executable(store_${program} test/store/${program}.c)
        target_link_libraries(store_${program} PRIVATE caret_test_support caret_static)
        set_target_properties(store_${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
    endforeach()
endif()

# ---------------------------------------------------------------- Lua

if(NOT CARET_SANITIZE)
    file(GLOB lua_tests CONFIGURE_DEPENDS test/lua/test_*.lua)
    # luajit-c: LuaJIT with the C module alone
    foreach(name lua5.4 lua5.3 lua5.2 lua5.1 luajit luajit-c)
        string(REGEX REPLACE "-c$" "" interpreter ${name})
        string(REGEX REPLACE "^lua" "" version ${interpreter})
        if(interpreter STREQUAL "luajit")
            set(version 5.1)
        endif()
        string(REPLACE "." "" v ${version})
        find_program(program_${interpreter} ${interpreter})
        if(NOT lua_tests OR NOT TARGET caret_lua${v})
            continue()
        elseif(NOT program_${interpreter})
            message(STATUS "${interpreter} is missing: its tests are not run (make deps installs it)")
            continue()
        endif()
        execute_process(COMMAND ${program_${interpreter}} -e "require 'luaunit'"
            RESULT_VARIABLE no_luaunit OUTPUT_QUIET ERROR_QUIET)
        if(no_luaunit)
            message(STATUS "luaunit for ${interpreter} is missing: its tests are not run (make deps installs it)")
            continue()
        endif()
        set(environment CARET_LUA=${program_${interpreter}})
        if(name STREQUAL "luajit-c")
            list(APPEND environment CARET_FFI=off)
        endif()
        foreach(source ${lua_tests})
            get_filename_component(topic ${source} NAME_WE)
            string(REGEX REPLACE "^test_" "" topic ${topic})
            caret_test(${name}/${topic} LABELS lua ${name}
                COMMAND sh ${PROJECT_SOURCE_DIR}/tools/lua.sh ${program_${interpreter}} ${source} -v
                ENVIRONMENT ${environment})
        endforeach()
        caret_behaviour(${name}/behaviour LABELS lua ${name} ENVIRONMENT ${environment}
            COMMAND sh ${PROJECT_SOURCE_DIR}/tools/lua.sh ${program_${interpreter}}
                ${PROJECT_SOURCE_DIR}/test/behaviour/run.lua)
    endforeach()
endif()

# ---------------------------------------------------------------- Python

# test/python/test_<topic>.py   unittest program         -> python/<topic>, with a Python that can load the package
find_program(program_python3 NAMES python3 NO_CMAKE_PATH PATHS /usr/bin NO_DEFAULT_PATH)
if(TARGET caret_python AND NOT program_python3)
    message(STATUS "python3 is missing: the tests of the Python package are not run (make deps installs it)")
elseif(TARGET caret_python)
    set(environment PYTHONPATH=${CMAKE_BINARY_DIR}/python PYTHONDONTWRITEBYTECODE=1)
    file(GLOB python_tests CONFIGURE_DEPENDS test/python/test_*.py)
    foreach(source ${python_tests})
        get_filename_component(topic ${source} NAME_WE)
        string(REGEX REPLACE "^test_" "" topic ${topic})
        caret_test(python/${topic} LABELS python COMMAND ${program_python3} ${source} ENVIRONMENT ${environment})
    endforeach()
    caret_behaviour(python/behaviour LABELS python ENVIRONMENT ${environment}
        COMMAND ${program_python3} ${PROJECT_SOURCE_DIR}/test/behaviour/run.py)
endif()

# ---------------------------------------------------------------- other programs

file(GLOB run_tests CONFIGURE_DEPENDS test/run/*.sh)
list(FILTER run_tests EXCLUDE REGEX "/common\\.sh$")
foreach(source ${run_tests})
    get_filename_component(topic ${source} NAME_WE)
    caret_test(run/${topic} LABELS run COMMAND sh ${source})
endforeach()

# ---------------------------------------------------------------- libFuzzer

if(CARET_FUZZ)
    add_custom_target(fuzzers)
    file(GLOB fuzz_sources CONFIGURE_DEPENDS test/fuzz/fuzz_*.c)
    foreach(source ${fuzz_sources})
        get_filename_component(target ${source} NAME_WE)
        if(target STREQUAL fuzz_script AND NOT CARET_SCRIPT_LUA)
            continue()
        endif()
        add_executable(${target} ${source})
        target_include_directories(${target} PRIVATE test)
        target_compile_options(${target} PRIVATE -Wno-missing-prototypes)
        target_link_libraries(${target} PRIVATE caret_static)
        if(target STREQUAL fuzz_codec OR target STREQUAL fuzz_payload)
            target_link_libraries(${target} PRIVATE caret_server_parts)
        elseif(target STREQUAL fuzz_resp)
            target_sources(${target} PRIVATE front/server/parse.c front/server/buffer.c)
        elseif(target STREQUAL fuzz_script)
            target_link_libraries(${target} PRIVATE caret_server_script ${CARET_SCRIPT_LUA})
        endif()
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
        set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
        add_dependencies(fuzzers ${target})
    endforeach()
endif()
