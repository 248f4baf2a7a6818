#include "dataset.hpp"

#include <algorithm>
#include <hdf5.h>
#include <stdexcept>

namespace {

/// Reads a whole data set of unsigned bytes, whose first dimension is the number of records and
/// the product of the others is `record_bytes`.
std::vector<std::uint8_t> read_bytes(const std::string &path, const char *name,
                                     std::size_t record_bytes) {
    const auto fail = [&](const std::string &why) -> std::runtime_error {
        return std::runtime_error(path + ": data set " + name + ": " + why);
    };
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); // our own message says more
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) throw fail("cannot open the file");
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    if (set < 0) throw fail("not there");
    const hid_t space = H5Dget_space(set);
    hsize_t extents[8] = {};
    const int dimensions = H5Sget_simple_extent_ndims(space);
    if (dimensions != 4) throw fail("has " + std::to_string(dimensions) + " dimensions, not 4");
    H5Sget_simple_extent_dims(space, extents, nullptr);
    if (extents[1] * extents[2] * extents[3] != record_bytes) throw fail("has another shape");
    std::vector<std::uint8_t> bytes(extents[0] * record_bytes);
    const herr_t error = H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data());
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(file);
    if (error < 0) throw fail("cannot be read");
    return bytes;
}

} // namespace

Dataset Dataset::read(const std::string &folder, const std::string &split) {
    const std::string stem = folder + "/camelyonpatch_level_2_split_" + split;
    Dataset data;
    data.pixels = read_bytes(stem + "_x.h5", "x", image_bytes);
    data.labels = read_bytes(stem + "_y.h5", "y", 1);
    if (data.pixels.size() != data.labels.size() * image_bytes)
        throw std::runtime_error(stem + ": x and y differ in length");
    return data;
}

double Dataset::majority_share() const {
    const auto ones = std::count(labels.begin(), labels.end(), std::uint8_t{1});
    const auto more = std::max<std::size_t>(ones, count() - ones);
    return static_cast<double>(more) / static_cast<double>(count());
}
