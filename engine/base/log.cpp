#include "engine/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace tokenscope {
namespace {

spdlog::logger& logger()
{
    // spdlog's default logger writes to stdout, which belongs to results.
    static const std::shared_ptr<spdlog::logger> instance = [] {
        auto made =
            std::make_shared<spdlog::logger>("tokenscope", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
        made->set_level(spdlog::level::warn);
        made->set_pattern("%H:%M:%S.%e %^%l%$ %v");
        return made;
    }();
    return *instance;
}

}  // namespace

void setLogLevel(LogLevel level)
{
    switch (level) {
    case LogLevel::Debug:
        logger().set_level(spdlog::level::debug);
        return;
    case LogLevel::Info:
        logger().set_level(spdlog::level::info);
        return;
    case LogLevel::Warn:
        logger().set_level(spdlog::level::warn);
        return;
    case LogLevel::Error:
        logger().set_level(spdlog::level::err);
        return;
    case LogLevel::Off:
        logger().set_level(spdlog::level::off);
        return;
    }
}

void logDebug(std::string_view text)
{
    logger().debug("{}", text);
}
void logInfo(std::string_view text)
{
    logger().info("{}", text);
}
void logWarn(std::string_view text)
{
    logger().warn("{}", text);
}
void logError(std::string_view text)
{
    logger().error("{}", text);
}

}  // namespace tokenscope
