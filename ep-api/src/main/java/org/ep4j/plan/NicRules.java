package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.ep4j.EpConfigException;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.PathOffer;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach;

/** The user's wishes for NICs, applied to one rank. */
final class NicRules {
    private final RankProfile profile;
    private final NicChoice choice;
    private final NicPattern include;
    private final NicPattern exclude;
    private final List<PortName> wanted;
    private final boolean fixed;

    /**
     * Checks the wishes against the machine.
     *
     * @throws EpConfigException when a NIC that the map names is not there, when the map has none for the rank's GPU, or
     *     when the wishes leave no NIC
     */
    NicRules(RankProfile profile, NicChoice choice) {
        this.profile = profile;
        this.choice = choice;
        this.include = NicPattern.parse(EpKeys.NIC_INCLUDE.name(), choice.include());
        this.exclude = NicPattern.parse(EpKeys.NIC_EXCLUDE.name(), choice.exclude());
        NicMap map = NicMap.parse(choice.map());
        int gpu = gpu(profile);
        this.fixed = !map.of(gpu).isEmpty();
        this.wanted = fixed ? map.of(gpu) : map.rest();
        if (gpu >= 0 && !map.isEmpty() && wanted.isEmpty()) {
            throw new EpConfigException(says(EpKeys.NIC_MAP.name(), choice.map()) + " has no NIC for GPU " + gpu
                    + "; add " + gpu + ":NIC, or *:NIC for all GPUs that it does not name" + there());
        }
        List<NicReach> nics = profile.locality().nics();
        if (nics.stream().anyMatch(nic -> nic.family().rdma())) {
            wanted.forEach(this::checkThere);
            checkNotAllForbidden();
        }
    }

    /** Index of a rank's GPU on its host; -1 for a rank without one. */
    static int gpu(RankProfile profile) {
        int known = profile.locality().gpu();
        return known >= 0 || profile.device().type().equals("host")
                ? known
                : profile.device().ordinal();
    }

    /** True when the map names the rank's GPU, so that nothing is left to assign. */
    boolean fixed() {
        return fixed;
    }

    /** True when the user's wishes leave some NICs out. */
    boolean limits() {
        return !fixed && locality().nics().size() < profile.locality().nics().size();
    }

    /** The machine around the rank, with the NICs that it may use. */
    Locality locality() {
        Locality all = profile.locality();
        if (choice.equals(NicChoice.AUTO)) {
            return all;
        }
        List<NicReach> nics = new ArrayList<>();
        for (NicReach nic : all.nics()) {
            List<NicReach.Port> ports = nic.ports().stream()
                    .filter(port -> allowed(new PortName(nic.name(), port.number())))
                    .toList();
            if (nic.ports().isEmpty() ? allowed(new PortName(nic.name(), 1)) : !ports.isEmpty()) {
                nics.add(new NicReach(nic.name(), nic.family(), nic.card(), nic.distance(), nic.gpuDirect(), ports));
            }
        }
        return new Locality(all.gpu(), all.vendor(), all.architecture(), all.numa(), all.gpus(), all.peers(), nics);
    }

    /** An offer with the NIC ports that the rank may use; no path when none is left. */
    Offer narrow(Offer offer) {
        if (!(offer instanceof PathOffer path) || path.nics().isEmpty() || choice.equals(NicChoice.AUTO)) {
            return offer;
        }
        List<String> allowed = path.nics().stream()
                .filter(name -> allowed(PortName.parse(name)))
                .sorted(Comparator.comparingInt(name -> place(PortName.parse(name))))
                .toList();
        if (allowed.isEmpty()) {
            return new NoPath(
                    "of the ports that it could use, " + String.join(", ", path.nics()) + ", the settings allow none: "
                            + settings(),
                    "change the settings, or take another backend");
        }
        return new PathOffer(path.kind(), path.gigabytesPerSecond(), path.latencyMicros(), allowed, path.staged());
    }

    private boolean allowed(PortName port) {
        return (wanted.isEmpty() || place(port) < wanted.size())
                && (include.isEmpty() || include.matches(port))
                && (exclude.isEmpty() || !exclude.matches(port));
    }

    /** Place of a port in what the map wants; past its end when it is not wanted. */
    private int place(PortName port) {
        for (int i = 0; i < wanted.size(); i++) {
            if (means(wanted.get(i), port)) {
                return i;
            }
        }
        return wanted.size();
    }

    private static boolean means(PortName wish, PortName port) {
        return wish.nic().equals(port.nic()) && (wish.port() == 0 || wish.port() == port.port());
    }

    private void checkThere(PortName wish) {
        List<NicReach> named = profile.locality().nics().stream()
                .filter(nic -> nic.name().equals(wish.nic()))
                .toList();
        String setting = says(EpKeys.NIC_MAP.name(), choice.map());
        if (named.isEmpty()) {
            throw new EpConfigException(
                    setting + " names " + wish + ", and there is no NIC " + wish.nic() + " that it can use" + there());
        }
        boolean up = named.stream()
                .anyMatch(nic -> nic.ports().isEmpty()
                        || nic.ports().stream().anyMatch(port -> means(wish, new PortName(nic.name(), port.number()))));
        if (!up) {
            throw new EpConfigException(
                    setting + " names " + wish + ", and that port is down or does not exist" + there());
        }
    }

    private void checkNotAllForbidden() {
        boolean chosen = !wanted.isEmpty() || (!include.isEmpty() && !include.negated());
        if (chosen && locality().nics().isEmpty()) {
            throw new EpConfigException(profile.label() + " is left without a NIC by " + settings() + there());
        }
    }

    private String settings() {
        List<String> set = new ArrayList<>();
        if (!choice.map().isBlank()) {
            set.add(EpKeys.NIC_MAP.name() + " = " + choice.map());
        }
        if (!choice.include().isBlank()) {
            set.add(EpKeys.NIC_INCLUDE.name() + " = " + choice.include());
        }
        if (!choice.exclude().isBlank()) {
            set.add(EpKeys.NIC_EXCLUDE.name() + " = " + choice.exclude());
        }
        return String.join(", ", set);
    }

    private String says(String key, String value) {
        return key + " = " + value + " of " + profile.label();
    }

    private String there() {
        List<String> ports = new ArrayList<>();
        for (NicReach nic : profile.locality().nics()) {
            nic.ports().forEach(port -> ports.add(nic.name() + ":" + port.number()));
            if (nic.ports().isEmpty()) {
                ports.add(nic.name());
            }
        }
        return "; " + (ports.isEmpty() ? "no NIC is known there" : "ports that are up: " + String.join(", ", ports));
    }
}
