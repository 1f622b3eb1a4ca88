package org.ep4j.backend.efa;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.config.EpConfig;
import org.ep4j.plan.RankProfile;
import org.ep4j.topology.NicFamily;

/**
 * What a probe tells the planner: providers, the best first, and the NICs of each. A description has none of it.
 *
 * @param values as the profile of a rank carries them
 */
record EfaFacts(Map<String, String> values) {
    private static final String PROVIDERS = "providers";
    private static final String NICS = "nics.";
    private static final String FLOW = "flow.";

    /** Stands for the provider of sockets in a description. */
    static final String SOCKETS = "sockets";

    static EfaFacts of(RankProfile rank) {
        return new EfaFacts(rank.facts(EfaProvider.ID));
    }

    /** Of a machine that is known by description: what may be under way, by family or {@link #SOCKETS}. */
    static Map<String, String> described(EpConfig config) {
        return Map.of(
                FLOW + NicFamily.EFA, NicProfile.told(NicFamily.EFA, config),
                FLOW + NicFamily.CXI, NicProfile.told(NicFamily.CXI, config),
                FLOW + SOCKETS, NicProfile.toldOfSoftware(SOCKETS, config));
    }

    static EfaFacts of(List<FabricInfo> usable, EpConfig config) {
        Map<String, String> values = new TreeMap<>();
        for (FabricInfo info : usable) {
            append(values, NICS + info.provider(), info.device());
            values.putIfAbsent(FLOW + info.provider(), NicProfile.told(info, config));
        }
        usable.stream().map(FabricInfo::provider).distinct().forEach(provider -> append(values, PROVIDERS, provider));
        return new EfaFacts(values);
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

    /** What a rank may have under way on a NIC of a provider, or of what {@link #described} names. */
    String flow(String of) {
        return values.getOrDefault(FLOW + of, "");
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
