// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <system_error>

namespace anello::store {

/// That a file takes nothing now, as on a full disk: a state that ends when there is room again. The writing thread
/// says so, any thread asks.
class Refusal {
  public:
    /// error_number: the system's, above 0.
    void begin(int error_number) noexcept {
        if (error_.exchange(error_number, std::memory_order_relaxed) == 0)
            untold_.store(error_number, std::memory_order_relaxed);
    }
    void end() noexcept { error_.store(0, std::memory_order_relaxed); }

    bool is_on() const noexcept { return error_.load(std::memory_order_relaxed) != 0; }
    /// As a stage's state; empty where the file takes what comes.
    std::string state(const std::string& path) const {
        const int error = error_.load(std::memory_order_relaxed);
        return error == 0 ? "" : "cannot write " + path + ": " + std::generic_category().message(error);
    }
    /// Once each time that it has begun; empty where there is no news. cost: what this costs, in words.
    std::string take_news(const std::string& path, const std::string& cost) {
        const int error = untold_.exchange(0, std::memory_order_relaxed);
        if (error == 0) return "";
        return "cannot write " + path + ": " + std::generic_category().message(error) + "; " + cost;
    }

  private:
    std::atomic<int> error_{0}, untold_{0};
};

}  // namespace anello::store
