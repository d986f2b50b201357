# caret-m, the program that `caret m` is: M compiled to Lua on LuaJIT.  Its Lua files are inside; of C there is what
# front/mumps/host/exports.def lists.  Only LuaJIT will do.

find_path(LUAJIT_INCLUDE luajit.h PATH_SUFFIXES luajit-2.1 NO_CACHE PATHS /usr/include /usr/local/include NO_DEFAULT_PATH)
find_library(LUAJIT_STATIC NAMES libluajit-5.1.a NO_CACHE)
if(NOT (LUAJIT_INCLUDE AND LUAJIT_STATIC))
    message(STATUS "LuaJIT's header or static library is missing: caret-m is not built (make deps installs them)")
    return()
endif()
set(mumps_sources)
foreach(folder host values data io bridge)
    file(GLOB found CONFIGURE_DEPENDS front/mumps/${folder}/*.c)
    list(APPEND mumps_sources ${found})
endforeach()
list(REMOVE_ITEM mumps_sources ${PROJECT_SOURCE_DIR}/front/mumps/host/main.c
    ${PROJECT_SOURCE_DIR}/front/mumps/host/interrupt.c ${PROJECT_SOURCE_DIR}/front/mumps/host/bytecode.c
    ${PROJECT_SOURCE_DIR}/front/mumps/bridge/engine.c ${PROJECT_SOURCE_DIR}/front/mumps/bridge/machine.c)
set(mumps_names)
set(mumps_paths)
caret_lua_files(mumps_names mumps_paths front/mumps mumps/)
list(JOIN mumps_names "," names)

# caret_embed_mumps(out paths): a C file with the Lua files of M.
function(caret_embed_mumps out)
    list(JOIN ARGN "," paths)
    add_custom_command(OUTPUT ${out}
        COMMAND ${CMAKE_COMMAND} -DNAMES=${names} -DPATHS=${paths} -DOUT=${out} -DHEADER=mumps/host/host.h
            "-DTABLE=caret_mumps__file caret_mumps__files" -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM
        COMMENT "Embedding Lua files of M")
endfunction()
set(mumps_embedded ${CMAKE_BINARY_DIR}/generated/mumps.c)
caret_embed_mumps(${mumps_embedded} ${mumps_paths})
add_library(caret_mumps_objects OBJECT ${mumps_sources})
target_link_libraries(caret_mumps_objects PUBLIC caret_flags)
target_include_directories(caret_mumps_objects SYSTEM PUBLIC ${LUAJIT_INCLUDE})

# In caret-m they are bytecode of the LuaJIT that it is linked with, which is loaded in a tenth of the time.
set(mumps_inside ${mumps_embedded})
if(NOT CMAKE_CROSSCOMPILING AND NOT CARET_SANITIZE)
    add_executable(caret_m_bytecode front/mumps/host/bytecode.c)
    target_include_directories(caret_m_bytecode SYSTEM PRIVATE ${LUAJIT_INCLUDE})
    target_link_libraries(caret_m_bytecode PRIVATE caret_flags ${LUAJIT_STATIC} m ${CMAKE_DL_LIBS})
    set(mumps_code ${CMAKE_BINARY_DIR}/generated/bytecode)
    set(compiled)
    set(pairs)
    set(mumps_loaded)
    foreach(name path IN ZIP_LISTS mumps_names mumps_paths)
        if(name MATCHES "\\.lua$")
            get_filename_component(folder ${mumps_code}/${name} DIRECTORY)
            file(MAKE_DIRECTORY ${folder})
            list(APPEND pairs ${name} ${path})
            set(path ${mumps_code}/${name})
            list(APPEND compiled ${path})
        endif()
        list(APPEND mumps_loaded ${path})
    endforeach()
    add_custom_command(OUTPUT ${compiled} COMMAND caret_m_bytecode ${mumps_code} ${pairs}
        DEPENDS caret_m_bytecode ${mumps_paths} VERBATIM COMMENT "Compiling Lua files of M")
    set(mumps_inside ${CMAKE_BINARY_DIR}/generated/mumps_bytecode.c)
    caret_embed_mumps(${mumps_inside} ${mumps_loaded})
endif()

add_executable(caret_m front/mumps/host/main.c front/mumps/host/interrupt.c ${mumps_inside}
    $<TARGET_OBJECTS:caret_mumps_objects> $<TARGET_OBJECTS:caret_m_objects>)
set_target_properties(caret_m PROPERTIES OUTPUT_NAME caret-m)
target_include_directories(caret_m SYSTEM PRIVATE ${LUAJIT_INCLUDE})
target_link_libraries(caret_m PRIVATE caret_static ${LUAJIT_STATIC} m ${CMAKE_DL_LIBS})

# caret_m.so: the same for programs that call M (front/m/machine.h).  It uses the engine of what loads it, and of the
# project's files only the arithmetic is in it; LuaJIT's shared library is loaded by it.
if(CARET_SANITIZE OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|aarch64)$")
    return()
endif()
file(GLOB mumps_arithmetic CONFIGURE_DEPENDS src/base/assert.c src/base/decimal*.c src/base/number*.c src/base/key*.c src/base/double*.c)
add_library(caret_m_module MODULE front/mumps/bridge/engine.c front/mumps/bridge/machine.c
    ${mumps_arithmetic} ${mumps_embedded}
    $<TARGET_OBJECTS:caret_mumps_objects> $<TARGET_OBJECTS:caret_m_objects>)
set_target_properties(caret_m_module PROPERTIES PREFIX "" OUTPUT_NAME caret_m
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/caret_m.map)
target_include_directories(caret_m_module SYSTEM PRIVATE ${LUAJIT_INCLUDE})
target_link_libraries(caret_m_module PRIVATE caret_flags m ${CMAKE_DL_LIBS})
target_link_options(caret_m_module PRIVATE -Wl,-z,nodelete -Wl,-z,defs -Wl,-Bsymbolic
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/caret_m.map)
install(TARGETS caret_m_module LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/caret)
