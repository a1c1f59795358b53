#include "tests/bench/window_stage.h"

#include "app/services/chat_files.h"

#include <QEventLoop>
#include <QTimer>

#include <vector>

namespace tokenscope::bench {
namespace {

constexpr std::size_t kAnswerBytes = 8000;

std::string syntheticAnswer(int number)
{
    std::string text;
    for (int part = 1; text.size() < kAnswerBytes; ++part) {
        const std::string id = std::to_string(number) + "." + std::to_string(part);
        text +=
            "## Part " + id + "\n\nA drop bends each **colour** by a slightly different angle, so the eye sees " +
            "_one_ colour from each drop; see `refract(" + id + ")` and [the table](https://example.org/" + id +
            ") below for the angles that were measured.\n\n" +
            "- red leaves the drop at about 42 degrees\n- green lies between them\n- violet at about 40 degrees\n\n" +
            "```cpp\n// part " + id + "\ndouble refract(double angle, double index)\n{\n" +
            "    return std::asin(std::sin(angle) / index);\n}\n```\n\n" +
            "| colour | angle | index |\n|---|---|---|\n| red | 42.4 | 1.331 |\n| violet | 40.6 | 1.343 |\n\n";
    }
    return text;
}

}  // namespace

Result<void> WindowStage::openLongChat(int tokens)
{
    ConversationRow row;
    row.title = "A long chat";
    std::vector<MessageRow> messages;
    std::size_t bytes = 0;
    while (bytes < static_cast<std::size_t>(tokens) * 4) {
        const auto id = static_cast<MessageId>(messages.size() + 1);
        const std::optional<MessageId> parent = id > 1 ? std::optional(id - 1) : std::nullopt;
        messages.push_back({.id = id, .parent = parent, .role = "user", .text = "Please go on."});
        messages.push_back({.id = id + 1,
                            .parent = id,
                            .role = "assistant",
                            .text = syntheticAnswer(static_cast<int>(id)),
                            .modelName = "synthetic"});
        bytes += messages.back().text.size();
    }
    row.activeLeaf = messages.back().id;
    std::vector<const MessageRow*> pointers;
    for (const MessageRow& message : messages)
        pointers.push_back(&message);
    const Result<ConversationId> id = chat.importJson(conversationToJson(row, pointers));
    if (!id)
        return tl::unexpected(id.error());
    session.openConversation(*id);
    return {};
}

void WindowStage::runUntil(const std::function<bool()>& done)
{
    QEventLoop loop;
    QTimer timer;
    QObject::connect(&timer, &QTimer::timeout, &loop, [&] {
        if (done())
            loop.quit();
    });
    timer.start(50);
    loop.exec();
}

void WindowStage::runFor(int milliseconds)
{
    QEventLoop loop;
    QTimer::singleShot(milliseconds, &loop, &QEventLoop::quit);
    loop.exec();
}

}  // namespace tokenscope::bench
