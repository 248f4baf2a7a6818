// PatchCamelyon files in their published layout: HDF5, `x` N x 96 x 96 x 3 bytes, `y` N x 1 x 1 x 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Images and their labels, in memory.
struct Dataset {
    static constexpr std::size_t side = 96;
    static constexpr std::size_t channels = 3;
    static constexpr std::size_t image_bytes = side * side * channels;

    std::vector<std::uint8_t> pixels; // count x 96 x 96 x 3
    std::vector<std::uint8_t> labels; // count, 0 or 1

    std::size_t count() const { return labels.size(); }
    const std::uint8_t *image(std::size_t index) const { return &pixels[index * image_bytes]; }
    /// Share of the more frequent label: what guessing it always would score.
    double majority_share() const;

    /// Reads `camelyonpatch_level_2_split_{split}_{x,y}.h5` from a folder.
    /// Throws std::runtime_error with the file and the reason.
    static Dataset read(const std::string &folder, const std::string &split);
};
