# Compiler and linker settings that hold for every target of ours.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# A fast linker, if there is one: lld with clang, mold with gcc.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld)
else()
  find_program(MOLD_PROGRAM mold)
  if(MOLD_PROGRAM)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

add_library(weir_flags INTERFACE)
target_compile_options(weir_flags INTERFACE -Wall -Wextra -Werror -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 takes the members of coroutine frames for uninitialized, dangling or freed twice.
  target_compile_options(weir_flags INTERFACE -Wno-maybe-uninitialized -Wno-dangling-pointer -Wno-use-after-free)
endif()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # CRC-32C has an instruction since SSE 4.2 (2008).
  target_compile_options(weir_flags INTERFACE -msse4.2)
endif()

if(WEIR_SANITIZE)
  # Under instrumentation gcc 12 sees faults where there are none; the other builds hold the code to its warnings.
  target_compile_options(weir_flags INTERFACE -Wno-error)
  add_compile_options(-fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEIR_SANITIZE})
  if(WEIR_SANITIZE MATCHES "thread")
    # The sanitizer does not model fences.
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
if(WEIR_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
