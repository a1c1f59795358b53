#include "engine/types/settings.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tokenscope {
namespace {

TEST(Settings, EveryRowsDefaultIsWhatAFreshSettingsObjectHas)
{
    const Settings fresh;
    for (const SettingInfo& info : settingTable())
        EXPECT_EQ(settingValue(fresh, info.key), info.defaultValue) << info.key;
}

TEST(Settings, EveryRowTakesItsOwnDefaultAndRefusesNonsense)
{
    for (const SettingInfo& info : settingTable()) {
        Settings settings;
        EXPECT_TRUE(setSetting(settings, info.key, info.defaultValue)) << info.key;
        for (std::string_view choice : info.choices) {
            EXPECT_TRUE(setSetting(settings, info.key, choice)) << info.key;
            EXPECT_EQ(settingValue(settings, info.key), choice) << info.key;
        }
        if (info.kind == SettingKind::Integer || info.kind == SettingKind::Number) {
            const auto atMinimum = std::to_string(static_cast<long long>(std::ceil(info.minimum)));
            EXPECT_TRUE(setSetting(settings, info.key, atMinimum)) << info.key;
            for (const char* wrong : {"1e300", "nan", "inf", "12x", "", " 12"})
                EXPECT_FALSE(setSetting(settings, info.key, wrong)) << info.key << '=' << wrong;
        }
    }
}

TEST(Settings, ARefusalNamesKeyValueAndRange)
{
    Settings settings;
    const auto refused = setSetting(settings, "top-p", "1.5");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::BadSetting);
    EXPECT_EQ(refused.error().message, "top_p=1.5: expected a number from 0 to 1");
    EXPECT_EQ(setSetting(settings, "prefill-chunk", "0").error().message,
              "prefill_chunk=0: expected a whole number from 1 to 1048576 or auto or whole (tokens)");
    EXPECT_EQ(setSetting(settings, "isa", "sse").error().message,
              "isa=sse: expected one of auto, scalar, avx2, avx512, neon");
    EXPECT_EQ(setSetting(settings, "colour", "red").error().message, "colour=red: no such setting");
}

TEST(Settings, ASettingOfALaterBuildIsRefusedByNameUnlessItAsksForWhatIsThere)
{
    Settings settings;
    EXPECT_TRUE(isKnownButAbsent("kv-layout"));
    EXPECT_TRUE(setSetting(settings, "kv-layout", "paged"));
    EXPECT_EQ(setSetting(settings, "kv-layout", "contiguous").error().message,
              "kv_layout=contiguous: not available in this build (it has paged only)");
    EXPECT_EQ(setSetting(settings, "speculate", "ngram").error().message,
              "speculate=ngram: not available in this build (it has off only)");
}

TEST(Settings, SeedHoldsAllSixtyFourBits)
{
    Settings settings;
    EXPECT_TRUE(setSetting(settings, "seed", "18446744073709551615"));
    EXPECT_EQ(settingValue(settings, "seed"), "18446744073709551615");
    EXPECT_FALSE(setSetting(settings, "seed", "-1"));
    EXPECT_TRUE(setSetting(settings, "seed", "random"));
    EXPECT_FALSE(settings.sampling.seed.has_value());
}

TEST(Settings, StopTextsAddUpAndAnEmptyOneClears)
{
    Settings settings;
    ASSERT_TRUE(setSetting(settings, "stop", "END"));
    ASSERT_TRUE(setSetting(settings, "stop", "\n\n"));
    EXPECT_EQ(settings.sampling.stop, (std::vector<std::string>{"END", "\n\n"}));
    ASSERT_TRUE(setSetting(settings, "stop", ""));
    EXPECT_TRUE(settings.sampling.stop.empty());
}

}  // namespace
}  // namespace tokenscope
