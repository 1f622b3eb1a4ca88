package org.ep4j.backend.efa;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpMismatchException;
import org.ep4j.EpUnavailableException;
import org.ep4j.backend.efa.FabricDomain.Registered;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.OpenContext;
import org.ep4j.transport.memory.NativeRecord;
import org.ep4j.transport.memory.Resources;
import org.ep4j.transport.memory.WordMemory;
import org.ep4j.transport.posted.PostedConnection;
import org.ep4j.transport.posted.PostedEndpoint;
import org.ep4j.transport.posted.PostedMemory.Registrations;
import org.ep4j.transport.posted.PostedPeer;

/** The NICs of one rank, with an endpoint of libfabric for each peer and rail. */
final class EfaEndpoint implements PostedEndpoint<EfaMemory> {
    /** Time that a peer has to answer as its connection closes. */
    private static final Duration LINGER = Duration.ofSeconds(2);

    private static final int LONGEST_NAME = 512;

    private final OpenContext context;
    private final List<Integer> peers;
    private final Resources resources = new Resources();
    private final Buffers buffers = new Buffers();
    /** Where memory is registered: once on each NIC, or once for each endpoint where a provider wants that. */
    private final List<Place> places = new ArrayList<>();

    private final Map<String, FabricDomain> domains = new HashMap<>();
    private final Map<Integer, Half> halves = new TreeMap<>();

    EfaEndpoint(OpenContext context, List<Integer> peers) {
        this.context = context;
        this.peers = peers;
    }

    private record Place(FabricDomain domain, long endpoint) {}

    /**
     * An endpoint of libfabric.
     *
     * @param place index of the keys for it
     * @param records keys of the memory for {@link Records}
     */
    private record End(FabricDomain domain, long endpoint, int place, Registered records) {}

    /** This rank's part of a link, with ends by rail. */
    private record Half(Route route, List<End> ends, WordMemory memory, AtomicBoolean closes, Resources resources) {
        Region records(Function<Registered, Keys> side) {
            return region(memory.address(), ends.stream().map(End::records).toList(), side);
        }
    }

    /** Registered memory as this rank writes from it, or as peers write to it. */
    private static Region region(long address, List<Registered> keys, Function<Registered, Keys> side) {
        return new Region(address, keys.stream().map(side).toList());
    }

    @Override
    public byte[] address() {
        FabricLibrary.JNI.require();
        Map<Integer, PeerEndpoints> endpoints = new TreeMap<>();
        try (FabricList list = FabricList.all(GpuMemory.wanted(context.device().id(), context.config()))) {
            List<FabricInfo> usable = Providers.usable(list.infos(), context.config());
            for (int peer : peers) {
                Route route = Route.of(context.plan(), context.profiles(), context.rank(), peer);
                endpoints.put(peer, half(list, usable, peer, route));
            }
        }
        return PeerEndpoints.ByPeer.CODEC.encode(new PeerEndpoints.ByPeer(endpoints));
    }

    private PeerEndpoints half(FabricList list, List<FabricInfo> usable, int peer, Route route) {
        Resources own = new Resources();
        WordMemory memory = WordMemory.allocate(Records.BYTES);
        own.hold(memory);
        ExposedMemory words = ExposedMemory.of(DeviceMemory.of(memory.address(), Records.BYTES, Device.HOST));
        List<End> ends = new ArrayList<>();
        List<PeerEndpoints.End> known = new ArrayList<>();
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
                Place place = new Place(domain, domain.info().memoryOfEndpoint() ? endpoint : 0);
                if (!places.contains(place)) {
                    places.add(place);
                }
                int index = places.indexOf(place);
                ends.add(new End(domain, endpoint, index, domain.register(words, place.endpoint(), own)));
                known.add(new PeerEndpoints.End(nic, index, name(endpoint)));
            }
            done = true;
        } finally {
            if (!done) {
                own.close();
            }
        }
        Half half = new Half(route, ends, memory, closes, own);
        halves.put(peer, half);
        return new PeerEndpoints(route.provider(), known, half.records(Registered::theirs));
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

    @Override
    public PostedConnection<EfaMemory> connect(PostedPeer peer, List<byte[]> addresses) {
        Half half = Objects.requireNonNull(halves.get(peer.rank()));
        PeerEndpoints theirs = PeerEndpoints.ByPeer.CODEC
                .decode(addresses.get(peer.index()))
                .endpoints()
                .get(context.rank());
        if (theirs == null
                || !theirs.provider().equals(half.route().provider())
                || theirs.ends().size() != half.route().rails()) {
            throw new EpMismatchException(peer.label() + " did not prepare the same connection as this rank, which has "
                    + half.route().provider() + " with " + half.route().rails()
                    + " rails; run the same version of ep4j on both, and give both the same "
                    + EfaKeys.PROVIDER.name());
        }
        List<Rail> rails = new ArrayList<>();
        for (int r = 0; r < half.route().rails(); r++) {
            End own = half.ends().get(r);
            PeerEndpoints.End end = theirs.ends().get(r);
            NativeRecord name = new NativeRecord(LONGEST_NAME);
            name.buffer().put(0, end.name());
            try {
                FabricError.check(
                        Libfabric.peer(own.endpoint(), name.address()),
                        "fi_av_insert of " + peer.label() + " on " + end.nic());
            } finally {
                Reference.reachabilityFence(name);
            }
            rails.add(new Rail(
                    r,
                    half.route().mine().get(r),
                    half.route().name(r),
                    own.place(),
                    end.place(),
                    Math.max(1, own.domain().info().longestMessage()),
                    own.domain().flow(),
                    own.domain().profile()));
        }
        Records records = new Records(half.memory().words(), half.records(Registered::mine), theirs.records());
        return new Link(
                peer,
                wire(half, records),
                rails,
                records,
                buffers.from(peer.index()),
                EpKeys.TIMEOUT.get(context.config()));
    }

    private static Wire wire(Half half, Records records) {
        long[] endpoints = half.ends().stream().mapToLong(End::endpoint).toArray();
        boolean inOrder =
                endpoints.length == 1 && Providers.inOrder(half.route().provider());
        Wire wire = new FabricWire(endpoints, inOrder, half.resources()::close);
        if (!Providers.parts(half.route().provider())) {
            return wire;
        }
        int[] slots = half.ends().stream()
                .mapToInt(end -> end.domain().profile().slots())
                .toArray();
        return new PartingWire(
                wire,
                (rail, slot, immediate) -> records.postBare(wire, rail, slot, immediate),
                slots,
                LINGER,
                () -> half.closes().set(true));
    }

    @Override
    public EfaMemory register(ExposedMemory memory, Registrations registrations) {
        List<Registered> keys = register(memory, registrations.data());
        long address = memory.memory().address();
        EfaMemory made = buffers.add(number -> new EfaMemory(
                memory.memory(),
                context.ranks().size(),
                registrations,
                region(address, keys, Registered::mine),
                new EfaMemory.Key(number, region(address, keys, Registered::theirs))));
        registrations.counters().add(() -> buffers.remove(made.number()));
        return made;
    }

    @Override
    public void tryRegister(ExposedMemory memory) {
        try (Resources registered = new Resources()) {
            register(memory, registered);
        }
    }

    private List<Registered> register(ExposedMemory memory, Resources registered) {
        return places.stream()
                .map(place -> place.domain().register(memory, place.endpoint(), registered))
                .toList();
    }

    @Override
    public Optional<String> refusal(ExposedMemory.Kind kind) {
        return places.stream().flatMap(at -> at.domain().refusal(kind).stream()).findFirst();
    }

    @Override
    public void close() {
        halves.values().forEach(half -> half.resources().close());
        resources.close();
    }

    @Override
    public String toString() {
        return halves.values().stream()
                .flatMap(half -> IntStream.range(0, half.route().rails())
                        .mapToObj(rail -> half.route().name(rail)))
                .distinct()
                .sorted()
                .collect(Collectors.joining(", "));
    }
}
