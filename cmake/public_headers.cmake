# What programs of others may include; docs/reference/cpp.md says what each is for. Add one here and there.
set(anello_PUBLIC_HEADERS
  receive/card.hpp
  stream/stream.hpp
  publish/record.hpp
  fabric/fabric_config.hpp
  trigger/plugin_abi.h
  trigger/ring_finder.hpp
  detector/rich_geometry.hpp
  source/rich_simulation.hpp
  wire/camera.hpp
  wire/camera_group.hpp
  wire/clb.hpp
  wire/mep.hpp
  wire/mfp.hpp
  wire/mgp.hpp
  wire/mtp.hpp)

# anello_with_included(OUT FOLDER HEADER...): these headers of the folder and all of it that they include.
function(anello_with_included out folder)
  set(found "")
  set(left ${ARGN})
  while(left)
    list(POP_FRONT left header)
    if(header IN_LIST found OR NOT EXISTS ${folder}/${header})
      continue()
    endif()
    list(APPEND found ${header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${header})
    file(STRINGS ${folder}/${header} lines REGEX "^#include \"")
    list(TRANSFORM lines REPLACE "^#include \"([^\"]+)\".*" "\\1")
    list(APPEND left ${lines})
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Installs them below include/anello, in the folders in which they lie.
function(anello_install_headers folder)
  anello_with_included(headers ${folder} ${anello_PUBLIC_HEADERS})
  foreach(header ${headers})
    cmake_path(GET header PARENT_PATH parent)
    install(FILES ${folder}/${header} DESTINATION include/anello/${parent} COMPONENT engine)
  endforeach()
endfunction()
