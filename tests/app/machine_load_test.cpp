// What others used of the machine, from two readings of /proc/stat.
#include "app/services/machine_load.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include <unistd.h>

namespace tokenscope {
namespace {

std::optional<ProcessorTime> read(const std::string& text)
{
    test::TempFolder folder;
    std::ofstream(folder.file("stat")) << text;
    return processorTime(folder.file("stat"));
}

TEST(MachineLoad, CountsEverythingButIdleAndWaitingAsBusy)
{
    const auto time = read("cpu  100 20 30 1000 50 4 6 40 7 8\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
    ASSERT_TRUE(time);
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    EXPECT_NEAR(time->busySeconds * ticks, 200.0, 1e-9) << "time stolen by other machines too, guests not twice";
    EXPECT_NEAR(time->allSeconds * ticks, 1250.0, 1e-9);
}

TEST(MachineLoad, OthersUseWhatThisProcessDidNot)
{
    // Two processors for a second: 1.5 s busy, 1.2 of them by this process.
    EXPECT_DOUBLE_EQ(loadOfOthers({10.0, 100.0, 5.0}, {11.5, 102.0, 6.2}), 0.15);
    EXPECT_EQ(loadOfOthers({10.0, 100.0, 5.0}, {11.5, 102.0, 6.6}), 0.0) << "ticks are coarse: never below nothing";
    EXPECT_EQ(loadOfOthers({10.0, 100.0, 5.0}, {10.0, 100.0, 5.0}), 0.0) << "no time has passed";
}

TEST(MachineLoad, AnUnreadableFileTellsNothing)
{
    EXPECT_FALSE(processorTime("/nowhere/stat"));
    EXPECT_FALSE(read(""));
    EXPECT_FALSE(read("cpu 1 2 3\n"));
    EXPECT_FALSE(read("intr 1 2 3 4 5 6 7 8\n"));
}

}  // namespace
}  // namespace tokenscope
