# Arrow C++, with which tests read what Weir writes: Arrow::arrow, and its version WeirArrow_VERSION.
#
# A system package or -DArrow_ROOT=/path with Arrow's own CMake files is taken first. Otherwise the C++ part of the
# pyarrow wheel that tools/setup.sh unpacks into third_party/pyarrow; it has headers and libraries but no CMake files
# and no unversioned library names.

include(FindPackageHandleStandardArgs)
find_package(Arrow CONFIG QUIET)
if(Arrow_FOUND)
  if(NOT TARGET Arrow::arrow)
    add_library(Arrow::arrow ALIAS Arrow::arrow_shared)
  endif()
  set(WeirArrow_VERSION ${Arrow_VERSION})
  find_package_handle_standard_args(WeirArrow REQUIRED_VARS WeirArrow_VERSION VERSION_VAR WeirArrow_VERSION)
  return()
endif()

set(_root ${CMAKE_SOURCE_DIR}/third_party/pyarrow)
find_path(WeirArrow_INCLUDE_DIR arrow/api.h HINTS ${_root}/include NO_DEFAULT_PATH)
if(WeirArrow_INCLUDE_DIR)
  file(STRINGS ${WeirArrow_INCLUDE_DIR}/arrow/util/config.h _lines REGEX "define ARROW_(VERSION_STRING|SO_VERSION) ")
  string(REGEX REPLACE ".*VERSION_STRING \"([^\"]+)\".*" "\\1" WeirArrow_VERSION "${_lines}")
  string(REGEX REPLACE ".*SO_VERSION \"([^\"]+)\".*" "\\1" _so_version "${_lines}")
  find_file(WeirArrow_LIBRARY NAMES libarrow.so.${_so_version} HINTS ${_root} NO_DEFAULT_PATH)
endif()
find_package_handle_standard_args(WeirArrow REQUIRED_VARS WeirArrow_LIBRARY WeirArrow_INCLUDE_DIR
  VERSION_VAR WeirArrow_VERSION
  REASON_FAILURE_MESSAGE "run tools/setup.sh, or give -DArrow_ROOT=/path/of/arrow")
if(WeirArrow_FOUND AND NOT TARGET Arrow::arrow)
  add_library(Arrow::arrow SHARED IMPORTED)
  set_target_properties(Arrow::arrow PROPERTIES
    IMPORTED_LOCATION ${WeirArrow_LIBRARY} IMPORTED_SONAME libarrow.so.${_so_version}
    INTERFACE_INCLUDE_DIRECTORIES ${WeirArrow_INCLUDE_DIR} INTERFACE_COMPILE_FEATURES cxx_std_20)
endif()
