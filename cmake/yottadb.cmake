# libyottadb.so with its headers, in a folder that looks like an installation of YottaDB: build/yottadb, to which
# $ydb_dist is to point, and lib/caret/yottadb where it is installed.

file(GLOB yottadb_sources CONFIGURE_DEPENDS front/yottadb/*.c)
file(GLOB yottadb_headers CONFIGURE_DEPENDS include/yottadb/*.h)
set(yottadb_folder ${CMAKE_BINARY_DIR}/yottadb)
set(yottadb_installed ${CMAKE_INSTALL_LIBDIR}/caret/yottadb)

add_library(caret_yottadb_objects OBJECT ${yottadb_sources})
target_link_libraries(caret_yottadb_objects PUBLIC caret_flags)
add_library(caret_yottadb_static STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:caret_yottadb_objects>) # for tests
set_target_properties(caret_yottadb_static PROPERTIES LINKER_LANGUAGE C)
target_link_libraries(caret_yottadb_static PUBLIC caret_m_static caret_static)

# The database is inside, as in the Lua modules; only the functions of the headers can be seen.
add_library(caret_yottadb SHARED $<TARGET_OBJECTS:caret_yottadb_objects> $<TARGET_OBJECTS:caret_m_objects>)
set_target_properties(caret_yottadb PROPERTIES OUTPUT_NAME yottadb LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY ${yottadb_folder}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/libyottadb.map)
target_link_libraries(caret_yottadb PRIVATE caret_static)
target_link_options(caret_yottadb PRIVATE -Wl,-z,nodelete
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/libyottadb.map)

# What its clients look for beside it.
configure_file(cmake/yottadb.pc.in ${yottadb_folder}/yottadb.pc COPYONLY)
foreach(header ${yottadb_headers})
    get_filename_component(name ${header} NAME)
    configure_file(${header} ${yottadb_folder}/${name} COPYONLY)
endforeach()

install(TARGETS caret_yottadb LIBRARY DESTINATION ${yottadb_installed})
install(FILES ${yottadb_headers} ${yottadb_folder}/yottadb.pc DESTINATION ${yottadb_installed})
