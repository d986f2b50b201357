# The engine: libcaret.a and libcaret.so from one set of objects.
#
# With CARET_LTO gcc first optimises all files together into one plain object, so
# that both libraries gain and whoever links libcaret.a needs no LTO of his own.

add_library(caret_objects OBJECT ${CARET_SOURCES})
target_link_libraries(caret_objects PUBLIC caret_flags)
set(caret_parts $<TARGET_OBJECTS:caret_objects>)

if(CARET_LTO AND NOT CARET_SANITIZE)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 9)
        target_compile_options(caret_objects PRIVATE -flto)
        string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
        separate_arguments(lto_flags UNIX_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}}")
        set(caret_whole ${CMAKE_BINARY_DIR}/caret_whole.o)
        add_custom_command(OUTPUT ${caret_whole}
            COMMAND ${CMAKE_C_COMPILER} ${lto_flags} -fPIC -flto=auto -flinker-output=nolto-rel
                -nostdlib -r -o ${caret_whole} $<TARGET_OBJECTS:caret_objects>
            DEPENDS caret_objects $<TARGET_OBJECTS:caret_objects>
            COMMAND_EXPAND_LISTS VERBATIM
            COMMENT "Optimising the engine as a whole")
        set_source_files_properties(${caret_whole} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
        add_custom_target(caret_whole DEPENDS ${caret_whole})
        set(caret_parts ${caret_whole})
    else()
        message(STATUS "CARET_LTO needs gcc 9 or newer: off")
    endif()
endif()

add_library(caret_static STATIC ${caret_parts})
add_library(caret_shared SHARED ${caret_parts})
foreach(target caret_static caret_shared)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME caret LINKER_LANGUAGE C)
    target_link_libraries(${target} PUBLIC caret_flags m ${CMAKE_DL_LIBS})
    if(TARGET caret_whole)
        add_dependencies(${target} caret_whole)
    endif()
endforeach()

target_link_options(caret_shared PRIVATE -Wl,-z,nodelete
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/libcaret.map)
if(TARGET caret_whole) # a half-written engine may be built, but not released
    target_link_options(caret_shared PRIVATE -Wl,-z,defs)
endif()
set_target_properties(caret_shared PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/libcaret.map)
