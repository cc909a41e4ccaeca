// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "cell_map.hpp"
#include "copier.hpp"
#include "lender.hpp"
#include "seed.hpp"

namespace anello::zeromq {
namespace {

constexpr std::size_t cell_bytes = LentMemory::cell_bytes, n_cells = 64;

std::vector<std::byte> bytes_of(std::size_t n_bytes, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> bytes(n_bytes);
    for (std::size_t i = 0; i + sizeof(std::uint64_t) <= n_bytes; i += sizeof(std::uint64_t)) {
        const std::uint64_t word = random();
        std::memcpy(bytes.data() + i, &word, sizeof word);
    }
    return bytes;
}

TEST(CellMap, RunsNeverOverlapAndAllCellsComeBack) {
    std::mt19937_64 random(anello::test::seed());
    CellMap cells(n_cells);
    std::vector<bool> taken(n_cells, false);
    std::vector<std::pair<std::size_t, std::size_t>> runs;
    for (int i = 0; i < 20'000; ++i) {
        const std::size_t wanted = 1 + random() % 20;
        if (random() % 2 == 0) {
            const std::size_t first = cells.try_take(wanted);
            if (first == CellMap::none) continue;
            ASSERT_LE(first + wanted, n_cells);
            for (std::size_t cell = first; cell < first + wanted; ++cell) {
                ASSERT_FALSE(taken[cell]);
                taken[cell] = true;
            }
            runs.emplace_back(first, wanted);
        } else if (!runs.empty()) {
            const std::size_t which = random() % runs.size();
            const auto [first, n_run] = runs[which];
            runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(which));
            for (std::size_t cell = first; cell < first + n_run; ++cell) taken[cell] = false;
            cells.give_back(first);
        }
    }
    for (const auto& run : runs) cells.give_back(run.first);
    EXPECT_EQ(cells.try_take(n_cells), 0u);
    EXPECT_EQ(cells.try_take(1), CellMap::none);
    cells.give_back(0);
    EXPECT_EQ(cells.try_take(n_cells + 1), CellMap::none);
}

/// A lender, and the receiver's side of the memory.
class Lending : public testing::Test {
  protected:
    void SetUp() override {
        auto made = LentMemory::try_create(n_cells * cell_bytes);
        ASSERT_NE(made, nullptr);
        seen_ = LentMemory::try_attach(Descriptor(dup(made->descriptor())));
        ASSERT_NE(seen_, nullptr);
        ASSERT_EQ(seen_->n_cells(), n_cells);
        lender_ = std::make_unique<Lender>(std::move(made), nullptr);
    }
    void take(const Loan& loan) { seen_->header().taken_bytes += loan.n_bytes; }
    void give_back(const Loan& loan) {
        seen_->returned(loan.first_cell) = 1;
        ++seen_->header().n_returned;
    }
    bool lies_there(const Loan& loan, const std::vector<std::byte>& message) const {
        return loan.n_bytes == message.size() &&
               std::memcmp(seen_->cell(loan.first_cell), message.data(), message.size()) == 0;
    }

    std::unique_ptr<LentMemory> seen_;
    std::unique_ptr<Lender> lender_;
};

TEST_F(Lending, MessagesStayWhereTheyAreUntilTheyAreGivenBackInAnyOrder) {
    std::mt19937_64 random(anello::test::seed());
    std::vector<std::pair<Loan, std::vector<std::byte>>> held;
    int n_lent = 0;
    for (int i = 0; i < 2000; ++i) {
        const auto message = bytes_of(1 + random() % (5 * cell_bytes), static_cast<std::uint64_t>(i));
        Loan loan{};
        if (lender_->try_lend(message, SIZE_MAX, loan)) {
            ++n_lent;
            take(loan);
            held.emplace_back(loan, message);
        }
        while (held.size() > 10 || (!held.empty() && random() % 3 == 0)) {
            const std::size_t which = random() % held.size();
            ASSERT_TRUE(lies_there(held[which].first, held[which].second));
            give_back(held[which].first);
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        }
    }
    EXPECT_GT(n_lent, 1000);
    EXPECT_LE(lender_->n_lent(), n_cells);
}

TEST_F(Lending, WhatTheReceiverKeepsForEverIsNotUsedAgain) {
    const auto message = bytes_of(4 * cell_bytes, 1);
    std::set<std::uint64_t> cells;
    Loan loan{};
    while (lender_->try_lend(message, SIZE_MAX, loan)) {
        EXPECT_TRUE(cells.insert(loan.first_cell).second);
        take(loan);
    }
    EXPECT_EQ(cells.size(), n_cells / 4);
    give_back({8, message.size()});
    ASSERT_TRUE(lender_->try_lend(message, SIZE_MAX, loan));
    EXPECT_EQ(loan.first_cell, 8u);
    EXPECT_FALSE(lender_->try_lend(message, SIZE_MAX, loan));
}

TEST_F(Lending, OnlySoMuchIsUnread) {
    const auto message = bytes_of(3 * cell_bytes, 1);
    Loan first{}, second{}, third{};
    ASSERT_TRUE(lender_->try_lend(message, cell_bytes, first));
    ASSERT_TRUE(lender_->try_lend(message, cell_bytes, second)) << "two go always";
    EXPECT_FALSE(lender_->try_lend(message, 9 * cell_bytes - 1, third));
    EXPECT_TRUE(lender_->try_lend(message, 9 * cell_bytes, third));
    take(first);
    EXPECT_FALSE(lender_->try_lend(message, cell_bytes, first));
    take(second);
    EXPECT_TRUE(lender_->try_lend(message, cell_bytes, first));
}

TEST_F(Lending, AReceiverThatSaysWhatIsNotSoHarmsNothingElse) {
    const auto message = bytes_of(cell_bytes, 1);
    Loan loan{};
    for (std::size_t cell = 0; cell < n_cells; ++cell) give_back({cell, 1});
    seen_->header().n_returned = UINT64_MAX;
    ASSERT_TRUE(lender_->try_lend(message, SIZE_MAX, loan));
    seen_->header().taken_bytes = UINT64_MAX;
    seen_->header().size_bytes = UINT64_MAX;
    int n_lent = 1;
    while (lender_->try_lend(message, SIZE_MAX, loan) && n_lent < 1000) {
        ++n_lent;
        ASSERT_LT(loan.first_cell, n_cells);
    }
    EXPECT_FALSE(lender_->try_lend(bytes_of(n_cells * cell_bytes + 1, 1), SIZE_MAX, loan));
}

TEST(Copier, CopiesEveryByteWhoeverCallsIt) {
    Copier copier;
    const auto copy_many = [&copier](std::uint64_t seed) {
        std::mt19937 random(static_cast<unsigned>(seed));
        const auto from = bytes_of(3 << 20, seed);
        for (int i = 0; i < 100; ++i) {
            const std::size_t n_bytes = random() % from.size();
            std::vector<std::byte> to(n_bytes + 1, std::byte{7});
            copier.copy(to.data(), from.data(), n_bytes);
            ASSERT_EQ(std::memcmp(to.data(), from.data(), n_bytes), 0) << n_bytes;
            ASSERT_EQ(to[n_bytes], std::byte{7});
        }
    };
    std::thread other(copy_many, 1);
    copy_many(2);
    other.join();
}

TEST(Copier, IsOneForAllAndEndsWithTheLast) {
    const auto first = Copier::try_share();
    EXPECT_EQ(Copier::try_share(), first);
}

}  // namespace
}  // namespace anello::zeromq
