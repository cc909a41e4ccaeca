# A shared library that test_receive loads as the card's model.
add_library(silent_card MODULE ${CMAKE_CURRENT_LIST_DIR}/libraries/silent_card.cpp)
target_include_directories(silent_card PRIVATE ${PROJECT_SOURCE_DIR}/engine)
target_link_libraries(silent_card PRIVATE anello_options)
set_target_properties(silent_card PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/libraries)
add_dependencies(test_receive silent_card)
target_compile_definitions(test_receive PRIVATE
  ANELLO_SILENT_CARD="${CMAKE_CURRENT_BINARY_DIR}/libraries/libsilent_card.so")
target_link_libraries(test_receive PRIVATE ${CMAKE_DL_LIBS})
