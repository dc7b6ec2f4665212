# oneDNN as the imported target DNNL::dnnl, versions 2.6 (Debian 12) to 3.x.
#
# BIOWARP_ONEDNN_ROOT, or an entry of CMAKE_PREFIX_PATH, names a folder with include/ and lib/ when the system's own is
# not wanted: an installation, or the Python environment that holds PyPI's onednn-devel.
#
# oneDNN's own package file is not used: Debian 12's insists on OpenCL, which nothing here needs, and PyPI's has none.
set(BIOWARP_ONEDNN_ROOT "" CACHE PATH "Folder of another oneDNN (include/ and lib/)")

find_path(OneDnn_INCLUDE_DIR oneapi/dnnl/dnnl.hpp HINTS "${BIOWARP_ONEDNN_ROOT}/include")
find_library(OneDnn_LIBRARY dnnl HINTS "${BIOWARP_ONEDNN_ROOT}/lib")
mark_as_advanced(OneDnn_INCLUDE_DIR OneDnn_LIBRARY)

if(OneDnn_INCLUDE_DIR)
  file(STRINGS ${OneDnn_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h lines REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
  string(REPLACE ";" "." OneDnn_VERSION "${numbers}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDnn
  REQUIRED_VARS OneDnn_LIBRARY OneDnn_INCLUDE_DIR
  VERSION_VAR OneDnn_VERSION
  REASON_FAILURE_MESSAGE "install libdnnl-dev, or set BIOWARP_ONEDNN_ROOT to a folder with include/ and lib/")

if(OneDnn_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES
    IMPORTED_LOCATION ${OneDnn_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OneDnn_INCLUDE_DIR})
endif()
