#include "kernels/cpu/cores.h"
#include "kernels/cpu/cpu_backend.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace tokenscope::kernels {
namespace {

namespace fs = std::filesystem;

// A /proc and /sys of our own.
class FakeSystem : public ::testing::Test {
protected:
    FakeSystem() : m_root(fs::temp_directory_path() / ("tokenscope-cores-" + std::to_string(::getpid())))
    {
        fs::remove_all(m_root);
    }
    ~FakeSystem() override { fs::remove_all(m_root); }

    void write(const std::string& path, const std::string& text)
    {
        fs::create_directories((m_root / path).parent_path());
        std::ofstream(m_root / path) << text;
    }
    void addCpu(int cpu, int package, int core)
    {
        const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
        write(folder + "physical_package_id", std::to_string(package) + "\n");
        write(folder + "core_id", std::to_string(core) + "\n");
    }

    fs::path m_root;
};

constexpr int kFour[] = {0, 1, 2, 3};

TEST(Isa, ScalarIsAlwaysThereAndTheOrderIsSlowestFirst)
{
    const auto& isas = availableIsas();
    ASSERT_FALSE(isas.empty());
    EXPECT_EQ(isas.front(), Isa::Scalar);
    EXPECT_TRUE(std::is_sorted(isas.begin(), isas.end()));
}

TEST(Isa, NamesAreThoseOfTheCommandLine)
{
    EXPECT_EQ(isaName(Isa::Scalar), "scalar");
    EXPECT_EQ(isaName(Isa::Avx2), "avx2");
    EXPECT_EQ(isaName(Isa::Avx512), "avx512");
    EXPECT_EQ(isaName(Isa::Neon), "neon");
}

TEST(Isa, ThisProcessHasAtLeastOneCore)
{
    EXPECT_GE(physicalCores(), 1);
}

TEST_F(FakeSystem, HardwareThreadsOfOneCoreCountOnce)
{
    addCpu(0, 0, 0);
    addCpu(1, 0, 1);
    addCpu(2, 0, 0);
    addCpu(3, 0, 1);
    EXPECT_EQ(countCores(m_root, kFour), 2);
}

TEST_F(FakeSystem, TheSameCoreNumberInTwoPackagesIsTwoCores)
{
    addCpu(0, 0, 0);
    addCpu(1, 0, 1);
    addCpu(2, 1, 0);
    addCpu(3, 1, 1);
    EXPECT_EQ(countCores(m_root, kFour), 4);
}

TEST_F(FakeSystem, OnlyCpusOfTheAffinityMaskCount)
{
    for (int cpu = 0; cpu < 4; ++cpu)
        addCpu(cpu, 0, cpu);
    const int allowed[] = {2};
    EXPECT_EQ(countCores(m_root, allowed), 1);
}

TEST_F(FakeSystem, WithoutTopologyEveryCpuIsACore)
{
    EXPECT_EQ(countCores(m_root, kFour), 4);
}

TEST_F(FakeSystem, AUnifiedGroupQuotaCapsAndIsRoundedDown)
{
    write("proc/self/cgroup", "0::/user.slice/job\n");
    write("sys/fs/cgroup/user.slice/job/cpu.max", "250000 100000\n");
    EXPECT_EQ(countCores(m_root, kFour), 2);
}

TEST_F(FakeSystem, AParentGroupsQuotaHoldsForItsChildren)
{
    write("proc/self/cgroup", "0::/user.slice/job\n");
    write("sys/fs/cgroup/user.slice/cpu.max", "100000 100000\n");
    write("sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
    EXPECT_EQ(countCores(m_root, kFour), 1);
}

TEST_F(FakeSystem, AQuotaBelowOneCpuStillLeavesOneCore)
{
    write("proc/self/cgroup", "0::/\n");
    write("sys/fs/cgroup/cpu.max", "20000 100000\n");
    EXPECT_EQ(countCores(m_root, kFour), 1);
}

TEST_F(FakeSystem, ALegacyGroupQuotaCapsAndMinusOneIsNoLimit)
{
    write("proc/self/cgroup", "4:cpu,cpuacct:/docker/x\n3:cpuset:/\n");
    write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
    write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(countCores(m_root, kFour), 3);
    write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    EXPECT_EQ(countCores(m_root, kFour), 4);
}

TEST_F(FakeSystem, GarbageInTheGroupFilesIsNoLimit)
{
    write("proc/self/cgroup", "0::/\nnonsense\n:::\n");
    write("sys/fs/cgroup/cpu.max", "banana -7\n");
    EXPECT_EQ(countCores(m_root, kFour), 4);
}

}  // namespace
}  // namespace tokenscope::kernels
