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
    ${PROJECT_SOURCE_DIR}/front/mumps/host/interrupt.c
    ${PROJECT_SOURCE_DIR}/front/mumps/bridge/engine.c ${PROJECT_SOURCE_DIR}/front/mumps/bridge/machine.c)
set(mumps_embedded ${CMAKE_BINARY_DIR}/generated/mumps.c)
set(mumps_names)
set(mumps_paths)
caret_lua_files(mumps_names mumps_paths front/mumps mumps/)
list(JOIN mumps_names "," names)
list(JOIN mumps_paths "," paths)
add_custom_command(OUTPUT ${mumps_embedded}
    COMMAND ${CMAKE_COMMAND} -DNAMES=${names} -DPATHS=${paths} -DOUT=${mumps_embedded} -DHEADER=mumps/host/host.h
        "-DTABLE=caret_mumps__file caret_mumps__files" -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${mumps_paths} cmake/embed.cmake VERBATIM
    COMMENT "Embedding Lua files of M")
add_library(caret_mumps_objects OBJECT ${mumps_sources} ${mumps_embedded})
target_link_libraries(caret_mumps_objects PUBLIC caret_flags)
target_include_directories(caret_mumps_objects SYSTEM PUBLIC ${LUAJIT_INCLUDE})

add_executable(caret_m front/mumps/host/main.c front/mumps/host/interrupt.c $<TARGET_OBJECTS:caret_mumps_objects> $<TARGET_OBJECTS:caret_m_objects>)
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
    ${mumps_arithmetic}
    $<TARGET_OBJECTS:caret_mumps_objects> $<TARGET_OBJECTS:caret_m_objects>)
set_target_properties(caret_m_module PROPERTIES PREFIX "" OUTPUT_NAME caret_m
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/caret_m.map)
target_include_directories(caret_m_module SYSTEM PRIVATE ${LUAJIT_INCLUDE})
target_link_libraries(caret_m_module PRIVATE caret_flags m ${CMAKE_DL_LIBS})
target_link_options(caret_m_module PRIVATE -Wl,-z,nodelete -Wl,-z,defs -Wl,-Bsymbolic
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/caret_m.map)
install(TARGETS caret_m_module LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/caret)
