#include "machine/device.h"

#include <gtest/gtest.h>

namespace assay::machine {
namespace {

CudaError first_error(const LaunchRequest& r, const DeviceModel& d = default_device()) {
  const auto list = check_launch(d, r);
  EXPECT_FALSE(list.empty());
  return list.empty() ? CudaError::InvalidValue : list.front().error;
}

LaunchRequest request(std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block) {
  LaunchRequest r;
  r.grid = grid;
  r.block = block;
  return r;
}

TEST(Device, LargestShapesRun) {
  EXPECT_TRUE(check_launch(default_device(), request({2147483647u, 1, 1}, {1024, 1, 1})).empty());
  EXPECT_TRUE(check_launch(default_device(), request({1, 65535, 65535}, {1, 16, 64})).empty());
}

TEST(Device, ShapesBeyondTheLimits) {
  for (const LaunchRequest& r :
       {request({2147483648u, 1, 1}, {1, 1, 1}), request({1, 65536, 1}, {1, 1, 1}),
        request({1, 1, 65536}, {1, 1, 1}), request({1, 1, 1}, {1025, 1, 1}),
        request({1, 1, 1}, {1, 1, 65}), request({1, 1, 1}, {32, 33, 1}),
        request({1, 1, 1}, {0xffffffff, 0xffffffff, 0xffffffff})}) {
    EXPECT_EQ(first_error(r), CudaError::InvalidConfiguration);
  }
}

TEST(Device, EmptyGridsAndBlocksAreRefused) {
  EXPECT_EQ(first_error(request({0, 1, 1}, {1, 1, 1})), CudaError::InvalidConfiguration);
  EXPECT_EQ(first_error(request({1, 1, 0}, {1, 1, 1})), CudaError::InvalidConfiguration);
  EXPECT_EQ(first_error(request({1, 1, 1}, {0, 1, 1})), CudaError::InvalidConfiguration);
}

TEST(Device, SharedMemoryNeedsOptIn) {
  LaunchRequest r = request({1, 1, 1}, {32, 1, 1});
  r.dynamic_shared = 48 << 10;
  EXPECT_TRUE(check_launch(default_device(), r).empty());
  r.dynamic_shared += 1;
  EXPECT_EQ(first_error(r), CudaError::InvalidValue);
  r.max_dynamic_shared = 64 << 10;
  EXPECT_TRUE(check_launch(default_device(), r).empty());
  r.dynamic_shared = (64 << 10) + 1;
  EXPECT_EQ(first_error(r), CudaError::InvalidValue);
  // Static memory counts.
  r = request({1, 1, 1}, {32, 1, 1});
  r.static_shared = 40 << 10;
  r.dynamic_shared = 16 << 10;
  EXPECT_EQ(first_error(r), CudaError::InvalidValue);
  r.max_dynamic_shared = 187 << 10;
  r.dynamic_shared = 187 << 10;
  EXPECT_TRUE(check_launch(default_device(), r).empty());
  r.max_dynamic_shared = r.dynamic_shared = 188 << 10;
  EXPECT_EQ(first_error(r), CudaError::InvalidValue);
  EXPECT_TRUE(accepts_dynamic_shared(default_device(), 40 << 10, 187 << 10));
  EXPECT_FALSE(accepts_dynamic_shared(default_device(), 40 << 10, 188 << 10));
}

TEST(Device, ResourcesOfTheKernel) {
  LaunchRequest r = request({1, 1, 1}, {1024, 1, 1});
  r.registers_per_thread = 64;
  EXPECT_TRUE(check_launch(default_device(), r).empty());
  r.registers_per_thread = 65;
  EXPECT_EQ(first_error(r), CudaError::LaunchOutOfResources);
  r.registers_per_thread = 0;
  r.max_threads = 512;
  EXPECT_EQ(first_error(r), CudaError::InvalidValue);  // as the H200 says
  r.max_threads = 0;
  r.required_block = {512, 1, 1};
  EXPECT_EQ(first_error(r), CudaError::InvalidConfiguration);
  r.block = {512, 1, 1};
  EXPECT_TRUE(check_launch(default_device(), r).empty());
  r.parameter_bytes = 32768;
  EXPECT_EQ(first_error(r), CudaError::InvalidValue);
}

TEST(Device, Clusters) {
  LaunchRequest r = request({16, 2, 1}, {128, 1, 1});
  r.cluster = {8, 1, 1};
  EXPECT_TRUE(check_launch(default_device(), r).empty());
  r.cluster = {16, 1, 1};
  EXPECT_EQ(first_error(r), CudaError::InvalidClusterSize);
  r.nonportable_cluster = true;
  EXPECT_TRUE(check_launch(default_device(), r).empty());
  r.cluster = {3, 1, 1};
  EXPECT_EQ(first_error(r), CudaError::InvalidClusterSize);  // as the H200 says
  r.cluster = {2, 1, 1};
  EXPECT_EQ(first_error(r, *find_device("a100")), CudaError::InvalidClusterSize);
}

TEST(Device, CooperativeGridsMustBeResident) {
  LaunchRequest r = request({132 * 2, 1, 1}, {1024, 1, 1});
  r.cooperative = true;
  EXPECT_TRUE(check_launch(default_device(), r).empty());
  r.grid[0] += 1;
  EXPECT_EQ(first_error(r), CudaError::CooperativeLaunchTooLarge);
  r.block = {32, 1, 1};
  EXPECT_EQ(resident_ctas_per_sm(default_device(), r), 32u);
  r.dynamic_shared = 40 << 10;
  EXPECT_EQ(resident_ctas_per_sm(default_device(), r), 5u);
  r.registers_per_thread = 255;
  r.dynamic_shared = 0;
  r.block = {256, 1, 1};
  EXPECT_EQ(resident_ctas_per_sm(default_device(), r), 1u);
}

TEST(Device, NamesAndEveryReason) {
  EXPECT_STREQ(cuda_error_name(CudaError::InvalidConfiguration), "cudaErrorInvalidConfiguration");
  EXPECT_EQ(find_device("gtx"), nullptr);
  LaunchRequest r = request({0, 70000, 1}, {2000, 1, 1});
  r.dynamic_shared = 1 << 20;
  EXPECT_EQ(check_launch(default_device(), r).size(), 5u);
}

}  // namespace
}  // namespace assay::machine
