#include <gtest/gtest.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>

#include "program/sha256.h"
#include "tests/unit/program/random_program.h"

namespace assay::program {
namespace {

TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

Bundle random_bundle(uint32_t seed, int programs) {
  Bundle b;
  for (int i = 0; i < programs; ++i) {
    b.programs.push_back(RandomProgram(seed * 31 + static_cast<uint32_t>(i)).make());
  }
  return b;
}

void expect_same(const Bundle& a, const Bundle& b) {
  ASSERT_EQ(a.programs.size(), b.programs.size());
  for (size_t i = 0; i < a.programs.size(); ++i) {
    EXPECT_EQ(*to_json(a.programs[i]), *to_json(b.programs[i]));
  }
}

TEST(Bundle, RandomProgramsRoundTrip) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Bundle b = random_bundle(seed, static_cast<int>(seed % 4));
    const auto bytes = bundle_to_bytes(b);
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto back = bundle_from_bytes(*bytes);
    ASSERT_TRUE(back) << back.error().message;
    expect_same(b, *back);
  }
}

TEST(Bundle, KeepsNonTextBytesAndSharesBlobs) {
  Bundle b;
  Program p;
  p.modules.push_back({"m.cu", std::string("\0\xff ptx", 6), "", {}, {}});
  b.programs.assign(50, p);
  std::string big(100000, '\0');
  for (size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 2654435761u >> 11);
  for (Program& q : b.programs) q.modules[0].semantic_ptx = big;
  const auto bytes = bundle_to_bytes(b);
  ASSERT_TRUE(bytes);
  EXPECT_LT(bytes->size(), 2 * big.size());
  const auto back = bundle_from_bytes(*bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->programs[49].modules[0].real_ptx, p.modules[0].real_ptx);
  EXPECT_EQ(back->programs[49].modules[0].semantic_ptx, big);
}

TEST(Bundle, FilesRoundTrip) {
  const std::string path = testing::TempDir() + "/assay_bundle_test.assay";
  const Bundle b = random_bundle(7, 3);
  ASSERT_TRUE(save_bundle(b, path));
  const auto back = load_bundle(path);
  ASSERT_TRUE(back) << back.error().message;
  expect_same(b, *back);
  std::filesystem::remove(path);
  const auto missing = load_bundle(path);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, DiagKind::Io);
  EXPECT_FALSE(save_bundle(b, "/nonexistent/folder/x.assay"));
}

TEST(Bundle, EveryTruncationIsADiag) {
  const std::string bytes = *bundle_to_bytes(random_bundle(3, 2));
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(bundle_from_bytes(std::string_view(bytes).substr(0, n))) << n;
  }
  EXPECT_FALSE(bundle_from_bytes(bytes + "x"));
}

TEST(Bundle, CorruptionNeverCrashes) {
  const std::string bytes = *bundle_to_bytes(random_bundle(5, 2));
  std::mt19937 rng(1);
  for (int i = 0; i < 3000; ++i) {
    std::string bad = bytes;
    for (uint32_t k = 0; k <= rng() % 3; ++k) bad[rng() % bad.size()] ^= char(1u << rng() % 8);
    if (const auto back = bundle_from_bytes(bad)) {
      for (const Program& p : back->programs) EXPECT_TRUE(validate(p));
    }
  }
}

std::string header() { return std::string("ASSAYBDL\x01\0\0\0\0\0\0\0", 16); }

std::string section(std::string_view raw, uint64_t claimed) {
  std::string packed(ZSTD_compressBound(raw.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 3));
  std::string out;
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(claimed >> (8 * i)));
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(uint64_t{packed.size()} >> (8 * i)));
  return out + packed;
}

TEST(Bundle, SizesThatLieAreRefused) {
  const std::string index = R"({"programs":[],"blobs":{}})";
  const std::string good = header() + section(index, index.size()) + section("", 0);
  ASSERT_TRUE(bundle_from_bytes(good)) << bundle_from_bytes(good).error().message;

  auto kind = [](const std::string& bytes) { return bundle_from_bytes(bytes).error().kind; };
  EXPECT_EQ(kind(header() + section(index, uint64_t{1} << 62)), DiagKind::Limit);
  EXPECT_EQ(kind(header() + section(index, index.size() - 1) + section("", 0)), DiagKind::Invalid);
  EXPECT_EQ(kind(header() + section(index, index.size() + 1) + section("", 0)), DiagKind::Invalid);
  // A megabyte of zeros behind a header that admits ten bytes.
  EXPECT_EQ(kind(header() + section(index, index.size()) + section(std::string(1 << 20, 0), 10)),
            DiagKind::Invalid);
  // Blob table: out of range, wrong hash.
  for (const char* blobs : {R"({"00":[0,5]})", R"({"00":[0,0]})", R"({"00":[-1,0]})", "[]"}) {
    const std::string text = std::string(R"({"programs":[],"blobs":)") + blobs + "}";
    EXPECT_EQ(kind(header() + section(text, text.size()) + section("", 0)), DiagKind::Invalid)
        << blobs;
  }
}

TEST(Bundle, ForeignFilesAndVersions) {
  EXPECT_EQ(bundle_from_bytes("\x7f"
                              "ELF, surely not a bundle")
                .error()
                .kind,
            DiagKind::Syntax);
  std::string newer = header();
  newer[8] = 2;
  EXPECT_EQ(bundle_from_bytes(newer).error().kind, DiagKind::Unsupported);
}

}  // namespace
}  // namespace assay::program
