# front/server/codec, what the server computes without a database: pure functions, and the C modules of its scripts.

file(GLOB codec_sources CONFIGURE_DEPENDS front/server/codec/*.c)
add_library(caret_server_parts STATIC EXCLUDE_FROM_ALL ${codec_sources})
target_link_libraries(caret_server_parts PUBLIC caret_flags m)
target_compile_options(caret_server_parts PRIVATE -ffp-contract=off) # distances have the same last bit on every machine

# Lua for scripts of the server: LuaJIT, or what has the same interface, Lua 5.1. Header and library of one and the same.
unset(CARET_SCRIPT_LUA CACHE) # of a build that was set up earlier
set(CARET_SCRIPT_LUA)
foreach(lua "luajit-2.1;luajit-5.1" "lua5.1;lua5.1" "lua51;lua51")
    list(GET lua 0 folder)
    list(GET lua 1 library)
    unset(script_include CACHE)
    unset(script_library CACHE)
    find_path(script_include lua.h PATH_SUFFIXES ${folder} PATHS /usr/include /usr/local/include NO_DEFAULT_PATH)
    find_library(script_library NAMES ${library})
    if(script_include AND script_library AND NOT CARET_SCRIPT_LUA)
        set(CARET_SCRIPT_INCLUDE ${script_include})
        set(CARET_SCRIPT_LUA ${script_library})
    endif()
endforeach()
if(CARET_SCRIPT_LUA)
    set(script_sources bit cjson cjson_decode cjson_encode msgpack out struct) # the C modules; the rest is the server's
    list(TRANSFORM script_sources REPLACE "(.+)" "front/server/script/\\1.c")
    add_library(caret_server_script STATIC EXCLUDE_FROM_ALL ${script_sources})
    target_include_directories(caret_server_script SYSTEM PUBLIC ${CARET_SCRIPT_INCLUDE})
    target_link_libraries(caret_server_script PUBLIC caret_flags m)
    if(CARET_TESTS AND NOT CARET_SANITIZE) # for test/run/server_codec.sh
        add_library(codec_module MODULE test/server/codec_module.c)
        target_link_libraries(codec_module PRIVATE caret_server_parts caret_server_script)
        set_target_properties(codec_module PROPERTIES PREFIX "" OUTPUT_NAME codec
            LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
    endif()
endif()
