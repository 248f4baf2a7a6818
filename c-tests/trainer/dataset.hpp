// PatchCamelyon files in their published layout: HDF5, `x` N x 96 x 96 x 3 bytes, `y` N x 1 x 1 x 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// One split. Images stay in the file and are read as batches ask for them: PatchCamelyon's are
/// 7 GB, and each rank of a machine would hold its own copy.
class Dataset {
  public:
    static constexpr std::size_t side = 96;
    static constexpr std::size_t channels = 3;
    static constexpr std::size_t image_bytes = side * side * channels;

    /// Opens `camelyonpatch_level_2_split_{split}_{x,y}.h5` in a folder.
    /// Throws std::runtime_error with the file and the reason, as `read_image` does.
    Dataset(const std::string &folder, const std::string &split);
    ~Dataset();

    std::size_t count() const { return labels.size(); }
    /// Whether the image's centre holds what is looked for: 0 or 1.
    std::uint8_t label(std::size_t index) const { return labels[index]; }
    /// Reads an image's `image_bytes`, row by row, channels last.
    void read_image(std::size_t index, std::uint8_t *to) const;
    /// Share of the more frequent label: what guessing it always would score.
    double majority_share() const;

  private:
    class Bytes; // an HDF5 data set of unsigned bytes
    std::unique_ptr<Bytes> images;
    std::vector<std::uint8_t> labels;
};
