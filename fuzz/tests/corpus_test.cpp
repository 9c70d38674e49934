// The health of the corpus: a law whose folder is empty, or a file that nobody could have meant, is found
// here and not by somebody who relied on it.
#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/properties/laws.hpp"

#include "corpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace attest::fuzzing {
namespace {

TEST(Corpus, EveryLawHasThreeCases) {
    std::map<std::string, std::set<std::string>, std::less<>> texts;
    for (const CorpusFile& file : corpus_cases()) {
        // Two files that differ in their comments alone are one case.
        auto one = cases::parse(file.text);
        if (one) {
            one->comments.clear();
            texts[file.folder].insert(cases::print(*one));
        }
    }
    for (const properties::Law& law : properties::laws()) {
        EXPECT_GE(texts[std::string(law.name)].size(), 3U) << law.name;
    }
}

TEST(Corpus, EveryFolderIsALaw) {
    for (const CorpusFile& file : corpus_cases()) {
        EXPECT_NE(properties::find_law(file.folder), nullptr) << file.path;
    }
}

TEST(Corpus, EveryFileIsACanonicalCaseOfItsFolder) {
    const auto files = corpus_cases();
    ASSERT_FALSE(files.empty());
    for (const CorpusFile& file : files) {
        SCOPED_TRACE(file.path.string());
        const auto one = cases::parse(file.text);
        if (!one) {
            ADD_FAILURE() << one.error().text();
            continue;
        }
        EXPECT_EQ(cases::print(*one), file.text);
        EXPECT_EQ(one->law, file.folder);
        EXPECT_TRUE(!one->comments.empty() && one->comments.front().size() >= 10)
            << "the first line says what is special";
    }
}

// A name says what is special; dates, hashes and numbers do not.
TEST(Corpus, NamesAreWords) {
    for (const CorpusFile& file : corpus_cases()) {
        EXPECT_EQ(file.path.extension(), ".case") << file.path;
        const std::string stem = file.path.stem().string();
        EXPECT_TRUE(std::ranges::all_of(stem, [](char c) {
            return c == '_' || std::islower(c) || std::isdigit(c);
        })) << file.path;
        EXPECT_GE(std::ranges::count_if(stem, [](char c) { return c >= 'a' && c <= 'z'; }), 4) << file.path;
    }
}

}  // namespace
}  // namespace attest::fuzzing
