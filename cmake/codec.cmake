# front/server/codec, what the server computes without a database: pure functions, and the C modules of its scripts.

file(GLOB codec_sources CONFIGURE_DEPENDS front/server/codec/*.c)
add_library(caret_server_parts STATIC EXCLUDE_FROM_ALL ${codec_sources})
target_link_libraries(caret_server_parts PUBLIC caret_flags m)
