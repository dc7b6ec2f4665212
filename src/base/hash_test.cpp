#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace biowarp {
namespace {

template <class Hash>
std::string digest_of(std::string_view text) {
  Hash hash;
  hash.add(text);
  return hash.finish();
}

// FIPS 180-4's examples.
TEST(Digest, KnownValues) {
  EXPECT_EQ(digest_of<Sha256>("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest_of<Sha1>("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(digest_of<Sha1>(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

TEST(Digest, PiecesCountAsOneText) {
  Sha256 hash;
  hash.add("a");
  hash.add("");
  hash.add("bc");
  EXPECT_EQ(hash.finish(), digest_of<Sha256>("abc"));
}

TEST(ContentHash, TextsAreKeptApart) {
  const std::string left = ContentHash().add_text("ab").add_text("c").hex();
  EXPECT_NE(left, ContentHash().add_text("a").add_text("bc").hex());
  EXPECT_EQ(left, ContentHash().add_text("ab").add_text("c").hex());
  EXPECT_EQ(left.size(), 32u);
  EXPECT_EQ(content_hash("abc", 3), ContentHash().add("abc", 3).hex());
}

}  // namespace
}  // namespace biowarp
