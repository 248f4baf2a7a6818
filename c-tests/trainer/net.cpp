#include "net.hpp"

#include <torch/torch.h>

#include <cstdio>

namespace {

/// conv 5x5/2, conv 3x3, conv 3x3, each with pooling, then two linear layers: 620,000 parameters.
struct Layers : torch::nn::Module {
    torch::nn::Conv2d first{torch::nn::Conv2dOptions(3, 8, 5).stride(2).padding(2)};
    torch::nn::Conv2d second{torch::nn::Conv2dOptions(8, 16, 3).padding(1)};
    torch::nn::Conv2d third{torch::nn::Conv2dOptions(16, 32, 3).padding(1)};
    torch::nn::Linear wide{32 * 6 * 6, 512};
    torch::nn::Linear last{512, 2};

    Layers() {
        register_module("first", first);
        register_module("second", second);
        register_module("third", third);
        register_module("wide", wide);
        register_module("last", last);
    }

    torch::Tensor forward(torch::Tensor x) {
        x = torch::max_pool2d(torch::relu(first(x)), 2);  // 24 x 24
        x = torch::max_pool2d(torch::relu(second(x)), 2); // 12 x 12
        x = torch::max_pool2d(torch::relu(third(x)), 2);  // 6 x 6
        return last(torch::relu(wide(x.flatten(1))));
    }
};

/// Images as floats between -1 and 1, channels first.
torch::Tensor images_of(const Dataset &data, const std::vector<std::size_t> &batch) {
    constexpr auto side = static_cast<std::int64_t>(Dataset::side);
    const auto count = static_cast<std::int64_t>(batch.size());
    auto bytes = torch::empty({count, side, side, 3}, torch::kUInt8);
    auto *to = bytes.data_ptr<std::uint8_t>();
    for (const std::size_t index : batch) {
        data.read_image(index, to);
        to += Dataset::image_bytes;
    }
    return bytes.permute({0, 3, 1, 2}).to(torch::kFloat).div(127.5).sub(1.0).contiguous();
}

torch::Tensor labels_of(const Dataset &data, const std::vector<std::size_t> &batch) {
    auto labels = torch::empty({static_cast<std::int64_t>(batch.size())}, torch::kLong);
    auto *to = labels.data_ptr<std::int64_t>();
    for (const std::size_t index : batch) *to++ = data.label(index);
    return labels;
}

} // namespace

struct Net::Impl {
    Layers layers;
    std::vector<torch::Tensor> velocity;

    std::pair<torch::Tensor, Outcome> run(const Dataset &data,
                                          const std::vector<std::size_t> &batch) {
        const auto labels = labels_of(data, batch);
        const auto scores = layers.forward(images_of(data, batch));
        const auto loss = torch::nn::functional::cross_entropy(scores, labels);
        const auto correct = scores.argmax(1).eq(labels).sum().item<std::int64_t>();
        const auto images = static_cast<double>(batch.size());
        return {loss, {loss.item<double>() * images, static_cast<double>(correct), images}};
    }
};

Net::Net(std::uint64_t seed) {
    // One thread and deterministic kernels: the same seed and ranks give the same bits.
    at::set_num_threads(1);
    at::globalContext().setDeterministicAlgorithms(true, false);
    torch::manual_seed(seed);
    impl = std::make_unique<Impl>();
    for (auto &parameter : impl->layers.parameters())
        impl->velocity.push_back(torch::zeros_like(parameter));
}

Net::~Net() = default;

Outcome Net::learn(const Dataset &data, const std::vector<std::size_t> &batch) {
    impl->layers.zero_grad();
    auto [loss, outcome] = impl->run(data, batch);
    loss.backward();
    return outcome;
}

Outcome Net::score(const Dataset &data, const std::vector<std::size_t> &batch) {
    const torch::NoGradGuard no_gradients;
    return impl->run(data, batch).second;
}

std::vector<GradientView> Net::gradients() {
    std::vector<GradientView> views;
    for (auto &parameter : impl->layers.parameters()) {
        auto gradient = parameter.grad();
        views.push_back({gradient.data_ptr<float>(), static_cast<std::size_t>(gradient.numel())});
    }
    return {views.rbegin(), views.rend()};
}

void Net::step(double learning_rate, double momentum) {
    const torch::NoGradGuard no_gradients;
    auto parameters = impl->layers.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        impl->velocity[i].mul_(momentum).add_(parameters[i].grad());
        parameters[i].sub_(impl->velocity[i], learning_rate);
    }
}

std::string Net::fingerprint() const {
    std::uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (const auto &parameter : impl->layers.parameters()) {
        const auto *bytes = reinterpret_cast<const unsigned char *>(parameter.data_ptr<float>());
        for (std::int64_t i = 0; i < parameter.numel() * 4; ++i)
            hash = (hash ^ bytes[i]) * 0x100000001b3u;
    }
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}
