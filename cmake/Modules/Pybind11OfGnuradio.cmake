# Bindings of another pybind11 than GNU Radio's do not know its types: importing them fails with
# `unknown base type "gr::block"`. Warns of that, and takes over what GNU Radio's own were built with.
# SPDX-License-Identifier: GPL-3.0-or-later

find_program(GNURADIO_CONFIG_INFO gnuradio-config-info)
if(GNURADIO_CONFIG_INFO)
    execute_process(COMMAND ${GNURADIO_CONFIG_INFO} --pybind
        OUTPUT_VARIABLE GNURADIO_PYBIND11_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
string(REGEX MATCH "^[0-9]+\\.[0-9]+" wanted "${GNURADIO_PYBIND11_VERSION}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" found "${pybind11_VERSION}")
if(wanted AND NOT wanted STREQUAL found)
    message(WARNING
        "pybind11 is ${pybind11_VERSION} (${pybind11_DIR}), GNU Radio was built with "
        "${GNURADIO_PYBIND11_VERSION}: importing gnuradio.adann may fail with an unknown base type "
        "gr::block. Build with -Dpybind11_DIR=... of ${GNURADIO_PYBIND11_VERSION}.")
endif()

# conda's GNU Radio leaves compiler and ABI out of pybind11's names, and hands that on to other
# modules in GR_PYBIND_MAKE_OOT, which this project does not call.
set(ADANN_PYBIND11_DEFINITIONS "")
find_file(GNURADIO_PYBIND_MODULE GrPybind.cmake PATHS ${CMAKE_MODULE_PATH} ${Gnuradio_DIR} NO_DEFAULT_PATH)
if(GNURADIO_PYBIND_MODULE)
    file(READ ${GNURADIO_PYBIND_MODULE} module)
    foreach(definition PYBIND11_COMPILER_TYPE PYBIND11_BUILD_ABI)
        if(module MATCHES "${definition}")
            list(APPEND ADANN_PYBIND11_DEFINITIONS "${definition}=\"\"")
        endif()
    endforeach()
endif()
