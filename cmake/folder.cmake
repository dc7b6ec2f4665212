# biowarp_folder(NAME [DEPENDS folder...] [LIBRARIES target...])
#   One static library, biowarp_NAME, from the .cpp files of src/NAME and below, and one test program, test_NAME, from
#   its *_test.cpp files. DEPENDS are other folders (public), LIBRARIES third-party targets (private to the folder).
include(GoogleTest OPTIONAL)

# -Wno-restrict: g++ 12 takes std::string::insert and operator+ for overlapping copies.
set(BIOWARP_WARNINGS -Wall -Wextra -Wno-restrict $<$<BOOL:${BIOWARP_WERROR}>:-Werror>)
set_property(GLOBAL PROPERTY BIOWARP_FOLDERS "")

function(biowarp_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;LIBRARIES")
  set(directory ${PROJECT_SOURCE_DIR}/src/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${directory}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  if(NOT sources)
    message(FATAL_ERROR "src/${name} has no sources")
  endif()
  add_library(biowarp_${name} STATIC ${sources})
  target_include_directories(biowarp_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(biowarp_${name} PRIVATE ${BIOWARP_WARNINGS})
  foreach(folder IN LISTS arg_DEPENDS)
    target_link_libraries(biowarp_${name} PUBLIC biowarp_${folder})
  endforeach()
  target_link_libraries(biowarp_${name} PRIVATE ${arg_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY BIOWARP_FOLDERS ${name})

  if(BIOWARP_TESTS AND tests)
    add_executable(test_${name} ${tests})
    target_compile_options(test_${name} PRIVATE ${BIOWARP_WARNINGS})
    target_link_libraries(test_${name} PRIVATE biowarp_${name} ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
    target_compile_definitions(test_${name} PRIVATE BIOWARP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    gtest_discover_tests(test_${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
  endif()
endfunction()
