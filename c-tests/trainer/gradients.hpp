// Averages gradients over the ranks, in buckets: one MPI_Allreduce for many small parameters, and
// several for a large one, as trainers do to overlap and to bound memory.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <vector>

#include "net.hpp"

class GradientBuckets {
  public:
    GradientBuckets(MPI_Comm comm, std::size_t bucket_bytes)
        : comm(comm), capacity(std::max<std::size_t>(1, bucket_bytes / sizeof(float))) {
        MPI_Comm_size(comm, &ranks);
        bucket.reserve(capacity);
    }

    /// Replaces every gradient by its mean over the ranks.
    void average(const std::vector<GradientView> &gradients) {
        for (const auto &gradient : gradients)
            for (std::size_t from = 0; from < gradient.count;) {
                const auto part = std::min(gradient.count - from, capacity - bucket.size());
                const float *values = gradient.values + from;
                bucket.insert(bucket.end(), values, values + part);
                sources.push_back({gradient.values + from, part});
                from += part;
                if (bucket.size() == capacity) flush();
            }
        flush();
    }

  private:
    void flush() {
        if (bucket.empty()) return;
        MPI_Allreduce(MPI_IN_PLACE, bucket.data(), static_cast<int>(bucket.size()), MPI_FLOAT,
                      MPI_SUM, comm);
        const float *from = bucket.data();
        for (const auto &source : sources) {
            std::transform(from, from + source.count, source.values,
                           [this](float sum) { return sum / static_cast<float>(ranks); });
            from += source.count;
        }
        bucket.clear();
        sources.clear();
    }

    MPI_Comm comm;
    std::size_t capacity; // floats in a bucket
    int ranks = 1;
    std::vector<float> bucket;
    std::vector<GradientView> sources; // where the bucket's parts came from
};
