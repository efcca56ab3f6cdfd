# Foreign libraries, each with one home among the layers (docs/architecture.md).

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)  # headers only: Boost::boost
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(date REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(lz4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(rocksdb REQUIRED IMPORTED_TARGET rocksdb)
find_program(FLATC_PROGRAM flatc REQUIRED)
find_program(PROTOC_PROGRAM protoc REQUIRED)

if(WEIR_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
  find_package(WeirArrow REQUIRED)
endif()
