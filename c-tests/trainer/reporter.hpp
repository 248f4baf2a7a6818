// What the trainer tells PAS. The plain trainer knows nothing of PAS: it is built without
// WITH_PAS, and this class does nothing.
#pragma once

#include <cstdint>

#ifdef WITH_PAS
#include "pas.hpp"

class Reporter {
  public:
    explicit Reporter(double target_accuracy) { pas::set_target("accuracy", target_accuracy); }
    void begin_iteration(std::uint64_t step) { pas::mark_iteration(step); }
    void report(std::uint64_t step, double loss, double accuracy) {
        pas::report_loss(step, loss);
        pas::report_metric(step, "accuracy", accuracy);
    }
};

#else

class Reporter {
  public:
    explicit Reporter(double) {}
    void begin_iteration(std::uint64_t) {}
    void report(std::uint64_t, double, double) {}
};

#endif
