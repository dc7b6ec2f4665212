# Every third-party library, found once. Each belongs to one folder of src/; docs/architecture.md has the table.
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(OneDnn REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
# Debian names the serial library hdf5-serial.pc and makes hdf5.pc an alternative of it.
pkg_search_module(hdf5 REQUIRED IMPORTED_TARGET hdf5 hdf5-serial)
if(BIOWARP_CLI)
  find_package(CLI11 REQUIRED)
endif()
if(BIOWARP_TESTS)
  find_package(GTest REQUIRED)
endif()

# What a header of ours may show; for the check that compiles each of them alone.
set(BIOWARP_THIRD_PARTY
  Threads::Threads fmt::fmt spdlog::spdlog nlohmann_json::nlohmann_json ZLIB::ZLIB CURL::libcurl OpenSSL::Crypto
  DNNL::dnnl OpenMP::OpenMP_CXX PkgConfig::hwy PkgConfig::zstd PkgConfig::xxhash PkgConfig::hdf5 $<TARGET_NAME_IF_EXISTS:CLI11::CLI11>)
