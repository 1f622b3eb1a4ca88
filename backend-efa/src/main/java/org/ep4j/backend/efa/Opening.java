package org.ep4j.backend.efa;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpMismatchException;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.OpenContext;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.NativeRecord;
import org.ep4j.transport.memory.Resources;
import org.ep4j.transport.memory.WordMemory;

/** Opens the backend on one rank: NICs, an endpoint for each peer and rail, then connections. For one thread. */
final class Opening {
    private static final int LONGEST_NAME = 512;

    private final OpenContext context;
    private final Collective collective;
    private final Resources resources = new Resources();
    private final Buffers buffers = new Buffers();
    private final Places places = new Places();
    private final Map<String, FabricDomain> domains = new HashMap<>();
    private final Map<Integer, Half> halves = new TreeMap<>();

    Opening(OpenContext context) {
        this.context = context;
        this.collective = new Collective(EfaProvider.ID, context);
    }

    /** This rank's part of a link. */
    private record Half(
            Route route,
            List<FabricDomain> domains,
            List<Long> endpoints,
            List<Integer> places,
            HostMemory memory,
            Region mine,
            AtomicBoolean closes,
            Resources resources) {}

    EfaBackend run() {
        Deadline deadline = Deadline.in(context.timeout());
        List<EfaBackend> backend = new ArrayList<>(1);
        boolean done = false;
        try {
            List<PeerEndpoints.ByPeer> told =
                    collective
                            .step("endpoints", deadline, () -> PeerEndpoints.ByPeer.CODEC.encode(makeEndpoints()))
                            .stream()
                            .map(PeerEndpoints.ByPeer.CODEC::decode)
                            .toList();
            collective.step("addresses", deadline, () -> {
                backend.add(join(told));
                return new byte[0];
            });
            collective.step("connections", deadline, () -> {
                backend.get(0).greet(deadline);
                return new byte[0];
            });
            done = true;
            return backend.get(0);
        } finally {
            if (!done) {
                backend.forEach(EfaBackend::close);
                halves.values().forEach(half -> half.resources().close());
                resources.close();
            }
        }
    }

    private PeerEndpoints.ByPeer makeEndpoints() {
        FabricLibrary.require();
        Map<Integer, PeerEndpoints> told = new TreeMap<>();
        try (FabricList list = FabricList.all(GpuMemory.wanted(context.device().id(), context.config()))) {
            List<FabricInfo> usable = Providers.usable(list.infos(), context.config());
            for (int peer : context.ranks()) {
                if (Route.connects(context.plan(), context.rank(), peer)) {
                    told.put(
                            peer,
                            half(
                                    list,
                                    usable,
                                    peer,
                                    Route.of(context.plan(), context.profiles(), context.rank(), peer)));
                }
            }
        }
        return new PeerEndpoints.ByPeer(told);
    }

    private PeerEndpoints half(FabricList list, List<FabricInfo> usable, int peer, Route route) {
        Resources own = new Resources();
        WordMemory memory = WordMemory.allocate(Records.BYTES);
        own.hold(memory);
        ExposedMemory words = ExposedMemory.of(DeviceMemory.of(memory.address(), Records.BYTES, Device.HOST));
        List<FabricDomain> nics = new ArrayList<>();
        List<Long> endpoints = new ArrayList<>();
        List<Integer> at = new ArrayList<>();
        List<Keys> mine = new ArrayList<>();
        List<Keys> theirs = new ArrayList<>();
        List<PeerEndpoints.End> ends = new ArrayList<>();
        AtomicBoolean closes = new AtomicBoolean(!Providers.parts(route.provider()));
        boolean done = false;
        try {
            for (String nic : route.mine()) {
                FabricDomain domain = domain(list, usable, route.provider(), nic);
                long endpoint = domain.endpoint(domain.profile().slots() + PartingWire.SLOTS);
                own.add(() -> {
                    if (closes.get()) {
                        Libfabric.closeEndpoint(endpoint);
                    }
                });
                int place = places.of(domain, endpoint);
                FabricDomain.Registered keys =
                        domain.register(words, domain.info().memoryOfEndpoint() ? endpoint : 0, own);
                nics.add(domain);
                endpoints.add(endpoint);
                at.add(place);
                mine.add(keys.mine());
                theirs.add(keys.told());
                ends.add(new PeerEndpoints.End(nic, place, name(endpoint)));
            }
            done = true;
        } finally {
            if (!done) {
                own.close();
            }
        }
        halves.put(
                peer,
                new Half(
                        route,
                        nics,
                        endpoints,
                        at,
                        memory.words(),
                        new Region(memory.address(), Records.BYTES, mine),
                        closes,
                        own));
        return new PeerEndpoints(route.provider(), ends, new Region(memory.address(), Records.BYTES, theirs));
    }

    private FabricDomain domain(FabricList list, List<FabricInfo> usable, String provider, String nic) {
        return domains.computeIfAbsent(provider + " " + nic, key -> {
            FabricInfo info = usable.stream()
                    .filter(one ->
                            one.provider().equals(provider) && one.device().equals(nic))
                    .findFirst()
                    .orElseThrow(() -> new EpUnavailableException("libfabric no longer has " + provider + " on " + nic
                            + ", although it had this provider when the plan was made; see fi_info -p " + provider));
            int trafficClass = EpKeys.NIC_TRAFFIC_CLASS.get(context.config());
            // libfabric wants the six bits of DSCP, of the eight of a traffic class.
            return FabricDomain.open(
                    list,
                    info,
                    NicProfile.of(info, context.config()),
                    trafficClass < 0 ? -1 : trafficClass >> 2,
                    resources);
        });
    }

    private static byte[] name(long endpoint) {
        NativeRecord out = new NativeRecord(LONGEST_NAME);
        int length = (int) FabricError.check(Libfabric.name(endpoint, out.address(), out.size()), "fi_getname");
        byte[] name = new byte[length];
        out.buffer().get(0, name);
        return name;
    }

    private EfaBackend join(List<PeerEndpoints.ByPeer> told) {
        Map<Integer, Link> links = new TreeMap<>();
        halves.forEach((peer, half) -> links.put(peer, link(peer, half, told)));
        return new EfaBackend(context, collective, places, links, buffers, resources);
    }

    private Link link(int peer, Half half, List<PeerEndpoints.ByPeer> told) {
        int index = context.ranks().indexOf(peer);
        String label = collective.label(peer);
        PeerEndpoints theirs = told.get(index).endpoints().get(context.rank());
        if (theirs == null
                || !theirs.provider().equals(half.route().provider())
                || theirs.ends().size() != half.route().rails()) {
            throw new EpMismatchException(label + " did not prepare the same connection as this rank, which has "
                    + half.route().provider() + " with " + half.route().rails()
                    + " rails; run the same version of ep4j on both, and give both the same "
                    + EfaKeys.PROVIDER.name());
        }
        List<Rail> rails = new ArrayList<>();
        for (int r = 0; r < half.route().rails(); r++) {
            FabricDomain domain = half.domains().get(r);
            PeerEndpoints.End end = theirs.ends().get(r);
            NativeRecord name = new NativeRecord(LONGEST_NAME);
            name.buffer().put(0, end.name());
            try {
                FabricError.check(
                        Libfabric.peer(half.endpoints().get(r), name.address()),
                        "fi_av_insert of " + label + " on " + end.nic());
            } finally {
                Reference.reachabilityFence(name);
            }
            rails.add(new Rail(
                    r,
                    half.route().mine().get(r),
                    half.route().provider() + " " + half.route().mine().get(r) + " to " + end.nic(),
                    half.places().get(r),
                    end.place(),
                    Math.max(1, domain.info().longestMessage()),
                    domain.flow(),
                    domain.profile()));
        }
        Records records = new Records(half.memory(), half.mine(), theirs.records());
        return new Link(
                new LinkPeer(
                        peer,
                        index,
                        label,
                        collective.about("host-posted writes", peer).build()),
                wire(half, records),
                rails,
                records,
                buffers.from(index),
                EpKeys.TIMEOUT.get(context.config()));
    }

    private static Wire wire(Half half, Records records) {
        long[] endpoints = half.endpoints().stream().mapToLong(Long::longValue).toArray();
        boolean inOrder =
                endpoints.length == 1 && Providers.inOrder(half.route().provider());
        Wire wire = new FabricWire(endpoints, inOrder, half.resources()::close);
        if (!Providers.parts(half.route().provider())) {
            return wire;
        }
        int[] slots = half.domains().stream()
                .mapToInt(domain -> domain.profile().slots())
                .toArray();
        return new PartingWire(
                wire,
                (rail, slot, immediate) -> records.postBare(wire, rail, slot, immediate),
                slots,
                EfaBackend.LINGER,
                () -> half.closes().set(true));
    }
}
