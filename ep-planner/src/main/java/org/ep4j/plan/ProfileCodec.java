package org.ep4j.plan;

import java.lang.invoke.MethodHandles;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.Device;
import org.ep4j.EpMismatchException;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.PortObstacle;

/** Profiles as the bytes that ranks exchange. */
public final class ProfileCodec {
    private static final RecordCodec<Rank> CODEC =
            new RecordCodec<>(MethodHandles.lookup(), Rank.class, "its profile", 6);

    private ProfileCodec() {}

    /** The profile as bytes; equal profiles give equal bytes. */
    public static byte[] encode(RankProfile profile) {
        return CODEC.encode(Rank.of(profile));
    }

    /**
     * Decodes what {@link #encode} returned.
     *
     * @throws EpMismatchException when the bytes are not a profile of this version
     */
    public static RankProfile decode(byte[] bytes) {
        return CODEC.decode(bytes).profile();
    }

    record Rank(
            int rank,
            String hostId,
            String hostName,
            long pid,
            Device device,
            Place locality,
            String domain,
            Map<String, Backend> backends,
            Map<String, String> settings) {
        static Rank of(RankProfile profile) {
            Map<String, Backend> backends = new TreeMap<>();
            profile.backends().forEach((id, found) -> backends.put(id, Backend.of(found)));
            return new Rank(
                    profile.rank(),
                    profile.hostId(),
                    profile.hostName(),
                    profile.pid(),
                    profile.device(),
                    Place.of(profile.locality()),
                    profile.domain(),
                    backends,
                    profile.settings());
        }

        RankProfile profile() {
            Map<String, BackendProfile> found = new TreeMap<>();
            backends.forEach((id, backend) -> found.put(id, backend.profile()));
            return RankProfile.builder(rank, hostId, device)
                    .hostName(hostName)
                    .pid(pid)
                    .locality(locality.locality())
                    .domain(domain)
                    .backends(found)
                    .settings(settings)
                    .build();
        }
    }

    record Backend(
            boolean usable,
            boolean notApplicable,
            String why,
            Map<String, String> facts,
            Map<String, String> identity) {
        static Backend of(BackendProfile found) {
            return new Backend(found.usable(), found.notApplicable(), found.why(), found.facts(), found.identity());
        }

        BackendProfile profile() {
            BackendProfile found = BackendProfile.of(facts, identity);
            return usable ? found : found.unusable(why, notApplicable);
        }
    }

    record Place(
            int gpu,
            GpuVendor vendor,
            String architecture,
            int numa,
            int gpus,
            List<Peer> peers,
            List<Nic> nics,
            int processors,
            int card) {
        static Place of(Locality around) {
            return new Place(
                    around.gpu(),
                    around.vendor(),
                    around.architecture(),
                    around.numa(),
                    around.gpus(),
                    around.peers().stream().map(Peer::of).toList(),
                    around.nics().stream().map(Nic::of).toList(),
                    around.processors(),
                    around.card());
        }

        Locality locality() {
            return Locality.builder()
                    .gpu(gpu)
                    .vendor(vendor)
                    .architecture(architecture)
                    .numa(numa)
                    .gpus(gpus)
                    .peers(peers.stream().map(Peer::peer).toList())
                    .nics(nics.stream().map(Nic::reach).toList())
                    .processors(processors)
                    .card(card)
                    .build();
        }
    }

    record Peer(int gpu, int card, Distance distance, LinkType link, List<Integer> via) {
        static Peer of(GpuPeer peer) {
            return new Peer(peer.gpu(), peer.card(), peer.distance(), peer.link(), peer.via());
        }

        GpuPeer peer() {
            return GpuPeer.of(gpu, distance, link).partOf(card).through(via);
        }
    }

    record Nic(
            String name,
            NicFamily family,
            String card,
            String function,
            Distance distance,
            Optional<Boolean> gpuDirect,
            List<NicReach.Port> ports,
            Map<Integer, PortObstacle> obstacles) {
        static Nic of(NicReach nic) {
            return new Nic(
                    nic.name(),
                    nic.family(),
                    nic.card(),
                    nic.function(),
                    nic.distance(),
                    nic.gpuDirect(),
                    nic.ports(),
                    nic.obstacles());
        }

        NicReach reach() {
            NicReach.Builder nic = NicReach.builder(name, family, distance)
                    .card(card)
                    .function(function)
                    .ports(ports)
                    .obstacles(obstacles);
            gpuDirect.ifPresent(nic::gpuDirect);
            return nic.build();
        }
    }
}
