#include "dataset.hpp"

#include <algorithm>
#include <hdf5.h>
#include <stdexcept>
#include <utility>

/// An open data set of unsigned bytes, whose first dimension is the number of records, and the
/// product of its three others the bytes of a record.
class Dataset::Bytes {
  public:
    Bytes(std::string file_path, const char *name, std::size_t record_bytes)
        : path(std::move(file_path)) {
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); // our own message says more
        file.id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        if (file.id < 0) fail("cannot be opened as an HDF5 file");
        set.id = H5Dopen2(file.id, name, H5P_DEFAULT);
        if (set.id < 0) fail("has no data set " + std::string(name));
        space.id = H5Dget_space(set.id);
        const int dimensions = H5Sget_simple_extent_ndims(space.id);
        if (dimensions != 4) fail("has " + std::to_string(dimensions) + " dimensions, not 4");
        H5Sget_simple_extent_dims(space.id, extents, nullptr);
        if (extents[1] * extents[2] * extents[3] != record_bytes)
            fail("has records of another shape than PatchCamelyon's");
    }

    std::size_t records() const { return extents[0]; }

    void read(std::size_t first, std::size_t records, std::uint8_t *to) const {
        const hsize_t from[4] = {first, 0, 0, 0};
        const hsize_t part[4] = {records, extents[1], extents[2], extents[3]};
        const Handle memory{H5Screate_simple(4, part, nullptr), H5Sclose};
        const bool selected =
            H5Sselect_hyperslab(space.id, H5S_SELECT_SET, from, nullptr, part, nullptr) >= 0;
        if (!selected ||
            H5Dread(set.id, H5T_NATIVE_UINT8, memory.id, space.id, H5P_DEFAULT, to) < 0)
            fail("cannot be read at record " + std::to_string(first));
    }

  private:
    /// Closes what it holds, in the reverse order of the members.
    struct Handle {
        hid_t id;
        herr_t (*close)(hid_t);
        ~Handle() {
            if (id >= 0) close(id);
        }
    };

    [[noreturn]] void fail(const std::string &why) const {
        throw std::runtime_error(path + " " + why);
    }

    std::string path;
    Handle file{-1, H5Fclose}, set{-1, H5Dclose}, space{-1, H5Sclose};
    hsize_t extents[4] = {};
};

Dataset::Dataset(const std::string &folder, const std::string &split) {
    const std::string stem = folder + "/camelyonpatch_level_2_split_" + split;
    images = std::make_unique<Bytes>(stem + "_x.h5", "x", image_bytes);
    const Bytes answers(stem + "_y.h5", "y", 1);
    if (answers.records() != images->records())
        throw std::runtime_error(stem + "_{x,y}.h5 differ in length");
    if (answers.records() == 0) throw std::runtime_error(stem + "_{x,y}.h5 are empty");
    labels.resize(answers.records());
    answers.read(0, labels.size(), labels.data());
    if (*std::max_element(labels.begin(), labels.end()) > 1)
        throw std::runtime_error(stem + "_y.h5 has labels other than 0 and 1");
}

Dataset::~Dataset() = default;

void Dataset::read_image(std::size_t index, std::uint8_t *to) const { images->read(index, 1, to); }

double Dataset::majority_share() const {
    const auto ones = std::count(labels.begin(), labels.end(), std::uint8_t{1});
    const auto more = std::max<std::size_t>(ones, count() - ones);
    return static_cast<double>(more) / static_cast<double>(count());
}
