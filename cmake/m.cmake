# front/m, M's semantics: linked into libyottadb.so, the Lua modules and the tool as it is.

file(GLOB m_sources CONFIGURE_DEPENDS front/m/*.c)
add_library(caret_m_objects OBJECT ${m_sources})
target_link_libraries(caret_m_objects PUBLIC caret_flags)
add_library(caret_m_static STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:caret_m_objects>) # for tests
set_target_properties(caret_m_static PROPERTIES LINKER_LANGUAGE C)
target_link_libraries(caret_m_static PUBLIC caret_static)
