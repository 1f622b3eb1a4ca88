package org.ep4j.backend.efa;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.spi.RankProfile;

/**
 * What a probe reports to the planner: providers, the best first, and the NICs of each. A description has none of it.
 *
 * @param values as the profile of a rank carries them
 */
record EfaFacts(Map<String, String> values) {
    private static final String PROVIDERS = "providers";
    private static final String NICS = "nics.";

    static EfaFacts of(RankProfile rank) {
        return new EfaFacts(rank.facts(EfaProvider.ID));
    }

    static EfaFacts of(List<FabricInfo> usable) {
        Map<String, String> values = new TreeMap<>();
        for (FabricInfo info : usable) {
            append(values, NICS + info.provider(), info.device());
        }
        usable.stream().map(FabricInfo::provider).distinct().forEach(provider -> append(values, PROVIDERS, provider));
        return new EfaFacts(values);
    }

    /** One provider, on these NICs. */
    static EfaFacts of(String provider, List<String> nics) {
        return new EfaFacts(Map.of(PROVIDERS, provider, NICS + provider, String.join(",", nics)));
    }

    private static void append(Map<String, String> values, String key, String value) {
        values.merge(key, value, (all, one) -> all + "," + one);
    }

    boolean described() {
        return !values.containsKey(PROVIDERS);
    }

    List<String> providers() {
        return list(PROVIDERS);
    }

    List<String> nics(String provider) {
        return list(NICS + provider);
    }

    private List<String> list(String key) {
        String value = values.getOrDefault(key, "");
        return value.isEmpty() ? List.of() : Arrays.asList(value.split(","));
    }

    /** The provider between two ranks: the first that both have, shm only inside of a host. */
    static Optional<String> provider(RankProfile a, RankProfile b) {
        List<String> theirs = of(b).providers();
        boolean sameHost = a.hostId().equals(b.hostId());
        return of(a).providers().stream()
                .filter(theirs::contains)
                .filter(one -> sameHost || !one.equals(Providers.SHM))
                .findFirst();
    }
}
