# biowarp::biowarp: the library behind the public headers, made of the folders of src/.
#
#   BIOWARP_SHARED=ON   one libbiowarp.so that shows what include/biowarp/ marks with BIOWARP_API, and nothing else
#   BIOWARP_SHARED=OFF  the static libraries of the folders; for programs and extension modules built in this tree
option(BIOWARP_SHARED "Build libbiowarp.so" ${PROJECT_IS_TOP_LEVEL})

get_property(folders GLOBAL PROPERTY BIOWARP_FOLDERS)
list(TRANSFORM folders PREPEND biowarp_)

if(BIOWARP_SHARED)
  # All objects of every folder; the folders themselves are linked for the third-party libraries they bring.
  list(TRANSFORM folders REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(biowarp_library SHARED ${objects})
  target_link_libraries(biowarp_library PRIVATE ${folders})
  target_link_options(biowarp_library PRIVATE -Wl,--no-undefined -Wl,--as-needed)
  set_target_properties(biowarp_library PROPERTIES
    OUTPUT_NAME biowarp
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
else()
  add_library(biowarp_library INTERFACE)
  target_link_libraries(biowarp_library INTERFACE ${folders})
endif()
set_target_properties(biowarp_library PROPERTIES EXPORT_NAME biowarp)
target_include_directories(biowarp_library INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_compile_features(biowarp_library INTERFACE cxx_std_20)
add_library(biowarp::biowarp ALIAS biowarp_library)
