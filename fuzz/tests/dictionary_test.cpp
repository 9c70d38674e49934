// A dictionary that lost a word steers a fuzzer away from it, and nobody would see.
#include "attest/case/words.hpp"
#include "attest/dump/tensor.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace attest::fuzzing {
namespace {

std::string read(const char* name) {
    std::ifstream in(std::string(ATTEST_FUZZ_DIR) + "/" + name);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void expect_word(const std::string& dictionary, std::string_view word) {
    const bool bare = dictionary.find("\"" + std::string(word) + "\"\n") != std::string::npos;
    const bool key = dictionary.find("\"" + std::string(word) + " = \"\n") != std::string::npos;
    EXPECT_TRUE(bare || key) << word;
}

TEST(Dictionary, HasEveryWordOfACase) {
    const std::string dictionary = read("case.dict");
    for (const auto one : cases::all_tensors()) {
        expect_word(dictionary, cases::to_text(one));
    }
    for (const auto one : cases::all_fillings()) {
        expect_word(dictionary, cases::to_text(one));
    }
    for (const auto one : cases::all_storages()) {
        expect_word(dictionary, cases::to_text(one));
    }
    for (const auto one : cases::all_verbs()) {
        expect_word(dictionary, cases::to_text(one));
    }
    for (const auto one : cases::all_variants()) {
        expect_word(dictionary, cases::to_text(one));
    }
    for (const auto one : {cases::Pairs::half, cases::Pairs::interleaved}) {
        expect_word(dictionary, cases::to_text(one));
    }
}

TEST(Dictionary, HasEveryTypeOfADump) {
    const std::string dictionary = read("safetensors.dict");
    for (int one = 0; one <= static_cast<int>(dump::Dtype::F64); ++one) {
        expect_word(dictionary, dump::to_text(static_cast<dump::Dtype>(one)));
    }
}

// The form libFuzzer reads: a comment, or one quoted word a line.
TEST(Dictionary, LinesAreQuoted) {
    for (const char* name : {"case.dict", "npy.dict", "safetensors.dict"}) {
        std::ifstream in(std::string(ATTEST_FUZZ_DIR) + "/" + name);
        std::size_t words = 0;
        for (std::string line; std::getline(in, line);) {
            if (line.starts_with('#')) {
                continue;
            }
            ++words;
            EXPECT_TRUE(line.size() > 2 && line.front() == '"' && line.back() == '"') << name << ": " << line;
        }
        EXPECT_GT(words, 10U) << name;
    }
}

}  // namespace
}  // namespace attest::fuzzing
