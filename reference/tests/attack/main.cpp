// attest-attack TARGET NUMBER FIRST_SEED COUNT: that many trials, one line of result; exit 1 on a violation.
#include "attack.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
    using namespace attest::reference;
    if (argc != 5) {
        std::fputs("usage: attest-attack core|layer f64|f32|tf32|f16|bf16 FIRST_SEED COUNT\n", stderr);
        return 2;
    }
    const auto number = number_named(argv[2]);
    const std::string target = argv[1];
    if (!number || (target != "core" && target != "layer")) {
        std::fputs("attest-attack: no such target or number\n", stderr);
        return 2;
    }
    const auto campaign =
        attack::attack_many(target == "core" ? attack::Target::core : attack::Target::layer, *number,
                            std::strtoull(argv[3], nullptr, 10), std::strtoull(argv[4], nullptr, 10));
    std::printf("%s %s: %llu trials, %llu judged, %llu violations, worst error/bound %.4f (seed %llu)\n",
                argv[1], argv[2], static_cast<unsigned long long>(campaign.trials),
                static_cast<unsigned long long>(campaign.judged),
                static_cast<unsigned long long>(campaign.violations), campaign.worst,
                static_cast<unsigned long long>(campaign.worst_seed));
    std::printf("  worst: %s\n", campaign.worst_description.c_str());
    if (campaign.violations != 0) std::printf("  first violation: %s\n", campaign.first_violation.c_str());
    return campaign.violations == 0 && campaign.judged != 0 ? 0 : 1;
}
