// Synchronous data-parallel training of a small CNN on PatchCamelyon files.
//
// Every rank holds the same parameters and walks over the images in the same order; a step's batch
// is shared out over the ranks, gradients are averaged by MPI_Allreduce, and rank 0 prints loss and
// accuracy. For a fixed seed and number of ranks the output is the same bit for bit: no time is
// printed, and the last line is a fingerprint of the parameters.

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "dataset.hpp"
#include "gradients.hpp"
#include "net.hpp"
#include "reporter.hpp"

namespace {

constexpr const char *usage =
    "usage: trainer --data FOLDER [--steps N] [--batch N] [--lr X] [--seed N] [--bucket-kib N]\n"
    "  --data FOLDER    PatchCamelyon's camelyonpatch_level_2_split_{train,test}_{x,y}.h5\n"
    "  --steps N        optimiser steps (default 150)\n"
    "  --batch N        images a step, over all ranks (default 64)\n"
    "  --lr X           learning rate (default 0.01)\n"
    "  --seed N         of weights and shuffling (default 1)\n"
    "  --bucket-kib N   gradient bucket (default 1024)\n";

struct Options {
    std::string data;
    int steps = 150;
    int batch = 64;
    double learning_rate = 0.01;
    unsigned seed = 1;
    std::size_t bucket_kib = 1024;
};

/// False where the arguments make no sense.
bool parse(int argc, char **argv, Options &options) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        const char *value = argv[i + 1];
        if (name == "--data") options.data = value;
        else if (name == "--steps") options.steps = std::atoi(value);
        else if (name == "--batch") options.batch = std::atoi(value);
        else if (name == "--lr") options.learning_rate = std::atof(value);
        else if (name == "--seed") options.seed = static_cast<unsigned>(std::atoi(value));
        else if (name == "--bucket-kib") options.bucket_kib = std::strtoul(value, nullptr, 10);
        else return false;
    }
    return argc % 2 == 1 && !options.data.empty() && options.steps > 0 && options.batch > 0;
}

/// An endless walk over the images, shuffled anew in each epoch, the same on every rank.
class Order {
  public:
    Order(std::size_t count, unsigned seed) : order(count), random(seed) {
        std::iota(order.begin(), order.end(), std::size_t{0});
        next = order.size();
    }

    std::size_t take() {
        if (next == order.size()) {
            // Not std::shuffle, whose result the standard leaves open.
            for (std::size_t i = order.size(); i > 1; --i)
                std::swap(order[i - 1], order[random() % i]);
            next = 0;
        }
        return order[next++];
    }

  private:
    std::vector<std::size_t> order;
    std::mt19937_64 random;
    std::size_t next = 0;
};

/// The part of 0..count that is this rank's.
std::vector<std::size_t> share(std::size_t count, int rank, int ranks) {
    std::vector<std::size_t> mine;
    for (auto i = static_cast<std::size_t>(rank); i < count; i += static_cast<std::size_t>(ranks))
        mine.push_back(i);
    return mine;
}

Outcome sum_over_ranks(Outcome mine) {
    double values[3] = {mine.loss_sum, mine.correct, mine.images};
    MPI_Allreduce(MPI_IN_PLACE, values, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return {values[0], values[1], values[2]};
}

void train(const Options &options, const Dataset &data, Net &net, int rank, int ranks) {
    GradientBuckets buckets(MPI_COMM_WORLD, options.bucket_kib * 1024);
    Reporter reporter(0.9);
    Order order(data.count(), options.seed);
    for (int step = 1; step <= options.steps; ++step) {
        reporter.begin_iteration(static_cast<std::uint64_t>(step));
        std::vector<std::size_t> batch;
        for (int i = 0; i < options.batch; ++i) {
            const auto image = order.take();
            if (i % ranks == rank) batch.push_back(image);
        }
        const Outcome mine = net.learn(data, batch);
        buckets.average(net.gradients());
        net.step(options.learning_rate, 0.9);
        const Outcome all = sum_over_ranks(mine);
        if (rank == 0) {
            const double loss = all.loss_sum / all.images, accuracy = all.correct / all.images;
            std::printf("step %4d  loss %.6f  accuracy %.4f\n", step, loss, accuracy);
            std::fflush(stdout);
            reporter.report(static_cast<std::uint64_t>(step), loss, accuracy);
        }
    }
}

Outcome test(const Dataset &data, Net &net, int rank, int ranks) {
    constexpr std::size_t chunk = 64;
    const auto mine = share(data.count(), rank, ranks);
    Outcome sum;
    for (std::size_t from = 0; from < mine.size(); from += chunk) {
        const auto to = std::min(mine.size(), from + chunk);
        const Outcome part = net.score(data, {mine.begin() + from, mine.begin() + to});
        sum = {sum.loss_sum + part.loss_sum, sum.correct + part.correct, sum.images + part.images};
    }
    return sum_over_ranks(sum);
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Options options;
    if (!parse(argc, argv, options) || options.batch < ranks) {
        if (rank == 0) std::fputs(usage, stderr);
        MPI_Finalize();
        return 2;
    }
    try {
        const Dataset train_data(options.data, "train");
        const Dataset test_data(options.data, "test");
        Net net(options.seed);
        train(options, train_data, net, rank, ranks);
        const Outcome result = test(test_data, net, rank, ranks);
        const std::string fingerprint = net.fingerprint();
        if (rank == 0) {
            std::printf("test accuracy %.4f  majority class %.4f  images %.0f\n",
                        result.correct / result.images, test_data.majority_share(), result.images);
            std::printf("parameters %s\n", fingerprint.c_str());
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "trainer: rank %d: %s\n", rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
