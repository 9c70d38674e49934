// The health of the corpus: a law whose folder is empty, or a file that nobody could have meant, is found
// here and not by somebody who relied on it.
#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/case/rows.hpp"
#include "attest/properties/laws.hpp"

#include "corpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <vector>

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

// Rates of a campaign would mean little if its seeds were trivial.
TEST(Corpus, TheMedianCaseHasEightFeaturesAndFourRows) {
    std::vector<std::uint64_t> widths, rows;
    for (const CorpusFile& file : corpus_cases()) {
        const auto one = cases::parse(file.text);
        ASSERT_TRUE(one) << file.path;
        widths.push_back(one->width);
        rows.push_back(cases::rows_needed(*one));
    }
    ASSERT_FALSE(rows.empty());
    const auto median = [](std::vector<std::uint64_t>& values) {
        std::ranges::sort(values);
        return values[values.size() / 2];
    };
    EXPECT_GE(median(widths), 8U);
    EXPECT_GE(median(rows), 4U);
}

// What a campaign keeps for itself may be large; what everybody clones may not.
TEST(Corpus, IsSmallerThanTwoMegabytes) {
    EXPECT_GT(corpus_bytes(), 10000U);
    EXPECT_LT(corpus_bytes(), std::uintmax_t{2} << 20U);
}

// One case under two laws is two questions; the same question twice is one too many.
TEST(Corpus, NoCaseStandsTwice) {
    std::map<std::string, std::filesystem::path> seen;
    for (const CorpusFile& file : corpus_cases()) {
        auto one = cases::parse(file.text);
        ASSERT_TRUE(one) << file.path;
        one->comments.clear();
        const auto [other, fresh] = seen.emplace(cases::print(*one), file.path);
        EXPECT_TRUE(fresh) << file.path << " is " << other->second;
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
