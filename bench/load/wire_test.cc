#include "weir/load/wire.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

int64_t ValueOf(std::string_view message, int field) {
  return FindField(message, field).value_or(Field()).value;
}

TEST(Message, IsReadAsItWasWritten) {
  const MessageWriter inner = MessageWriter().Number(1, 7);
  const MessageWriter message = MessageWriter().Number(1, -1).Text(2, "abc").Message(3, inner);
  std::string_view rest = message.text();
  std::vector<Field> fields;
  while (const std::optional<Field> field = TakeField(rest)) fields.push_back(*field);
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_EQ(fields[0].value, -1);
  EXPECT_EQ(fields[1].text, "abc");
  EXPECT_EQ(ValueOf(fields[2].text, 1), 7);
}

TEST(Message, MayHaveItsLastBytesSentApart) {
  MessageWriter head;
  head.TextHead(4, 3);
  const std::string whole = head.text() + "xyz";
  EXPECT_EQ(FindField(whole, 4).value_or(Field()).text, "xyz");
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
  EXPECT_EQ(ValueOf(message, 3), 5);
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
