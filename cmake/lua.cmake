# The Lua modules, build/lua/5.5 to 5.1 (the last serves LuaJIT too),
# and the tool, which carries the binding, its Lua files and a Lua 5.4 inside.

find_path(LUA54_INCLUDE lua.h PATH_SUFFIXES lua5.4 lua54 NO_CACHE
    PATHS /usr/include /usr/local/include NO_DEFAULT_PATH)
foreach(v 53 52) # optional
    string(REGEX REPLACE "(.)(.)" "\\1.\\2" version ${v})
    find_path(LUA${v}_INCLUDE lua.h PATH_SUFFIXES lua${version} lua${v} NO_CACHE
        PATHS /usr/include /usr/local/include NO_DEFAULT_PATH)
endforeach()
find_path(LUA55_INCLUDE lua.h PATH_SUFFIXES lua5.5 lua55 NO_CACHE
    PATHS /usr/include /usr/local/include NO_DEFAULT_PATH)
if(LUA55_INCLUDE) # where there is one: tools/lua55.sh brings it for the tests
    list(PREPEND CARET_LUA_VERSIONS 5.5)
endif()
find_path(LUA51_INCLUDE lua.h PATH_SUFFIXES lua5.1 lua51 luajit-2.1 NO_CACHE
    PATHS /usr/include /usr/local/include NO_DEFAULT_PATH)
find_library(LUA54_LIBRARY NAMES liblua5.4.a liblua54.a lua5.4 lua54)

# Lua files, and what the tool has of other languages, by the names that their modules have, with slashes: ${names}, and
# their places at the same index of ${paths}.
macro(caret_lua_files names paths folder prefix)
    file(GLOB_RECURSE found RELATIVE ${PROJECT_SOURCE_DIR}/${folder} CONFIGURE_DEPENDS
        ${folder}/*.lua ${folder}/*.m ${folder}/*.py)
    foreach(file ${found})
        list(APPEND ${names} ${prefix}${file})
        list(APPEND ${paths} ${PROJECT_SOURCE_DIR}/${folder}/${file})
    endforeach()
endmacro()
set(module_names)
set(module_paths)
caret_lua_files(module_names module_paths front/lua "")
caret_lua_files(module_names module_paths front/yottadb/lua "")

# caret_lua_module(version include): everything of one Lua version in one folder.
function(caret_lua_module version include)
    string(REPLACE "." "" v ${version})
    add_library(caret_lua${v}_objects OBJECT ${lua_sources})
    target_link_libraries(caret_lua${v}_objects PUBLIC caret_flags)
    # An operation calls Lua's API about ten times: without a detour each.
    target_compile_options(caret_lua${v}_objects PRIVATE -fno-plt)
    target_include_directories(caret_lua${v}_objects SYSTEM PUBLIC ${include})
    # luaopen_* must be visible; the version script of the module hides the rest.
    set_target_properties(caret_lua${v}_objects PROPERTIES C_VISIBILITY_PRESET default)

    # A module inside a sanitized program would need that sanitizer's runtime in
    # the host interpreter: only the tool uses the binding there.
    if(CARET_SANITIZE)
        return()
    endif()
    set(folder ${CMAKE_BINARY_DIR}/lua/${version})
    add_library(caret_lua${v} MODULE $<TARGET_OBJECTS:caret_lua${v}_objects> $<TARGET_OBJECTS:caret_m_objects>)
    target_link_libraries(caret_lua${v} PRIVATE caret_static)
    target_link_options(caret_lua${v} PRIVATE -Wl,-z,nodelete
        -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/luamodule.map)
    set_target_properties(caret_lua${v} PROPERTIES PREFIX "" OUTPUT_NAME caret LINKER_LANGUAGE C
        LIBRARY_OUTPUT_DIRECTORY ${folder}
        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/luamodule.map)
    set(copies)
    foreach(name path IN ZIP_LISTS module_names module_paths)
        add_custom_command(OUTPUT ${folder}/${name}
            COMMAND ${CMAKE_COMMAND} -E copy ${path} ${folder}/${name} DEPENDS ${path} VERBATIM)
        list(APPEND copies ${folder}/${name})
    endforeach()
    add_custom_target(caret_lua${v}_files ALL DEPENDS ${copies})
endfunction()

if(lua_sources)
    foreach(version ${CARET_LUA_VERSIONS})
        string(REPLACE "." "" v ${version})
        if(LUA${v}_INCLUDE)
            caret_lua_module(${version} ${LUA${v}_INCLUDE})
        else()
            message(STATUS "Lua ${version} headers are missing: no module for it (make deps installs them)")
        endif()
    endforeach()
endif()

# ---------------------------------------------------------------- tool

find_path(EDIT_INCLUDE histedit.h)
find_library(EDIT_LIBRARY edit)
if(tool_sources AND NOT (TARGET caret_lua54_objects AND LUA54_LIBRARY))
    message(STATUS "Lua 5.4 headers or library are missing: the tool is not built (make deps installs them)")
elseif(tool_sources AND NOT (EDIT_INCLUDE AND EDIT_LIBRARY))
    message(STATUS "libedit is missing: the tool is not built (make deps installs it)")
elseif(tool_sources)
    # The Lua files of the binding and the tool become a table in the program, so
    # that it runs from any folder.
    set(embedded ${CMAKE_BINARY_DIR}/generated/embedded.c)
    set(embedded_names ${module_names})
    set(embedded_from ${module_paths})
    list(FILTER embedded_names EXCLUDE REGEX "/meta(_modules)?\\.lua$") # for editors only
    list(FILTER embedded_from EXCLUDE REGEX "/meta(_modules)?\\.lua$")
    caret_lua_files(embedded_names embedded_from front/tool tool/)
    caret_lua_files(embedded_names embedded_from bench/3n1 3n1/)
    caret_page_files(embedded_names embedded_from)
    list(JOIN embedded_names "," names)
    list(JOIN embedded_from "," paths)
    add_custom_command(OUTPUT ${embedded}
        COMMAND ${CMAKE_COMMAND} -DNAMES=${names} -DPATHS=${paths} -DOUT=${embedded}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        DEPENDS ${embedded_from} cmake/embed.cmake VERBATIM
        COMMENT "Embedding Lua files")
    add_executable(caret_tool ${tool_sources} ${embedded} $<TARGET_OBJECTS:caret_lua54_objects>
        $<TARGET_OBJECTS:caret_m_objects>)
    caret_web(caret_tool)
    set_target_properties(caret_tool PROPERTIES OUTPUT_NAME caret)
    target_include_directories(caret_tool SYSTEM PRIVATE ${LUA54_INCLUDE})
    target_link_libraries(caret_tool PRIVATE caret_static ${LUA54_LIBRARY} m ${CMAKE_DL_LIBS})
    # Line editing at the prompt, in the tool alone, and always: help and documents tell of it.
    target_include_directories(caret_tool SYSTEM PRIVATE ${EDIT_INCLUDE})
    target_link_libraries(caret_tool PRIVATE ${EDIT_LIBRARY})
    # The man page and the completion of shells, made by the tool itself from what `caret help` tells.
    if(NOT CMAKE_CROSSCOMPILING AND NOT CARET_SANITIZE)
        set(pages ${CMAKE_BINARY_DIR}/pages)
        add_custom_command(OUTPUT ${pages}/caret.1
            COMMAND ${CMAKE_COMMAND} -DTOOL=$<TARGET_FILE:caret_tool> -DOUT=${pages}
                -P ${PROJECT_SOURCE_DIR}/cmake/pages.cmake
            DEPENDS caret_tool cmake/pages.cmake VERBATIM COMMENT "Making man page and completions")
        add_custom_target(caret_pages ALL DEPENDS ${pages}/caret.1)
    endif()
endif()
