package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import org.ep4j.Device;
import org.ep4j.EpMismatchException;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.testing.Draw;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.NicReach.PortObstacle;
import org.ep4j.topology.PathType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class RankProfileTest {
    private static final RankProfile PROFILE = RankProfile.builder(3, "host-id", Device.cuda(2))
            .hostName("host-a")
            .pid(4711)
            .backends(Map.of(
                    "host-shm",
                    BackendProfile.of(Map.of("dir", "/dev/shm"), Map.of()),
                    "efa",
                    BackendProfile.unusable("no NIC")))
            .settings(Map.of("ep.backend.require", ""))
            .build();

    static RankProfile profile(Random random) {
        RankProfile.Builder profile = RankProfile.builder(
                        Draw.anInt(random, 0, Integer.MAX_VALUE),
                        text(random),
                        new Device(Draw.oneOf(random, "host", "cuda", "hip"), Draw.anInt(random, 0, 1000)))
                .hostName(text(random))
                .pid(Draw.aLong(random, Long.MIN_VALUE, Long.MAX_VALUE))
                .backends(map(random, RankProfileTest::backend))
                .settings(map(random, RankProfileTest::text));
        return (random.nextBoolean()
                        ? profile
                        : profile.locality(locality(random)).domain(text(random)))
                .build();
    }

    private static Locality locality(Random random) {
        List<NicReach> nics = new ArrayList<>();
        for (int left = Draw.size(random, 0, 3); left > 0; left--) {
            Map<Integer, PortObstacle> obstacles = new HashMap<>();
            for (int port = Draw.size(random, 0, 3); port > 0; port--) {
                obstacles.put(port + 1, Draw.oneOf(random, PortObstacle.values()));
            }
            NicReach.Builder nic = NicReach.builder(
                            text(random),
                            Draw.oneOf(random, NicFamily.values()),
                            new Distance(Draw.oneOf(random, PathType.values()), random.nextDouble(), 2))
                    .card(text(random))
                    .function(text(random))
                    .ports(List.of(new NicReach.Port(
                            1, Draw.oneOf(random, LinkLayer.values()), random.nextDouble(), text(random))))
                    .obstacles(obstacles);
            if (random.nextBoolean()) {
                nic.gpuDirect(random.nextBoolean());
            }
            nics.add(nic.build());
        }
        List<GpuPeer> peers = new ArrayList<>();
        for (int left = Draw.size(random, 0, 3); left > 0; left--) {
            Distance distance =
                    new Distance(Draw.oneOf(random, PathType.values()), random.nextDouble(), Draw.anInt(random, 0, 4));
            peers.add(GpuPeer.of(left, distance, Draw.oneOf(random, LinkType.values()))
                    .partOf(Draw.anInt(random, 0, left))
                    .through(List.of(left + 1, 9)));
        }
        return Locality.builder()
                .gpu(Draw.anInt(random, -1, 8))
                .vendor(Draw.oneOf(random, GpuVendor.values()))
                .architecture(text(random))
                .numa(Draw.anInt(random, -1, 8))
                .gpus(Draw.anInt(random, 0, 8))
                .peers(peers)
                .nics(nics)
                .processors(Draw.anInt(random, 0, 9))
                .card(Draw.anInt(random, -1, 8))
                .build();
    }

    private static BackendProfile backend(Random random) {
        BackendProfile found =
                BackendProfile.of(map(random, RankProfileTest::text), map(random, RankProfileTest::text));
        return random.nextBoolean() ? found : found.unusable(text(random), random.nextBoolean());
    }

    private static <V> Map<String, V> map(Random random, Function<Random, V> value) {
        Map<String, V> map = new HashMap<>();
        for (int left = Draw.size(random, 0, 4); left > 0; left--) {
            map.put(text(random), value.apply(random));
        }
        return map;
    }

    private static String text(Random random) {
        String text = Draw.aString(random, 0, 30);
        return wellFormed(text) ? text : text(random);
    }

    /** True without halves of surrogate pairs, which UTF-8 cannot carry. */
    private static boolean wellFormed(String text) {
        return text.codePoints().noneMatch(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE);
    }

    @Property
    void aProfileIsRestoredFromItsBytes(@ForAll("profile") RankProfile profile) {
        assertThat(ProfileCodec.decode(ProfileCodec.encode(profile))).isEqualTo(profile);
    }

    /** Public methods of profiles and their parts that return no property. */
    private static final Set<String> DERIVED =
            Set.of("toBuilder", "label", "obstaclesText", "obstaclesSuffix", "withUsablePorts", "hashCode", "toString");

    /** The properties of a profile and its parts, by class and name. */
    private static Map<String, List<Object>> properties(RankProfile profile) throws ReflectiveOperationException {
        Locality locality = profile.locality();
        List<Object> parts = new ArrayList<>(List.of(profile, locality));
        parts.addAll(profile.backends().values());
        parts.addAll(locality.peers());
        parts.addAll(locality.nics());
        Map<String, List<Object>> found = new TreeMap<>();
        for (Object part : parts) {
            Class<?> type = part.getClass().getInterfaces()[0];
            for (Method method : type.getDeclaredMethods()) {
                if (Modifier.isPublic(method.getModifiers())
                        && !Modifier.isStatic(method.getModifiers())
                        && method.getParameterCount() == 0
                        && !DERIVED.contains(method.getName())) {
                    String name = type.getSimpleName() + "." + method.getName();
                    found.computeIfAbsent(name, k -> new ArrayList<>()).add(method.invoke(part));
                }
            }
        }
        return found;
    }

    /** A property that the codec forgets would have its default on all other ranks, without any error. */
    @Test
    void everyPropertyTravels() throws ReflectiveOperationException {
        Distance distance = new Distance(PathType.SYS, 0, 0);
        Map<String, List<Object>> defaults = properties(RankProfile.builder(0, "", Device.HOST)
                .backends(Map.of("", BackendProfile.of(Map.of(), Map.of())))
                .locality(Locality.builder()
                        .peers(List.of(GpuPeer.of(0, distance, LinkType.PCI)))
                        .nics(List.of(NicReach.builder("", NicFamily.ETHERNET, distance)
                                .build()))
                        .build())
                .build());
        Set<String> unset = new TreeSet<>(defaults.keySet());
        Random random = new Random(1);
        for (int i = 0; i < 200; i++) {
            RankProfile profile = profile(random);
            Map<String, List<Object>> sent = properties(profile);
            assertThat(properties(ProfileCodec.decode(ProfileCodec.encode(profile))))
                    .isEqualTo(sent);
            unset.removeIf(
                    name -> !defaults.getOrDefault(name, List.of()).containsAll(sent.getOrDefault(name, List.of())));
        }
        assertThat(unset)
                .as("properties that the generator leaves at their defaults")
                .isEmpty();
    }

    @Property
    void equalProfilesHaveEqualBytesHoweverTheirMapsWereFilled(@ForAll("profile") RankProfile profile) {
        var backends = new LinkedHashMap<String, BackendProfile>();
        profile.backends().entrySet().stream()
                .sorted(Map.Entry.<String, BackendProfile>comparingByKey().reversed())
                .forEach(e -> {
                    BackendProfile there = e.getValue();
                    BackendProfile found =
                            BackendProfile.of(new HashMap<>(there.facts()), new HashMap<>(there.identity()));
                    backends.put(
                            e.getKey(), there.usable() ? found : found.unusable(there.why(), there.notApplicable()));
                });
        RankProfile same = RankProfile.builder(profile.rank(), profile.hostId(), profile.device())
                .hostName(profile.hostName())
                .pid(profile.pid())
                .backends(backends)
                .settings(new HashMap<>(profile.settings()))
                .locality(profile.locality())
                .domain(profile.domain())
                .build();
        assertThat(same)
                .isEqualTo(profile)
                .hasSameHashCodeAs(profile)
                .isEqualTo(profile.toBuilder().build());
        assertThat(ProfileCodec.encode(same)).isEqualTo(ProfileCodec.encode(profile));
    }

    @Property
    void randomBytesAreAProfileOrRefused(@ForAll @Size(max = 300) byte[] bytes) {
        decodeOrRefuse(bytes);
    }

    @Property
    void aProfileWithOneByteChangedIsAProfileOrRefused(
            @ForAll("profile") RankProfile profile, @ForAll @IntRange(max = 10_000) int place, @ForAll byte value) {
        byte[] bytes = ProfileCodec.encode(profile);
        bytes[place % bytes.length] = value;
        decodeOrRefuse(bytes);
    }

    @Property
    void aCutOrLongerProfileIsRefused(
            @ForAll("profile") RankProfile profile, @ForAll @IntRange(max = 10_000) int length) {
        byte[] bytes = ProfileCodec.encode(profile);
        int cut = length % bytes.length;
        assertThatThrownBy(() -> ProfileCodec.decode(Arrays.copyOf(bytes, cut)))
                .isInstanceOf(EpMismatchException.class);
        assertThatThrownBy(() -> ProfileCodec.decode(Arrays.copyOf(bytes, bytes.length + 1 + cut)))
                .isInstanceOf(EpMismatchException.class)
                .hasMessageContaining("too many");
    }

    private static void decodeOrRefuse(byte[] bytes) {
        try {
            RankProfile profile = ProfileCodec.decode(bytes);
            assertThat(ProfileCodec.decode(ProfileCodec.encode(profile))).isEqualTo(profile);
        } catch (EpMismatchException e) {
            assertThat(e).hasMessageContaining("run the same ep4j version on all ranks");
        }
    }

    @Test
    void anotherFormatIsNamed() {
        byte[] bytes = ProfileCodec.encode(PROFILE);
        bytes[3] = 9;
        assertThatThrownBy(() -> ProfileCodec.decode(bytes))
                .isInstanceOf(EpMismatchException.class)
                .hasMessageContaining("its profile in format 9, but this ep4j reads format 6");
    }

    @Test
    void aBackendThatIsNotMadeForTheDeviceIsDistinguishedFromOneThatFailed() {
        Check missing = Check.notApplicable("EP-X-001", "no AMD GPU", "");
        Check broken = Check.fail("EP-X-002", "no driver: NOT_APPLICABLE: here", "install it");
        BackendProfile both = BackendProfile.of(
                ProbeReport.builder().check(missing).check(broken).build());
        assertThat(both.usable()).isFalse();
        assertThat(both.notApplicable()).isTrue();
        assertThat(both.withIdentity(Map.of("boot", "b")))
                .isEqualTo(BackendProfile.of(Map.of(), Map.of("boot", "b")).unusable(both.why(), true));
        assertThat(BackendProfile.of(ProbeReport.builder().check(broken).build())
                        .notApplicable())
                .isFalse();
    }

    @Test
    void textsMayBeLong() {
        String why = "\u00e4".repeat(100_000);
        RankProfile long1 = RankProfile.builder(0, "h", Device.HOST)
                .pid(1)
                .backends(Map.of("b", BackendProfile.unusable(why)))
                .build();
        assertThat(ProfileCodec.decode(ProfileCodec.encode(long1))
                        .backends()
                        .get("b")
                        .why())
                .isEqualTo(why);
    }

    @Test
    void factsOfABackendThatIsNotThereAreEmpty() {
        assertThat(PROFILE.facts("host-shm")).containsEntry("dir", "/dev/shm");
        assertThat(PROFILE.facts("rocm")).isEmpty();
        assertThat(PROFILE.backend("rocm")).isEmpty();
        assertThat(PROFILE.backend("efa"))
                .hasValueSatisfying(b -> assertThat(b.usable()).isFalse());
        assertThat(PROFILE.label()).isEqualTo("rank 3 (host-a, pid 4711, cuda:2)");
    }

    @Test
    void mapsCannotBeChanged() {
        assertThatThrownBy(() -> PROFILE.settings().put("x", "y")).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(() -> PROFILE.facts("host-shm").clear()).isInstanceOf(UnsupportedOperationException.class);
    }
}
