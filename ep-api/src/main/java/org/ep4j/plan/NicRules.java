package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.ep4j.Device;
import org.ep4j.EpConfigException;
import org.ep4j.config.EpKeys;
import org.ep4j.config.NicMap;
import org.ep4j.config.PortName;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.PathOffer;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach;

/** The user's wishes for NICs, applied to one rank. */
final class NicRules {
    private final RankProfile profile;
    private final NicChoice choice;
    private final NicWishes wishes;
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
        NicMap map = NicMap.parse(choice.map());
        int gpu = gpu(profile);
        this.fixed = !map.of(gpu).isEmpty();
        this.wishes = NicWishes.of(choice, gpu);
        if (gpu >= 0 && !map.isEmpty() && wishes.wanted().isEmpty()) {
            throw new EpConfigException(mapText() + " has no NIC for GPU " + gpu + "; add " + gpu
                    + ":NIC, or *:NIC for all GPUs that the map does not name" + there());
        }
        List<NicReach> nics = profile.locality().nics();
        if (nics.stream().anyMatch(nic -> nic.family().rdma())) {
            wishes.wanted().forEach(this::checkThere);
            checkNotAllForbidden();
        }
    }

    /** Index of a rank's GPU on its host; -1 for a rank without one. */
    static int gpu(RankProfile profile) {
        return gpu(profile.locality(), profile.device());
    }

    /** The same, of a rank on a device. */
    static int gpu(Locality locality, Device device) {
        return locality.gpu() >= 0 || !device.isGpu() ? locality.gpu() : device.ordinal();
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
        return choice.equals(NicChoice.AUTO) ? all : wishes.narrow(all);
    }

    /** An offer with the NIC ports that the rank may use; no path when none is left. */
    Offer narrow(Offer offer) {
        if (!(offer instanceof PathOffer path) || path.nics().isEmpty() || choice.equals(NicChoice.AUTO)) {
            return offer;
        }
        List<String> allowed = path.nics().stream()
                .filter(name -> wishes.allow(PortName.parse(name)))
                .sorted(Comparator.comparingInt(name -> wishes.place(PortName.parse(name))))
                .toList();
        if (allowed.isEmpty()) {
            return new NoPath(
                    "the settings exclude all usable ports (" + String.join(", ", path.nics()) + "): "
                            + choice.settings(),
                    "change the settings, or use another backend");
        }
        return path.withNics(allowed);
    }

    private void checkThere(PortName wish) {
        List<NicReach> named = profile.locality().nics().stream()
                .filter(nic -> nic.name().equals(wish.nic()))
                .toList();
        String setting = mapText();
        if (named.isEmpty()) {
            throw new EpConfigException(setting + " names " + wish + ", and there is no NIC " + wish.nic()
                    + " that this rank can use" + there());
        }
        // One that cannot be used now is left to the reasons of backends: others may need no NIC.
        boolean exists = named.stream()
                .anyMatch(nic -> (nic.ports().isEmpty() && nic.leftOut().isEmpty())
                        || Stream.concat(
                                        nic.ports().stream().map(NicReach.Port::number),
                                        nic.leftOut().keySet().stream())
                                .anyMatch(port -> NicWishes.means(wish, new PortName(nic.name(), port))));
        if (!exists) {
            throw new EpConfigException(setting + " names " + wish + ", which does not exist" + there());
        }
    }

    private void checkNotAllForbidden() {
        if (wishes.choose() && locality().nics().isEmpty()) {
            throw new EpConfigException(profile.label() + " is left without a NIC by " + choice.settings() + there());
        }
    }

    private String mapText() {
        return choice.says(EpKeys.NIC_MAP, choice.map()) + " of " + profile.label();
    }

    private String there() {
        List<String> ports = new ArrayList<>();
        for (NicReach nic : profile.locality().nics()) {
            nic.ports().forEach(port -> ports.add(nic.name() + ":" + port.number()));
            if (nic.ports().isEmpty() && nic.leftOut().isEmpty()) {
                ports.add(nic.name());
            }
        }
        return "; "
                + (ports.isEmpty()
                        ? "no NIC of its machine can be used"
                        : "ports that are up: " + String.join(", ", ports))
                + profile.locality().butLeftOut();
    }
}
