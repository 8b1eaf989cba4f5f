// Processes that ask while they run.
#include "host/process.h"

#include <gtest/gtest.h>
#include <time.h>

namespace {

using namespace assay::host;

ProcessSpec shell(const std::string& script) {
  ProcessSpec spec;
  spec.argv = {"/bin/sh", "-c", script};
  spec.wall_seconds = 20;
  spec.max_result = 1 << 20;
  return spec;
}

TEST(Process, QuestionsAreAnsweredAndAreNoPartOfTheResult) {
  ProcessSpec spec = shell(
      "echo first >&3; echo ask one two >&3; read a; printf 'ask th' >&3; sleep 0.1; "
      "echo ree >&3; read b; printf 'got %s and %s' \"$a\" \"$b\" >&3");
  std::vector<std::string> asked;
  spec.answer = [&](const std::string& line) {
    asked.push_back(line);
    return "<" + line + ">";
  };
  const auto r = run_process(spec);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(asked, (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(r->result, "first\ngot <one two> and <three>");
  EXPECT_EQ(r->exit_code, 0);
}

TEST(Process, AnswersLongerThanAPipe) {
  ProcessSpec spec = shell("echo ask x >&3; read a; printf '%s' \"${#a}\" >&3");
  spec.answer = [](const std::string&) { return std::string(300000, 'y'); };
  const auto r = run_process(spec);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->result, "300000");
}

TEST(Process, TimeForAnAnswerIsNotTheProcesss) {
  ProcessSpec spec = shell("echo ask x >&3; read a; echo done >&3");
  spec.wall_seconds = 1.5;
  spec.answer = [](const std::string&) {
    timespec pause{2, 0};
    nanosleep(&pause, nullptr);
    return std::string("y");
  };
  const auto r = run_process(spec);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_FALSE(r->timed_out);
  EXPECT_EQ(r->result, "done\n");
}

TEST(Process, WithoutSomebodyToAnswerTheLineIsAResult) {
  const auto r = run_process(shell("echo ask x >&3"));
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->result, "ask x\n");
}

}  // namespace
