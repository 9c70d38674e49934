// attest-attack TARGET NUMBER FIRST_SEED COUNT     that many trials, one line of result
// attest-attack all FIRST_SEED COUNT               that many over every target and number
// attest-attack weaken SEED CLIMBS [PROOF.md]      each term of the bound weakened: a table; with a file, the
//                                                  terms that were not caught must be those it names
// Exit: 1 on a violation, or where the file says otherwise.
#include "attack.hpp"
#include "weaken.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace attest::reference;
using attack::Target;

int attack_one(Target target, Number number, std::uint64_t first, std::uint64_t count) {
    const auto campaign = attack::attack_many(target, number, first, count);
    std::printf("%s %s: %llu trials, %llu judged, %llu violations, worst error/bound %.4f (seed %llu)\n",
                target == Target::core ? "core" : "layer", std::string(name_of(number)).c_str(),
                static_cast<unsigned long long>(campaign.trials),
                static_cast<unsigned long long>(campaign.judged),
                static_cast<unsigned long long>(campaign.violations), campaign.worst,
                static_cast<unsigned long long>(campaign.worst_seed));
    if (campaign.violations != 0) {
        std::printf("  first violation: %s\n", campaign.first_violation.c_str());
    } else {
        std::printf("  worst: %s\n", campaign.worst_description.c_str());
    }
    return campaign.violations == 0 && campaign.judged != 0 ? 0 : 1;
}

int attack_all(std::uint64_t first, std::uint64_t count) {
    constexpr Number kNumbers[] = {Number::f64, Number::f32, Number::tf32, Number::f16, Number::bf16};
    int exit = 0;
    for (const Number number : kNumbers) {
        exit |= attack_one(Target::core, number, first, count * 3 / 20);
        exit |= attack_one(Target::layer, number, first, count / 20);
    }
    return exit;
}

// PROOF.md names each term that rests on proof alone in a line of its own: "- `name`".
int weaken(std::uint64_t seed, std::uint64_t climbs, const char* proof) {
    std::string text;
    if (proof != nullptr) {
        std::ifstream in(proof);
        text.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    int exit = 0;
    std::printf("| term | section | weakened to | caught |\n| --- | --- | --- | --- |\n");
    for (const attack::NamedTerm& named : attack::all_terms()) {
        const attack::Missed missed = attack::weaken_and_attack(named, seed, climbs);
        const std::string name(named.name);
        char how[64];
        if (!missed.caught) {
            (void)std::snprintf(how, sizeof how, "no, %.2f of it at best", missed.best);
        } else {
            (void)std::snprintf(how, sizeof how, "yes");
        }
        char to[16];
        (void)std::snprintf(to, sizeof to, "× %.2g", missed.factor);
        std::printf("| %s | %s | %s | %s |\n", name.c_str(), std::string(named.section).c_str(),
                    named.counted ? "one less" : to, how);
        std::fflush(stdout);
        std::fprintf(stderr, "%s: %llu climbs; %s\n", name.c_str(),
                     static_cast<unsigned long long>(missed.climbs), missed.violation.c_str());
        const bool listed = text.find("\n- `" + name + "`") != std::string::npos;
        if (proof == nullptr || listed == !missed.caught) continue;
        std::fprintf(stderr, "%s %s `%s` as resting on proof alone\n", proof,
                     listed ? "wrongly lists" : "does not list", name.c_str());
        exit = 1;
    }
    return exit;
}

int usage() {
    std::fputs(
        "usage: attest-attack core|layer f64|f32|tf32|f16|bf16 FIRST_SEED COUNT\n"
        "       attest-attack all FIRST_SEED COUNT\n"
        "       attest-attack weaken SEED CLIMBS [PROOF.md]\n",
        stderr);
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    const auto number_at = [&](int n) { return std::strtoull(argv[n], nullptr, 10); };
    if (argc == 4 && std::strcmp(argv[1], "all") == 0) return attack_all(number_at(2), number_at(3));
    if ((argc == 4 || argc == 5) && std::strcmp(argv[1], "weaken") == 0)
        return weaken(number_at(2), number_at(3), argc == 5 ? argv[4] : nullptr);
    if (argc != 5) return usage();
    const auto number = number_named(argv[2]);
    const std::string target = argv[1];
    if (!number || (target != "core" && target != "layer")) return usage();
    return attack_one(target == "core" ? Target::core : Target::layer, *number, number_at(3), number_at(4));
}
