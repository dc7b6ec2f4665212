# BIOWARP_SANITIZE=address,undefined or thread: instruments everything that is compiled here.
set(BIOWARP_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=")
if(BIOWARP_SANITIZE)
  add_compile_options(-fsanitize=${BIOWARP_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BIOWARP_SANITIZE})
  if(BIOWARP_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
