# front/server/codec, what the server computes without a database: pure functions, and the C modules of its scripts.

file(GLOB codec_sources CONFIGURE_DEPENDS front/server/codec/*.c)
add_library(caret_server_parts STATIC EXCLUDE_FROM_ALL ${codec_sources})
target_link_libraries(caret_server_parts PUBLIC caret_flags m)
target_compile_options(caret_server_parts PRIVATE -ffp-contract=off) # distances have the same last bit on every machine

# The C modules of scripts, for whatever has the interface of Lua 5.1: LuaJIT, or Lua 5.1 itself.
find_path(CARET_SCRIPT_INCLUDE lua.h PATH_SUFFIXES luajit-2.1 lua5.1 lua51 NO_CACHE
    PATHS /usr/include /usr/local/include NO_DEFAULT_PATH)
if(CARET_SCRIPT_INCLUDE)
    file(GLOB script_sources CONFIGURE_DEPENDS front/server/script/*.c)
    add_library(caret_server_script STATIC EXCLUDE_FROM_ALL ${script_sources})
    target_include_directories(caret_server_script SYSTEM PUBLIC ${CARET_SCRIPT_INCLUDE})
    target_link_libraries(caret_server_script PUBLIC caret_flags m)
    find_library(CARET_SCRIPT_LUA NAMES luajit-5.1 lua5.1 lua51) # for tests
    if(CARET_TESTS AND NOT CARET_SANITIZE) # for test/run/server_codec.sh
        add_library(codec_module MODULE test/server/codec_module.c)
        target_link_libraries(codec_module PRIVATE caret_server_parts caret_server_script)
        set_target_properties(codec_module PROPERTIES PREFIX "" OUTPUT_NAME codec
            LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
    endif()
endif()
