# A plug-in of HDF5 that test_store puts where HDF5 looks for filters.
add_library(refusing_filter MODULE ${CMAKE_CURRENT_LIST_DIR}/libraries/refusing_filter.cpp)
target_include_directories(refusing_filter SYSTEM PRIVATE
  $<TARGET_PROPERTY:anello_store,INTERFACE_SYSTEM_INCLUDE_DIRECTORIES>)
target_link_libraries(refusing_filter PRIVATE anello_options)
set_target_properties(refusing_filter PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/filters)
add_dependencies(test_store refusing_filter)
set(filter_number 510)  # of the numbers that the HDF Group leaves to tests
target_compile_definitions(refusing_filter PRIVATE ANELLO_FILTER=${filter_number})
target_compile_definitions(test_store PRIVATE ANELLO_FILTER=${filter_number}
  ANELLO_FILTERS="${CMAKE_CURRENT_BINARY_DIR}/filters")
