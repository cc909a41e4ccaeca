# anello_detector(): the calling folder is a detector, docs/decisions/0015-detector-folder.md. bindings.cpp, or
# bindings/*.cpp, is what Python sees of it, tests/ are its tests, all other .cpp files are its library on top of the whole
# engine, *.py and *.toml its Python package.
#   anello_detector(PUBLIC_HEADERS file...): those that other programs may include, as "<folder>/file".
#   In Anello's own source tree the bindings become a part of the extension anello._engine, the package anello.<folder>,
#   tests/*.cpp the program test_<folder>, tests/*_fuzz.cpp fuzzers.
#   Elsewhere, after find_package(anello), the package is called <folder> and has an extension module _engine of its own.
function(anello_detector)
  cmake_parse_arguments(ARG "" "" "PUBLIC_HEADERS" ${ARGN})
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME name)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR PARENT_PATH parent)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(bindings\\.cpp|bindings/|tests/|.*CMakeFiles/)")
  file(GLOB bindings CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/bindings.cpp ${CMAKE_CURRENT_SOURCE_DIR}/bindings/*.cpp)
  if(TARGET anello_pipeline)
    add_library(anello_${name} STATIC ${sources})
    add_library(anello::${name} ALIAS anello_${name})
    set_target_properties(anello_${name} PROPERTIES EXPORT_NAME ${name})
    target_include_directories(anello_${name} PUBLIC $<BUILD_INTERFACE:${parent}> $<INSTALL_INTERFACE:include/anello>)
    target_link_libraries(anello_${name} PUBLIC anello_pipeline anello_simulate PRIVATE $<BUILD_INTERFACE:anello_options>)
    if(ARG_PUBLIC_HEADERS)
      install(TARGETS anello_${name} EXPORT anelloTargets ARCHIVE DESTINATION lib COMPONENT engine)
      list(TRANSFORM ARG_PUBLIC_HEADERS PREPEND ${name}/)
      set_property(GLOBAL APPEND PROPERTY ANELLO_PUBLIC_HEADERS_OF_DETECTORS ${ARG_PUBLIC_HEADERS})
    endif()
    set_property(GLOBAL APPEND PROPERTY ANELLO_DETECTORS ${name})
    set_property(GLOBAL APPEND PROPERTY ANELLO_BINDINGS_OF_DETECTORS ${bindings})
    set(package anello/${name})
  else()
    anello_detector_module(${name} ${sources} ${bindings})
    target_include_directories(anello_${name} PRIVATE ${parent})
    set(package ${name})
  endif()
  install(DIRECTORY ./ DESTINATION ${package} COMPONENT python
    FILES_MATCHING PATTERN "*.py" PATTERN "*.toml" PATTERN "*.csv" PATTERN pyproject.toml EXCLUDE PATTERN tests EXCLUDE)
endfunction()

# anello_detector_module(NAME SOURCE...): with a copy of the engine. A nanobind domain of its own keeps its types and its
# translation of exceptions apart from those of other modules; nothing but Python's own types crosses between them.
function(anello_detector_module name)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  find_package(nanobind CONFIG REQUIRED)
  file(GLOB ours ${anello_BINDINGS}/*.cpp)
  nanobind_add_module(anello_${name} NB_STATIC PROTECT_STACK NB_DOMAIN ${name} ${ARGN} ${ours})
  # The search path is where a library outside the system's directories was linked, and nothing else (CMakeLists.txt).
  set_target_properties(anello_${name} PROPERTIES OUTPUT_NAME _engine
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
  target_compile_features(anello_${name} PRIVATE cxx_std_20)
  target_include_directories(anello_${name} PRIVATE ${anello_BINDINGS})
  target_link_libraries(anello_${name} PRIVATE anello::pipeline anello::simulate)
  target_link_options(anello_${name} PRIVATE -Wl,-z,relro,-z,now,-z,noexecstack)
  install(TARGETS anello_${name} LIBRARY DESTINATION ${name} COMPONENT python)
endfunction()
