// SPDX-License-Identifier: Apache-2.0
#include "simulate/packet.hpp"

#include <new>

namespace anello::simulate {
namespace {

/// Memory in pieces of one size, which are kept for reuse until their thread ends.
template <std::size_t piece_bytes>
class Pieces {
  public:
    ~Pieces() {
        for (void* piece : free_) ::operator delete(piece);
    }
    void* take() {
        if (free_.empty()) return ::operator new(piece_bytes);
        void* const piece = free_.back();
        free_.pop_back();
        return piece;
    }
    void give_back(void* piece) { free_.push_back(piece); }

  private:
    std::vector<void*> free_;
};

template <std::size_t piece_bytes>
Pieces<piece_bytes>& pieces() {
    thread_local Pieces<piece_bytes> own;
    return own;
}

template <typename T>
struct Reused {
    using value_type = T;
    Reused() = default;
    template <typename Other>
    explicit Reused(const Reused<Other>&) {}
    T* allocate(std::size_t) { return static_cast<T*>(pieces<sizeof(T)>().take()); }
    void deallocate(T* piece, std::size_t) { pieces<sizeof(T)>().give_back(piece); }
    bool operator==(const Reused&) const = default;
};

}  // namespace

PacketPointer new_packet() {
    return std::allocate_shared<Packet>(Reused<Packet>{});
}

}  // namespace anello::simulate
