// The model and its optimiser, behind an interface without LibTorch's headers: they take half a
// minute to compile, and only net.cpp needs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataset.hpp"

/// What a batch came to.
struct Outcome {
    double loss_sum = 0; // summed over the images
    double correct = 0;
    double images = 0;
};

/// Gradients of one layer's parameter, contiguous in host memory.
struct GradientView {
    float *values;
    std::size_t count;
};

/// A small convolutional network with two outputs, trained by SGD with momentum.
class Net {
  public:
    explicit Net(std::uint64_t seed);
    ~Net();

    /// Computes the gradients of the batch's mean loss.
    Outcome learn(const Dataset &data, const std::vector<std::size_t> &batch);
    /// Scores images without learning.
    Outcome score(const Dataset &data, const std::vector<std::size_t> &batch);
    /// The gradients, last layer first: the order in which backward finishes them.
    std::vector<GradientView> gradients();
    /// Applies the gradients.
    void step(double learning_rate, double momentum);
    /// A fingerprint of every bit of the parameters.
    std::string fingerprint() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl;
};
