# What programs of others may include; docs/reference/cpp.md says what each is for. Add one here and there. Those of a
# detector stand behind its anello_detector(PUBLIC_HEADERS ...).
set(anello_PUBLIC_HEADERS
  receive/card/card.hpp
  stream/stream.hpp
  publish/record.hpp
  fabric/fabric_config.hpp
  wire/mfp.hpp
  wire/mgp.hpp)
get_property(of_detectors GLOBAL PROPERTY ANELLO_PUBLIC_HEADERS_OF_DETECTORS)
list(APPEND anello_PUBLIC_HEADERS ${of_detectors})

# What a detector that is built out of tree may also include; these headers follow the engine, and may change with each
# version. bindings/for_detectors is for its bindings.cpp, and the .cpp files are compiled into its module.
set(anello_DETECTOR_HEADERS
  core/counters/event_slot.hpp
  exchange/mfp_packer.hpp
  memory/persistent_buffers.hpp
  memory/spsc_ring.hpp
  pipeline/intake.hpp
  pipeline/packet_node.hpp
  pipeline/runner.hpp
  pipeline/thread_keys.hpp
  receive/numbers/board_source.hpp
  receive/card/make_backend.hpp
  receive/datagrams/port_counters.hpp
  receive/numbers/sequence_tracker.hpp
  receive/numbers/source_binding.hpp
  source/packet_source.hpp
  source/planned_source.hpp
  source/send_books.hpp
  source/sinks/udp_sink.hpp
  store/record_file.hpp
  wire/bytes.hpp
  wire/packet_contents.hpp)
set(anello_BINDINGS_FOR_DETECTORS
  arrays.hpp config.cpp config.hpp counter_tables.hpp counters.hpp detector_module.cpp errors.cpp errors.hpp exchange_ends.hpp
  extension.hpp histograms.cpp histograms.hpp keys.cpp keys.hpp node_handle.hpp packet_chain.hpp sequences.hpp source_handle.hpp)

# anello_source_of(OUT HEADER): the folder, engine or detectors, in which it lies; empty: it is not ours.
function(anello_source_of out header)
  set(${out} "" PARENT_SCOPE)
  foreach(folder ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/detectors)
    if(EXISTS ${folder}/${header})
      set(${out} ${folder} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# anello_with_included(OUT HEADER...): these headers and all of ours that they include.
function(anello_with_included out)
  set(found "")
  set(left ${ARGN})
  while(left)
    list(POP_FRONT left header)
    anello_source_of(folder ${header})
    if(header IN_LIST found OR NOT folder)
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
function(anello_install_headers)
  set(included "")  # by the bindings
  foreach(file ${anello_BINDINGS_FOR_DETECTORS})
    file(STRINGS ${PROJECT_SOURCE_DIR}/bindings/for_detectors/${file} lines REGEX "^#include \"")
    list(TRANSFORM lines REPLACE "^#include \"([^\"]+)\".*" "\\1")
    list(APPEND included ${lines})
    install(FILES ${PROJECT_SOURCE_DIR}/bindings/for_detectors/${file} DESTINATION lib/cmake/anello/bindings COMPONENT engine)
  endforeach()
  anello_with_included(headers ${anello_PUBLIC_HEADERS} ${anello_DETECTOR_HEADERS} ${included})
  foreach(header ${headers})
    anello_source_of(folder ${header})
    cmake_path(GET header PARENT_PATH parent)
    install(FILES ${folder}/${header} DESTINATION include/anello/${parent} COMPONENT engine)
  endforeach()
endfunction()
