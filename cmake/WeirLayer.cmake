# weir_layer(): the only place where the edges between layers are written.
#
# A layer's headers live in src/weir/<layer> and are included as "weir/<layer>/x.h". They are reachable only through a
# private include root of that layer, which a target gets by linking it: an include of a layer that is not linked does
# not resolve.
#
#   weir_layer(<name> [FOLDER <path>] SOURCES <files> [PUBLIC <layers and libraries>] [PRIVATE <the same>]
#              [TEST <libraries for *_test.cc>])
#
# makes weir_<name>, and of the files beside the sources
#   *_test.cc   weir_<name>_test   (GoogleTest, one ctest entry)
#   *_bench.cc  weir_<name>_bench  (Google Benchmark)
#   *_fuzz.cc   weir_<name>_<file> (libFuzzer with WEIR_FUZZ; otherwise a program that replays its corpus as a test)

function(weir_link target scope)
  foreach(dependency IN LISTS ARGN)
    if(TARGET weir_${dependency})
      target_link_libraries(${target} ${scope} weir_${dependency})
    else()
      target_link_libraries(${target} ${scope} ${dependency})
    endif()
  endforeach()
endfunction()

function(weir_layer name)
  cmake_parse_arguments(LAYER "" "FOLDER" "SOURCES;PUBLIC;PRIVATE;TEST" ${ARGN})
  if(NOT LAYER_FOLDER)
    set(LAYER_FOLDER ${name})
  endif()
  set(root ${CMAKE_BINARY_DIR}/include/${name})
  cmake_path(GET LAYER_FOLDER PARENT_PATH parent)
  file(MAKE_DIRECTORY ${root}/weir/${parent})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${LAYER_FOLDER} ${root}/weir/${LAYER_FOLDER} SYMBOLIC)

  list(TRANSFORM LAYER_SOURCES PREPEND ${LAYER_FOLDER}/)
  add_library(weir_${name} STATIC ${LAYER_SOURCES})
  target_include_directories(weir_${name} PUBLIC ${root})
  target_link_libraries(weir_${name} PRIVATE weir_flags)
  weir_link(weir_${name} PUBLIC ${LAYER_PUBLIC})
  weir_link(weir_${name} PRIVATE ${LAYER_PRIVATE})

  if(NOT WEIR_TESTS)
    return()
  endif()
  file(GLOB tests CONFIGURE_DEPENDS ${LAYER_FOLDER}/*_test.cc)
  if(tests)
    add_executable(weir_${name}_test ${tests})
    target_link_libraries(weir_${name}_test PRIVATE weir_${name} weir_flags GTest::gmock GTest::gtest_main)
    target_compile_definitions(weir_${name}_test PRIVATE WEIR_TESTDATA="${CMAKE_SOURCE_DIR}/tests")
    weir_link(weir_${name}_test PRIVATE ${LAYER_PUBLIC} ${LAYER_PRIVATE} ${LAYER_TEST})
    add_test(NAME ${name} COMMAND weir_${name}_test)
  endif()
  file(GLOB benches CONFIGURE_DEPENDS ${LAYER_FOLDER}/*_bench.cc)
  if(benches)
    add_executable(weir_${name}_bench ${benches})
    target_link_libraries(weir_${name}_bench PRIVATE weir_${name} weir_flags benchmark::benchmark_main)
    weir_link(weir_${name}_bench PRIVATE ${LAYER_PUBLIC} ${LAYER_PRIVATE})
  endif()
  file(GLOB fuzzers CONFIGURE_DEPENDS ${LAYER_FOLDER}/*_fuzz.cc)
  foreach(fuzzer IN LISTS fuzzers)
    cmake_path(GET fuzzer STEM stem)
    add_executable(weir_${name}_${stem} ${fuzzer})
    target_link_libraries(weir_${name}_${stem} PRIVATE weir_${name} weir_flags)
    weir_link(weir_${name}_${stem} PRIVATE ${LAYER_PUBLIC} ${LAYER_PRIVATE})
    if(WEIR_FUZZ)
      target_link_options(weir_${name}_${stem} PRIVATE -fsanitize=fuzzer)
    else()
      target_sources(weir_${name}_${stem} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cc)
      add_test(NAME ${name}_${stem} COMMAND weir_${name}_${stem} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${stem})
    endif()
  endforeach()
endfunction()

# weir_flatbuffers(<layer> <file.fbs>): lets the sources of a layer include <file>_generated.h. Nothing outside of the
# layer sees it.
function(weir_flatbuffers name schema)
  cmake_path(GET schema STEM stem)
  set(folder ${CMAKE_BINARY_DIR}/generated/${name})
  add_custom_command(OUTPUT ${folder}/${stem}_generated.h
    COMMAND ${FLATC_PROGRAM} --cpp -o ${folder} ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${schema} VERBATIM)
  target_sources(weir_${name} PRIVATE ${folder}/${stem}_generated.h)
  target_include_directories(weir_${name} SYSTEM PRIVATE ${folder})
endfunction()

# weir_protobuf(<name> <file.proto>): makes weir_<name>, which lets the targets that link it include
# "weir/<path>/<file>.pb.h".
function(weir_protobuf name schema)
  cmake_path(GET schema PARENT_PATH folder)
  cmake_path(GET schema STEM stem)
  set(root ${CMAKE_BINARY_DIR}/generated/${name})
  set(made ${root}/weir/${folder}/${stem})
  file(MAKE_DIRECTORY ${root})
  add_custom_command(OUTPUT ${made}.pb.cc ${made}.pb.h
    COMMAND ${PROTOC_PROGRAM} --cpp_out=${root} --proto_path=${CMAKE_SOURCE_DIR}/src weir/${schema}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${schema} VERBATIM)
  add_library(weir_${name} STATIC ${made}.pb.cc ${made}.pb.h)
  target_include_directories(weir_${name} SYSTEM PUBLIC ${root})
  target_link_libraries(weir_${name} PUBLIC protobuf::libprotobuf-lite)
endfunction()
