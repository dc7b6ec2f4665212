# BIOWARP_FUZZ: everything is compiled with clang's coverage counters and sanitizers, for tests/fuzz.
option(BIOWARP_FUZZ "Build the libFuzzer program (clang only)" OFF)
if(BIOWARP_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "BIOWARP_FUZZ needs clang: CC=clang CXX=clang++ cmake ... -DBIOWARP_FUZZ=ON")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -g)
  add_link_options(-fsanitize=fuzzer-no-link,address,undefined)
endif()
