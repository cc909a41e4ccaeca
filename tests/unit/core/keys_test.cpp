// SPDX-License-Identifier: Apache-2.0
#include "core/keys.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/errors.hpp"

namespace anello {
namespace {

enum class Colour : std::uint8_t { red, green };

struct Lamp {
    std::uint32_t n_bulbs = 4;
    std::uint8_t socket = 7;
    float watts = 4.7F;
    std::int64_t fade_ns = 2'500'000;
    float steps[3] = {1, 2, 3};
    std::vector<std::uint16_t> ports{1};
    std::string name = "lamp";
    bool on = true;
    Colour colour = Colour::green;
};

}  // namespace

template <>
inline constexpr std::array<const char*, 2> words_of<Colour>{"red", "green"};

namespace {

using K = Key<Lamp>;
constexpr std::array rows{
    K::of<&Lamp::n_bulbs>("n_bulbs", Limits{2, 64}.powers_of_two(), "Bulbs."),
    K::of<&Lamp::socket>("socket", "Socket."),
    K::of<&Lamp::watts>("watts", {0.1, 100}, "Power."),
    K::of<&Lamp::fade_ns, ns_per_ms>("fade_ms", {0.5, 1000}, "Time to fade."),
    K::of<&Lamp::steps>("steps", Limits{0, 9}.entries(3, 3), "Steps."),
    K::of<&Lamp::ports>("ports", Limits{}.entries(1, 2), "Ports."),
    K::of<&Lamp::name>("name", not_empty, "Name."),
    K::of<&Lamp::on>("on", "Whether it is on."),
    K::of<&Lamp::colour>("colour", "Colour."),
};
constexpr Keys<Lamp> lamp_keys{"house.lamp", "A lamp.", rows};

Lamp taken(const std::map<std::string, KeyValue>& values) {
    Lamp lamp;
    lamp_keys.take(
        [&](const KeyRule& rule, const KeyValue&) -> std::optional<KeyValue> {
            const auto found = values.find(rule.name);
            return found == values.end() ? std::nullopt : std::optional(found->second);
        },
        lamp);
    return lamp;
}

std::string refused(const std::string& key, const KeyValue& value) {
    try {
        taken({{key, value}});
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "";
}

using Whole = std::vector<std::int64_t>;
using Reals = std::vector<double>;

TEST(Keys, AreForExpertsWhereTheyOrTheirTableSaySo) {
    constexpr auto all = for_experts(rows);
    static_assert(!rows[0].expert && rows[0].for_experts().expert);
    EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](const KeyRule& rule) { return rule.expert; }));
    EXPECT_TRUE(std::none_of(rows.begin(), rows.end(), [](const KeyRule& rule) { return rule.expert; }));
}

TEST(Keys, TakeWhatIsGivenAndLeaveTheRest) {
    const Lamp lamp = taken({{"watts", 0.1}, {"fade_ms", 1.5}, {"steps", Reals{7, 8, 9}}, {"colour", "red"}});
    EXPECT_EQ(lamp.watts, 0.1F);
    EXPECT_EQ(lamp.fade_ns, 1'500'000);
    EXPECT_EQ(lamp.steps[2], 9);
    EXPECT_EQ(lamp.colour, Colour::red);
    EXPECT_EQ(lamp.n_bulbs, 4U);
    EXPECT_EQ(lamp.ports, std::vector<std::uint16_t>{1});
    EXPECT_EQ(taken({{"ports", Whole{65'535, 9}}}).ports.at(0), 65'535);
}

TEST(Keys, RefuseByTheWholeName) {
    EXPECT_EQ(refused("watts", 100.5), "house.lamp.watts: must be at most 100 (given: 100.5). The default is 4.7");
    EXPECT_EQ(refused("watts", std::nan("")),
              "house.lamp.watts: must be a finite number (given: nan). The default is 4.7");
    EXPECT_EQ(refused("fade_ms", 0.4), "house.lamp.fade_ms: must be at least 0.5 (given: 0.4). The default is 2.5");
    EXPECT_EQ(refused("n_bulbs", std::int64_t{3}),
              "house.lamp.n_bulbs: must be a power of two (given: 3). The default is 4");
    EXPECT_EQ(refused("steps", Reals{1, 2, 10}),
              "house.lamp.steps[2]: must be at most 9 (given: 10). The default is [1, 2, 3]");
    EXPECT_EQ(refused("steps", Reals{1, 2}),
              "house.lamp.steps: must have at least 3 entries (given: [1, 2]). The default is [1, 2, 3]");
    EXPECT_EQ(refused("ports", Whole{1, 2, 3}),
              "house.lamp.ports: must have at most 2 entries (given: [1, 2, 3]). The default is [1]");
    EXPECT_EQ(refused("name", std::string()),
              "house.lamp.name: must not be empty (given: \"\"). The default is \"lamp\"");
    EXPECT_EQ(refused("colour", "blue"), "house.lamp.colour: must be red or green (given: blue). Choose one of these");
}

TEST(Keys, BoundsAreNoWiderThanTheType) {
    EXPECT_EQ(refused("socket", std::int64_t{256}),
              "house.lamp.socket: must be at most 255 (given: 256). The default is 7");
    EXPECT_EQ(refused("ports", Whole{-1}), "house.lamp.ports[0]: must be at least 0 (given: -1). The default is [1]");
}

TEST(Keys, AConfigurationOfOurOwnIsCheckedToo) {
    Lamp lamp;
    EXPECT_NO_THROW(lamp_keys.check(lamp));
    lamp.watts = 0.1F;  // a little more than 0.1
    EXPECT_NO_THROW(lamp_keys.check(lamp));
    lamp.fade_ns = 2'000'000'000;
    EXPECT_THROW(lamp_keys.check(lamp), ConfigError);
}

}  // namespace
}  // namespace anello
