#include "base/install.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace assay {
namespace {
namespace fs = std::filesystem;

class InstallTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "assay-install-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    fs::create_directories(root_ / "share/assay/include");
    setenv("ASSAY_HOME", root_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("ASSAY_HOME");
    fs::remove_all(root_);
  }
  fs::path root_;
};

TEST_F(InstallTest, FindsResourcesBelowAssayHome) {
  auto path = resource("include");
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(*path, root_ / "share/assay/include");
}

TEST_F(InstallTest, NamesWhatIsMissing) {
  auto path = helper_program("assay-host-runner");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().kind, DiagKind::Io);
  EXPECT_NE(path.error().message.find("libexec/assay/assay-host-runner"), std::string::npos);
}

TEST_F(InstallTest, RefusesAHomeWithoutShare) {
  setenv("ASSAY_HOME", (root_ / "share").c_str(), 1);
  ASSERT_FALSE(install_root());
}

TEST_F(InstallTest, BuildFolderIsARoot) {
  unsetenv("ASSAY_HOME");
  auto root = install_root();
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_TRUE(fs::is_directory(*root / "share/assay"));
}

}  // namespace
}  // namespace assay
