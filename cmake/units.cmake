# With SPLITLET_UNITS, the sources of a target that stand in one folder are compiled as one unit: what they include is
# parsed once for all of them, which halves the time of a build and takes a tenth of the look-ups in ccache. dev does
# without, so that an include that a source lacks is noticed.
#
# A unit names its sources as they are included, never by path, so that checkouts share through ccache what one compiled.

set(SPLITLET_UNIT_SOURCES 12)  # at most in one unit

# splitlet_units(OUT TARGET SOURCE...): sets OUT to what is compiled for the sources, which are relative to the folder.
function(splitlet_units out target)
  if(NOT SPLITLET_UNITS)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(folders)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_SOURCE_DIR}")
    cmake_path(GET source PARENT_PATH folder)
    list(APPEND folders "${folder}")
    list(APPEND "in_${folder}" "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(units)
  foreach(folder IN LISTS folders)
    string(REPLACE "/" "_" name "${folder}")
    list(LENGTH "in_${folder}" count)
    # Units of about the same size.
    math(EXPR parts "(${count} + ${SPLITLET_UNIT_SOURCES} - 1) / ${SPLITLET_UNIT_SOURCES}")
    foreach(part RANGE 1 ${parts})
      math(EXPR from "${count} * (${part} - 1) / ${parts}")
      math(EXPR length "${count} * ${part} / ${parts} - ${from}")
      list(SUBLIST "in_${folder}" ${from} ${length} sources)
      list(TRANSFORM sources REPLACE "(.+)" "#include \"\\1\"\n")
      list(JOIN sources "" content)
      set(unit "${CMAKE_BINARY_DIR}/units/${target}/${name}_${part}.cc")
      file(CONFIGURE OUTPUT "${unit}" CONTENT "${content}" @ONLY)
      list(APPEND units "${unit}")
    endforeach()
  endforeach()
  set(${out} ${units} PARENT_SCOPE)
endfunction()
