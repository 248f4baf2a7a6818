// pas.hpp: pas.h for C++. Header only; the same three ways to build (linked, preloaded, absent).
#ifndef PAS_HPP
#define PAS_HPP

#include <cstdint>
#include <string>

#include "pas.h"

namespace pas {

/// Reports the training loss of an optimiser step.
inline pas_result report_loss(std::uint64_t step, double loss) { return pas_report_loss(step, loss); }

/// Reports a metric of the model at a step.
inline pas_result report_metric(std::uint64_t step, const std::string &name, double value) {
    return pas_report_metric(step, name.c_str(), value);
}

/// Says that the training is for `metric` to reach `target`.
inline pas_result set_target(const std::string &metric, double target) {
    return pas_set_target(metric.c_str(), target);
}

/// Marks the start of an iteration.
inline pas_result mark_iteration(std::uint64_t step) { return pas_mark_iteration(step); }

/// A phase under the program's own name, from construction to destruction.
class Phase {
  public:
    explicit Phase(const std::string &name) { (void)pas_phase_begin(name.c_str()); }
    ~Phase() { (void)pas_phase_end(); }
    Phase(const Phase &) = delete;
    Phase &operator=(const Phase &) = delete;
};

} // namespace pas

#endif // PAS_HPP
