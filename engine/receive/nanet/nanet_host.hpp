// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "memory/persistent_buffers.hpp"
#include "receive/nanet/fixed_queue.hpp"
#include "receive/nanet/nanet_io.hpp"
#include "receive/nanet/nanet_model.hpp"

namespace anello::receive {

/// The surroundings of the card's model, in steps of one cycle: a MAC that delivers frames as dense as a line of 10
/// Gb/s allows, this process's memory behind AXI4, and a driver on AXI4-Lite. Virtual and physical addresses are those
/// of this process. The clock stands still between calls of step(). A card that leaves an access unanswered for
/// most_answer_cycles is not accessed again.
class NanetHost {
  public:
    static constexpr std::uint32_t page_bytes = 1U << 16, n_pages = nanet::tlb::n, ring_log2 = 8;
    static constexpr std::size_t ring_bytes = sizeof(nanet::Completion) << ring_log2;
    static constexpr std::size_t list_bytes =
        n_pages * std::size_t{page_bytes} - ring_bytes;  ///< of all lists together

    static constexpr std::uint32_t most_answer_cycles = 10'000;  ///< a card usually answers in 10

    explicit NanetHost(const std::string& library);  ///< Throws ConfigError, SystemError.

    /// A buffer that the card has handed on.
    struct Full {
        nanet::Completion completion;
        std::span<const std::byte> bytes;
        std::uint32_t cycle;  ///< when the host got its completion
    };

    void require_answers() const;  ///< Set-up. Throws ConfigError if the card left an access unanswered.

    // All wait until the access is done or given up.
    void write(std::uint32_t address, std::uint32_t value) noexcept;
    std::uint32_t read(std::uint32_t address) noexcept;  ///< 0 if the card does not answer.
    void await_accesses() noexcept;
    /// Opens a list of buffers at an offset in the memory of all lists; sizes are multiples of 4096.
    void open_list(std::uint32_t list, std::size_t first_byte, std::uint32_t n_buffers, std::uint32_t buffer_bytes,
                   std::uint32_t gathering_cycles) noexcept;

    // All are hot path: no allocation, no lock, no log, no throw.
    /// A frame from the destination address on, without FCS; its bytes must stay until all frames are sent.
    void send(std::span<const std::byte> frame) noexcept { frames_.put(frame); }
    bool sent_all() const noexcept { return frames_.empty() && at_ == 0 && gap_ == 0; }
    /// The cycle of the first word of each frame, in the order of the frames, each once.
    bool try_take_begun(std::uint32_t& cycle) noexcept;
    bool try_take_full(Full& full) noexcept;
    /// Returns the list's oldest buffers, and all completions that were taken.
    void give_back(std::uint32_t list, std::uint32_t n_buffers) noexcept;
    bool answers() const noexcept { return is_answering_; }
    void step() noexcept;

    std::uint64_t cycle() const noexcept { return cycle_; }
    std::string sources() const { return model_.sources(); }
    anello_nanet_levels highest_levels() const noexcept { return model_.highest_levels(); }
    /// Largest number of completions in the ring that were not yet reported to the card as read.
    std::uint32_t highest_ring() const noexcept { return highest_ring_; }

  private:
    struct Access {
        bool is_write;
        std::uint32_t address, value;
    };
    struct Burst {
        std::uint64_t address;
        std::uint32_t n_words;
        bool is_wrong;
    };
    struct Word {
        std::uint64_t data;
        std::uint8_t strobe;
    };
    struct Answer {
        std::uint64_t cycle;
        std::uint8_t response;
    };

    void reset() noexcept;
    void drive_network() noexcept;
    void drive_word(std::span<const std::byte> frame) noexcept;
    void drive_bus() noexcept;
    void drive_memory() noexcept;
    void take_writes() noexcept;
    void store(Burst& burst, const Word& word) noexcept;
    void take_answer() noexcept;
    void read_ring() noexcept;

    NanetModel model_;
    memory::PersistentBuffers buffers_;
    std::byte* memory_;  ///< in buffers_, at a page boundary: the ring, then the lists
    anello_nanet_in in_{};
    anello_nanet_out out_{};
    std::uint64_t cycle_ = 0;

    FixedQueue<std::span<const std::byte>> frames_;
    FixedQueue<std::uint32_t> begun_;
    std::size_t at_ = 0;     ///< words of the first frame that the card has received
    std::uint32_t gap_ = 0;  ///< cycles until the next frame may begin

    FixedQueue<Access> accesses_;
    bool is_asked_ = false, is_answering_ = true;
    std::uint32_t value_ = 0;  ///< the card's last answer

    FixedQueue<Burst> bursts_;
    FixedQueue<Word> words_;
    FixedQueue<Answer> answers_;
    FixedQueue<Full> full_;
    std::uint32_t n_completions_ = 0, n_reported_read_ = 0, highest_ring_ = 0;
    std::span<const std::byte> list_[nanet::list::n] = {};
    std::uint32_t buffer_bytes_[nanet::list::n] = {};
};

}  // namespace anello::receive
