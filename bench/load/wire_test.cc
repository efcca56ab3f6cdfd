#include "weir/load/wire.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

TEST(Message, IsReadAsItWasWritten) {
  const MessageWriter inner = MessageWriter().Number(1, 7);
  const MessageWriter message = MessageWriter().Number(1, -1).Text(2, "abc").Message(3, inner);
  std::string_view rest = message.text();
  EXPECT_EQ(TakeField(rest)->value, -1);
  EXPECT_EQ(TakeField(rest)->text, "abc");
  EXPECT_EQ(FindField(TakeField(rest)->text, 1)->value, 7);
  EXPECT_FALSE(TakeField(rest));
}

TEST(Message, MayHaveItsLastBytesSentApart) {
  MessageWriter head;
  head.TextHead(4, 3);
  const std::string whole = head.text() + "xyz";
  EXPECT_EQ(FindField(whole, 4)->text, "xyz");
}

TEST(Message, EndsWhereItIsCutShort) {
  const MessageWriter message = MessageWriter().Number(1, 300).Text(2, "abc");
  for (size_t size = 0; size < message.text().size(); ++size) {
    std::string_view rest = std::string_view(message.text()).substr(0, size);
    size_t fields = 0;
    while (TakeField(rest)) ++fields;
    EXPECT_LE(fields, size < 3 ? 0u : 1u);
  }
}

TEST(Message, SkipsFixedNumbers) {
  const std::string message = std::string("\x0d") + "abcd" + "\x11" + "abcdefgh" + "\x18\x05";
  EXPECT_EQ(FindField(message, 3)->value, 5);
}

TEST(BucketStatus, IsTheErrorThatTheServerGave) {
  EXPECT_TRUE(BucketStatus(MessageWriter().Number(2, 0).text(), 3).ok());
  const Status failed = BucketStatus(MessageWriter().Number(3, 21).Text(4, "which one?").text(), 3);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "the server answered: code=21 message=which one?");
}

TEST(Endpoint, IsHostAndPort) {
  EXPECT_EQ(*ParseEndpoint("localhost:9123"), (Endpoint{"localhost", 9123}));
  EXPECT_FALSE(ParseEndpoint("localhost").ok());
  EXPECT_FALSE(ParseEndpoint("localhost:91x").ok());
}

}  // namespace
}  // namespace weir::load
