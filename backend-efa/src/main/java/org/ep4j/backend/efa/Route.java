package org.ep4j.backend.efa;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.EpPath;
import org.ep4j.EpPlan;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.RankProfile;

/**
 * How two ranks are connected; the same seen from both ends.
 *
 * @param provider of libfabric
 * @param mine NICs of this rank, by rail
 * @param theirs NICs of the peer, by rail
 */
record Route(String provider, List<String> mine, List<String> theirs) {
    Route {
        mine = List.copyOf(mine);
        theirs = List.copyOf(theirs);
    }

    /** Of two ranks of a plan that the backend connects. */
    static Route of(EpPlan plan, List<RankProfile> profiles, int rank, int peer) {
        RankProfile self = profiles.get(rank);
        RankProfile other = profiles.get(peer);
        String provider = EfaFacts.provider(self, other)
                .orElseThrow(() -> new EpUnavailableException(self.label() + " has the providers "
                        + EfaFacts.of(self).providers() + " of libfabric, " + other.label() + " has "
                        + EfaFacts.of(other).providers() + "; install the same version on both, or set "
                        + EfaKeys.PROVIDER.name() + " to a provider that both have"));
        if (provider.equals(Providers.SHM) && self.pid() == other.pid()) {
            throw new EpUnavailableException(self.label() + " and " + other.label()
                    + " are in one process, and libfabric's shm provider crashes when one of the two ranks closes; run each"
                    + " rank in its own process, set " + EfaKeys.PROVIDER.name()
                    + " to tcp, or use host-shm between these ranks");
        }
        List<String> a = nics(plan, self, peer, provider);
        List<String> b = nics(plan, other, rank, provider);
        List<String> mine = new ArrayList<>();
        List<String> theirs = new ArrayList<>();
        for (int i = 0; i < Math.max(a.size(), b.size()); i++) {
            mine.add(a.get(i % a.size()));
            theirs.add(b.get(i % b.size()));
        }
        return new Route(provider, mine, theirs);
    }

    /** Those that the plan names, as far as the provider has them; otherwise those of the provider. */
    private static List<String> nics(EpPlan plan, RankProfile from, int to, String provider) {
        List<String> all = EfaFacts.of(from).nics(provider);
        EpPath path = plan.path(from.rank(), to);
        List<String> planned = path.backend().equals(EfaProvider.ID) ? path.nics() : plan.nics(from.rank());
        List<String> named = planned.stream()
                .map(port -> port.replaceFirst(":[0-9]+$", ""))
                .distinct()
                .filter(all::contains)
                .toList();
        return named.isEmpty() ? all : named;
    }

    int rails() {
        return mine.size();
    }

    /** Both NICs of a rail, for messages. */
    String name(int rail) {
        return provider + " " + mine.get(rail) + " to " + theirs.get(rail);
    }
}
