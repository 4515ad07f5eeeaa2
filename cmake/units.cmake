# With SPLITLET_UNITS, sources of a target are compiled together, as units: what they include is parsed once for all of
# them, which halves the time of a build and takes a tenth of the look-ups in ccache. SPLITLET_UNITS is
#   lines    a few thousand lines in each: the least to compile from nothing
#   folders  sources of one folder: the least to compile after an edit
# plain does without, so that an include that a source lacks is noticed.
#
# A unit names its sources as they are included, never by path, so that checkouts share through ccache what one compiled.

set(SPLITLET_UNIT_SOURCES 12)  # at most in a unit of a folder
set(SPLITLET_UNIT_LINES 1800)       # about, in a unit of lines
set(SPLITLET_TEST_UNIT_LINES 2500)  # of tests

# splitlet_write_unit(OUT TARGET NAME SOURCE...): appends to OUT the unit that includes the sources. A second one of the
# name would take the sources of the first out of the build without a word.
function(splitlet_write_unit out target name)
  get_property(written GLOBAL PROPERTY "SPLITLET_UNIT_${target}_${name}" SET)
  if(written)
    message(FATAL_ERROR "unit ${name} of ${target} is written twice")
  endif()
  set_property(GLOBAL PROPERTY "SPLITLET_UNIT_${target}_${name}" TRUE)
  list(TRANSFORM ARGN REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE lines)
  list(JOIN lines "" content)
  set(unit "${CMAKE_BINARY_DIR}/units/${target}/${name}.cc")
  file(CONFIGURE OUTPUT "${unit}" CONTENT "${content}" @ONLY)
  set(${out} ${${out}} "${unit}" PARENT_SCOPE)
endfunction()

# Units of about the same number of sources, for each folder.
function(splitlet_units_of_folders out target)
  set(folders)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    list(APPEND folders "${folder}")
    list(APPEND "in_${folder}" "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(units)
  foreach(folder IN LISTS folders)
    string(REPLACE "/" "_" name "${folder}")
    list(LENGTH "in_${folder}" count)
    math(EXPR parts "(${count} + ${SPLITLET_UNIT_SOURCES} - 1) / ${SPLITLET_UNIT_SOURCES}")
    foreach(part RANGE 1 ${parts})
      math(EXPR from "${count} * (${part} - 1) / ${parts}")
      math(EXPR length "${count} * ${part} / ${parts} - ${from}")
      list(SUBLIST "in_${folder}" ${from} ${length} sources)
      splitlet_write_unit(units ${target} "${name}_${part}" ${sources})
    endforeach()
  endforeach()
  set(${out} ${units} PARENT_SCOPE)
endfunction()

# Units of about the same number of lines.
function(splitlet_units_of_lines out target)
  set(limit ${SPLITLET_UNIT_LINES})
  if(target MATCHES "_test$")
    set(limit ${SPLITLET_TEST_UNIT_LINES})
  endif()
  set(total 1)  # of a target without lines too
  foreach(source IN LISTS ARGN)
    file(STRINGS "${CMAKE_SOURCE_DIR}/${source}" lines REGEX "^.")
    list(LENGTH lines "lines_of_${source}")
    math(EXPR total "${total} + ${lines_of_${source}}")
  endforeach()
  math(EXPR parts "(${total} + ${limit} - 1) / ${limit}")
  set(units)
  set(sources)
  set(seen 0)
  set(part 1)
  foreach(source IN LISTS ARGN)
    list(APPEND sources "${source}")
    math(EXPR seen "${seen} + ${lines_of_${source}}")
    math(EXPR end "${total} * ${part} / ${parts}")
    if(seen GREATER_EQUAL end)
      splitlet_write_unit(units ${target} "${part}" ${sources})
      set(sources)
      # The part that the next source belongs to. Rounding may give the one that is just written.
      math(EXPR next "${seen} * ${parts} / ${total} + 1")
      math(EXPR part "${part} + 1")
      if(next GREATER part)
        set(part ${next})
      endif()
    endif()
  endforeach()
  if(sources)
    splitlet_write_unit(units ${target} "${part}" ${sources})
  endif()
  set(${out} ${units} PARENT_SCOPE)
endfunction()

# splitlet_units(OUT TARGET SOURCE...): sets OUT to what is compiled for the sources, which are relative to the folder.
function(splitlet_units out target)
  if(NOT SPLITLET_UNITS)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(sources)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_SOURCE_DIR}")
    list(APPEND sources "${source}")
  endforeach()
  if(SPLITLET_UNITS STREQUAL "folders")
    splitlet_units_of_folders(units ${target} ${sources})
  else()
    splitlet_units_of_lines(units ${target} ${sources})
  endif()
  set(${out} ${units} PARENT_SCOPE)
endfunction()
