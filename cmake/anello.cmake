# What every target of Anello shares, and how a folder of the engine becomes a library.

add_library(anello_options INTERFACE)
# x86-64-v2 (SSE4.2) is the floor; code for AVX2 and AVX-512 is compiled apart and chosen at run time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(anello_options INTERFACE -march=x86-64-v2)
endif()
target_compile_options(anello_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror=return-type -fno-math-errno)
target_compile_definitions(anello_options INTERFACE $<$<CONFIG:Debug>:ANELLO_ASSERTIONS=1>)
if(ANELLO_SANITIZE)
  target_compile_options(anello_options INTERFACE -fsanitize=${ANELLO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(anello_options INTERFACE -fsanitize=${ANELLO_SANITIZE})
  target_compile_definitions(anello_options INTERFACE ANELLO_ASSERTIONS=1)
endif()

# anello_folder(NAME [DEPS folder...] [LIBS target...]): the library of engine/NAME, all its .cpp files.
function(anello_folder name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(anello_${name} STATIC ${sources})
  add_library(anello::${name} ALIAS anello_${name})
  set_target_properties(anello_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(anello_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/engine> $<INSTALL_INTERFACE:include/anello>)
  list(TRANSFORM ARG_DEPS PREPEND anello_)
  target_link_libraries(anello_${name} PUBLIC ${ARG_DEPS} ${ARG_LIBS} PRIVATE $<BUILD_INTERFACE:anello_options>)
  install(TARGETS anello_${name} EXPORT anelloTargets ARCHIVE DESTINATION lib COMPONENT engine)
endfunction()
