#include "app/bridge/window_arguments.h"
#include "tests/support/temp_folder.h"
#include "ui/pages/single_instance.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

#include <thread>
#include <vector>

namespace tokenscope {
namespace {

Result<WindowArguments> parse(const std::vector<const char*>& words)
{
    QStringList list;
    for (const char* word : words)
        list << QString::fromUtf8(word);
    return parseWindowArguments(list);
}

TEST(WindowArguments, TheFormOfTheManualIsUnderstood)
{
    const auto parsed = parse({"model.gguf", "--data-dir", "d", "--screenshot", "a.png", "--page", "chat", "--theme",
                               "dark", "--size", "1024x640", "--scale", "2", "--prompt", "--not an option"});
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_EQ(parsed->files, QStringList{QStringLiteral("model.gguf")});
    EXPECT_EQ(parsed->size, QSize(1024, 640));
    EXPECT_EQ(parsed->scale, 2.0);
    EXPECT_EQ(parsed->prompt, QStringLiteral("--not an option"));
    EXPECT_TRUE(parse({"--screenshot=a.png", "--size=800x600"}).has_value());
    EXPECT_TRUE(parse({"-platform", "offscreen"}).has_value());
    EXPECT_EQ(parse({"--", "--odd.gguf"})->files, QStringList{QStringLiteral("--odd.gguf")});
}

TEST(WindowArguments, WrongUseNamesTheOption)
{
    for (const auto& words : std::vector<std::vector<const char*>>{{"--bogus"},
                                                                   {"--size"},
                                                                   {"--screenshot", "a.jpg"},
                                                                   {"--screenshot", "a.png", "--size", "0x0"},
                                                                   {"--screenshot", "a.png", "--size", "wide"},
                                                                   {"--screenshot", "a.png", "--scale", "nan"},
                                                                   {"--theme", "pink"},
                                                                   {"--screenshot", "a.png", "--page", "compare"},
                                                                   {"--prompt", "x", "m.gguf"},
                                                                   {"--screenshot", "a.png", "--prompt", "x"}}) {
        const auto parsed = parse(words);
        ASSERT_FALSE(parsed.has_value());
        EXPECT_EQ(parsed.error().code, ErrorCode::BadInput);
        EXPECT_NE(parsed.error().message.find("--"), std::string::npos) << parsed.error().message;
    }
}

TEST(SingleInstance, ASecondStartHandsItsFilesToTheFirst)
{
    const test::TempFolder folder;
    const QString data = QString::fromStdString(folder.path().string());
    ui::SingleInstance first(data);
    ASSERT_TRUE(first.claim({}));
    QSignalSpy told(&first, &ui::SingleInstance::otherStarted);
    bool claimed = true;
    std::thread other([&] {
        ui::SingleInstance second(data);
        claimed = second.claim({QStringLiteral("/models/a.gguf")});
    });
    EXPECT_TRUE(QTest::qWaitFor([&] { return told.count() == 1; }));
    other.join();
    EXPECT_FALSE(claimed);
    ASSERT_EQ(told.count(), 1);
    EXPECT_EQ(told.at(0).at(0).toStringList(), QStringList{QStringLiteral("/models/a.gguf")});

    const test::TempFolder elsewhere;
    ui::SingleInstance beside(QString::fromStdString(elsewhere.path().string()));
    EXPECT_TRUE(beside.claim({})) << "another data folder may have a window of its own";
}

}  // namespace
}  // namespace tokenscope
