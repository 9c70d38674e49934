// Subjects behind the C face that break its rules: each is found at the call that broke them.
#include "../run/foreign.hpp"

#include "../run/run.hpp"

#include <cstring>

#include <gtest/gtest.h>

namespace attest::properties {
namespace {

// What the subject below does wrong.
struct Slips {
    std::ptrdiff_t y = 0;  // one element of y too many: this one
    bool x = false;
    bool weight = false;
    bool keys = false;
    bool forward = false;
    bool no_layer = false;
    bool no_cache = false;
    std::uint64_t length = 1;
};
Slips slips;

double* of(void* place) {
    return static_cast<double*>(place);
}

// Everything is accepted, and every answer is 1.
const attest_refusal* make_layer(const attest_layer_spec* spec, attest_layer** layer) {
    static char one;
    if (slips.weight) *of(const_cast<void*>(spec->weights[2])) = 7;
    if (!slips.no_layer) *layer = reinterpret_cast<attest_layer*>(&one);
    return nullptr;
}
const attest_refusal* make_cache(attest_layer*, std::uint64_t, std::uint64_t, std::uint64_t,
                                 attest_cache** cache) {
    static char one;
    if (!slips.no_cache) *cache = reinterpret_cast<attest_cache*>(&one);
    return nullptr;
}
const attest_refusal* append(attest_layer*, attest_cache*, std::uint64_t batch, std::uint64_t rows,
                             std::uint64_t width, const void* x, void* y) {
    for (std::uint64_t i = 0; i < batch * rows * width; ++i) {
        of(y)[i] = 1;
    }
    if (slips.y != 0) of(y)[slips.y] = 1;
    if (slips.x) of(const_cast<void*>(x))[1] = -0.0;
    return nullptr;
}
const attest_refusal* forward(attest_layer*, std::uint64_t, std::uint64_t, std::uint64_t, const void*,
                              void* y) {
    if (slips.forward) of(y)[2] = 1;
    return nullptr;
}

class Foreign : public testing::Test {
  protected:
    void SetUp() override {
        slips = Slips();
        table_ = {.version = ATTEST_SUBJECT_VERSION,
                  .size = sizeof table_,
                  .name = "of a test",
                  .promises = 0,
                  .make_layer = make_layer,
                  .free_layer = [](attest_layer*) {},
                  .make_cache = make_cache,
                  .free_cache = [](attest_cache*) {},
                  .append = append,
                  .reset = [](attest_cache*) {},
                  .length = [](const attest_cache*) { return slips.length; },
                  .read_keys = [](const attest_cache*, void* to) { of(to)[slips.keys ? -1 : 0] = 1; },
                  .read_values = [](const attest_cache*, void* to) { of(to)[0] = 1; },
                  .forward = forward,
                  .storage = nullptr,
                  .copy = nullptr,
                  .update = nullptr};
    }

    // The text of the fault that one row through everything ends with.
    std::string fault() {
        try {
            const auto subject = make_foreign_subject(table_);
            LayerSpec spec;
            spec.type = cases::ElementType::float64;
            spec.width = 2;
            spec.heads = spec.kv_heads = spec.head_width = 1;
            spec.weights = {Array{1, 2}, Array{1, 2}, Array{1, 2}, Array{1, 2}};
            const auto layer = std::move(*subject->make_layer(spec));
            const auto cache = std::move(*layer->make_cache(1, 4, 0));
            const Array row = {0.5, 0.0};
            Output y;
            y.values = {7, 7};
            const Input x = {.shape = {1, 1, 2}, .values = row};
            EXPECT_TRUE(layer->append(*cache, x, y));
            EXPECT_EQ(y.values, Array({1, 1}));
            EXPECT_TRUE(cache->keys());
            EXPECT_TRUE(cache->values());
            EXPECT_TRUE(layer->forward(x, 0));
            return "none";
        } catch (const SubjectFault& found) {
            return found.what();
        }
    }

    attest_subject_table table_ = {};
};

TEST_F(Foreign, ThatKeepsTheRulesHasNoFault) {
    EXPECT_EQ(fault(), "none");
}

TEST_F(Foreign, ThatWritesBesideItsAnswerIsFound) {
    slips.y = 2;
    EXPECT_EQ(fault(), "wrote beyond y: element 2 of 2");
    slips.y = 65;
    EXPECT_EQ(fault(), "wrote beyond y: element 65 of 2");
    slips.y = -1;
    EXPECT_EQ(fault(), "wrote before y: element -1 of 2");
    slips.y = -64;
    EXPECT_EQ(fault(), "wrote before y: element -64 of 2");
}

TEST_F(Foreign, ThatWritesToAnInputIsFound) {
    slips.x = true;
    EXPECT_EQ(fault(), "wrote to x, an input: element 1 of 2");
    slips = Slips();
    slips.weight = true;
    EXPECT_EQ(fault(), "wrote to wv, an input: element 0 of 2");
}

TEST_F(Foreign, ThatWritesBesideWhatIsReadBackIsFound) {
    slips.keys = true;
    EXPECT_EQ(fault(), "wrote before keys: element -1 of 1");
    slips = Slips();
    slips.forward = true;
    EXPECT_EQ(fault(), "wrote beyond y: element 2 of 2");
}

TEST_F(Foreign, ThatMakesNothingIsFound) {
    slips.no_layer = true;
    EXPECT_EQ(fault(), "make_layer gave neither a refusal nor what it makes");
    slips = Slips();
    slips.no_cache = true;
    EXPECT_EQ(fault(), "make_cache gave neither a refusal nor what it makes");
}

TEST_F(Foreign, ThatHoldsMoreThanItsCapacityIsFound) {
    slips.length = std::uint64_t{1} << 60;
    EXPECT_EQ(fault(), "says it holds 1152921504606846976 rows, capacity is 4");
}

// The law fails at the step that met the fault, and the counterexample names the subject.
TEST_F(Foreign, FailsAtTheStepThatBrokeTheRules) {
    slips.y = 64;
    RunOptions options;
    options.engine.seed = 1;
    options.engine.seed_given = true;
    options.engine.shrink_seconds = 0;
    options.findings = testing::TempDir() + "/attest foreign findings";
    options.subject = "--subject /some/where.so";
    const Law& law = *find_law("inside_the_bound");
    const auto make = [&] { return make_foreign_subject(table_); };
    const Row row = run_law(law, make, options);
    EXPECT_EQ(row.verdict, "FAILS");
    std::string all;
    for (const std::string& detail : row.details) {
        all += detail + "\n";
    }
    EXPECT_NE(all.find("fails at step "), std::string::npos) << all;
    EXPECT_NE(all.find("wrote beyond y: element 64 of "), std::string::npos) << all;
    EXPECT_NE(all.find("--subject /some/where.so --replay '"), std::string::npos) << all;
}

TEST(ShellWord, IsWhatAShellReadsBack) {
    EXPECT_EQ(shell_word("/a/b-c_1.so"), "/a/b-c_1.so");
    EXPECT_EQ(shell_word("/a b"), "'/a b'");
    EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("$x"), "'$x'");
}

}  // namespace
}  // namespace attest::properties
