# What every target of Anello shares, and how a folder of the engine becomes a library.

add_library(anello_options INTERFACE)
# x86-64-v2 (SSE4.2) is the floor; code for AVX2 and AVX-512 is compiled apart and chosen at run time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(anello_options INTERFACE -march=x86-64-v2)
endif()
target_compile_options(anello_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror=return-type -fno-math-errno)
if(ANELLO_UNITY)  # where each source is included by another, g++ takes its private types for those of a header
  target_compile_options(anello_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
target_compile_definitions(anello_options INTERFACE $<$<CONFIG:Debug>:ANELLO_ASSERTIONS=1>)
# Every program and library: addresses of functions are settled before main() and read-only after it, no executable stack.
target_link_options(anello_options INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
if(ANELLO_SANITIZE)
  target_compile_options(anello_options INTERFACE -fsanitize=${ANELLO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(anello_options INTERFACE -fsanitize=${ANELLO_SANITIZE})
  target_compile_definitions(anello_options INTERFACE ANELLO_ASSERTIONS=1)
endif()

# What is shipped, engine and extension, also watches its own stack and the lengths that it gives to the C library; the
# sanitizers do that themselves, and without optimisation the C library cannot. tests/check_binaries.py looks at the result.
set(ANELLO_HARDENING "")
if(NOT ANELLO_SANITIZE)
  set(ANELLO_HARDENING -fstack-protector-strong)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    list(APPEND ANELLO_HARDENING -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  endif()
endif()

# anello_folder(NAME [DEPS folder...] [LIBS target...]): the library of engine/NAME, all .cpp files in it and below.
function(anello_folder name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(anello_${name} STATIC ${sources})
  add_library(anello::${name} ALIAS anello_${name})
  set_target_properties(anello_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(anello_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/engine> $<INSTALL_INTERFACE:include/anello>)
  list(TRANSFORM ARG_DEPS PREPEND anello_)
  target_link_libraries(anello_${name} PUBLIC ${ARG_DEPS} ${ARG_LIBS} PRIVATE $<BUILD_INTERFACE:anello_options>)
  install(TARGETS anello_${name} EXPORT anelloTargets ARCHIVE DESTINATION lib COMPONENT engine)
endfunction()

# anello_alone(file...): sources of the calling folder that no unity build puts together with others. A program that has its
# own piece in the place of one, as the tests of the CUDA backend do, would otherwise get all that came with it, twice.
function(anello_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
