# The Python package, build/python/caret: what `pip install ./front/python` installs, beside the engine that is built
# already.  It uses the limited API, so one module serves every Python from 3.11 on.

file(GLOB python_sources CONFIGURE_DEPENDS front/python/*.c)
file(GLOB_RECURSE python_files RELATIVE ${PROJECT_SOURCE_DIR}/front/python CONFIGURE_DEPENDS
    front/python/caret/*.py front/python/caret/*.pyi front/python/caret/py.typed)
find_path(PYTHON_INCLUDE Python.h NO_CACHE
    PATH_SUFFIXES python3.14 python3.13 python3.12 python3.11 PATHS /usr/include /usr/local/include NO_DEFAULT_PATH)

if(CARET_SANITIZE)
    return() # the interpreter would need that sanitizer's runtime
endif()
if(NOT PYTHON_INCLUDE)
    message(STATUS "Headers of Python 3.11 or newer are missing: no package for it (make deps installs them)")
    return()
endif()

set(python_folder ${CMAKE_BINARY_DIR}/python)
add_library(caret_python MODULE ${python_sources})
target_include_directories(caret_python SYSTEM PRIVATE ${PYTHON_INCLUDE})
target_compile_options(caret_python PRIVATE -fno-plt)
target_link_libraries(caret_python PRIVATE caret_static)
target_link_options(caret_python PRIVATE -Wl,-z,nodelete
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/front/python/module.map)
set_target_properties(caret_python PROPERTIES PREFIX "" OUTPUT_NAME _core SUFFIX .abi3.so
    LIBRARY_OUTPUT_DIRECTORY ${python_folder}/caret LINK_DEPENDS ${PROJECT_SOURCE_DIR}/front/python/module.map)
set(python_copies)
foreach(file ${python_files})
    add_custom_command(OUTPUT ${python_folder}/${file}
        COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/front/python/${file} ${python_folder}/${file}
        DEPENDS ${PROJECT_SOURCE_DIR}/front/python/${file} VERBATIM)
    list(APPEND python_copies ${python_folder}/${file})
endforeach()
set(python_errors ${python_folder}/caret/yottadb/errors.def) # the numbers and texts of M's errors
add_custom_command(OUTPUT ${python_errors}
    COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/front/m/errors.def ${python_errors}
    DEPENDS ${PROJECT_SOURCE_DIR}/front/m/errors.def VERBATIM)
list(APPEND python_copies ${python_errors})
add_custom_target(caret_python_files ALL DEPENDS ${python_copies})
add_dependencies(caret_python caret_python_files)
