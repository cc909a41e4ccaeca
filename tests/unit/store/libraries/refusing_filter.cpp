// SPDX-License-Identifier: Apache-2.0
/// A plug-in of HDF5: a filter that refuses every column, as one may that was made for another version of HDF5.
#include <H5PLextern.h>

#include <cstddef>

namespace {

htri_t never(hid_t, hid_t, hid_t) {
    return 0;
}

herr_t refuse(hid_t, hid_t, hid_t) {
    return -1;
}

std::size_t fail(unsigned, std::size_t, const unsigned*, std::size_t, std::size_t*, void**) {
    return 0;
}

const H5Z_class2_t filter{H5Z_CLASS_T_VERS, ANELLO_FILTER, 1, 1, "refuses every column", never, refuse, fail};

}  // namespace

extern "C" H5PL_type_t H5PLget_plugin_type() {
    return H5PL_TYPE_FILTER;
}

extern "C" const void* H5PLget_plugin_info() {
    return &filter;
}
