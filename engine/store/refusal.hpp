// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <system_error>

namespace anello::store {

/// The state that a file accepts nothing, for example because the disk is full; it ends when there is room again. The
/// writing thread sets it, any thread reads it.
class Refusal {
  public:
    /// error_number is the system's, above 0.
    void begin(int error_number) noexcept {
        if (error_.exchange(error_number, std::memory_order_relaxed) == 0)
            untold_.store(error_number, std::memory_order_relaxed);
    }
    void end() noexcept { error_.store(0, std::memory_order_relaxed); }

    bool is_on() const noexcept { return error_.load(std::memory_order_relaxed) != 0; }
    /// The stage's state in words; empty if the file accepts data.
    std::string state(const std::string& path) const {
        const int error = error_.load(std::memory_order_relaxed);
        return error == 0 ? "" : "cannot write " + path + ": " + std::generic_category().message(error);
    }
    /// The notice, once for each refusal; empty if there is none. `cost` says in words what it costs.
    std::string take_news(const std::string& path, const std::string& cost) {
        const int error = untold_.exchange(0, std::memory_order_relaxed);
        if (error == 0) return "";
        return "cannot write " + path + ": " + std::generic_category().message(error) + "; " + cost;
    }

  private:
    std::atomic<int> error_{0}, untold_{0};
};

}  // namespace anello::store
