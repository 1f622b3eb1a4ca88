package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
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
    private static final RankProfile PROFILE = new RankProfile(
            3,
            "host-id",
            "host-a",
            4711,
            new Device("cuda", 2),
            Map.of(
                    "host-shm",
                    new BackendProfile(true, "", Map.of("dir", "/dev/shm")),
                    "efa",
                    new BackendProfile(false, "no NIC", Map.of())),
            Map.of("ep.backend.require", ""));

    static RankProfile profile(Random random) {
        RankProfile profile = new RankProfile(
                Draw.anInt(random, 0, Integer.MAX_VALUE),
                text(random),
                text(random),
                Draw.aLong(random, Long.MIN_VALUE, Long.MAX_VALUE),
                new Device(Draw.oneOf(random, "host", "cuda", "hip"), Draw.anInt(random, 0, 1000)),
                map(random, RankProfileTest::backend),
                map(random, RankProfileTest::text));
        return random.nextBoolean() ? profile : profile.withLocality(locality(random));
    }

    private static Locality locality(Random random) {
        List<NicReach> nics = new ArrayList<>();
        for (int left = Draw.size(random, 0, 3); left > 0; left--) {
            Map<Integer, PortObstacle> obstacles = new HashMap<>();
            for (int port = Draw.size(random, 0, 3); port > 0; port--) {
                obstacles.put(port + 1, Draw.oneOf(random, PortObstacle.values()));
            }
            nics.add(new NicReach(
                    text(random),
                    Draw.oneOf(random, NicFamily.values()),
                    text(random),
                    text(random),
                    new Distance(Draw.oneOf(random, PathType.values()), random.nextDouble(), 2),
                    Draw.oneOf(random, Optional.empty(), Optional.of(true), Optional.of(false)),
                    List.of(new NicReach.Port(
                            1, Draw.oneOf(random, LinkLayer.values()), random.nextDouble(), text(random))),
                    obstacles));
        }
        List<GpuPeer> peers = new ArrayList<>();
        for (int left = Draw.size(random, 0, 3); left > 0; left--) {
            Distance distance =
                    new Distance(Draw.oneOf(random, PathType.values()), random.nextDouble(), Draw.anInt(random, 0, 4));
            peers.add(new GpuPeer(
                    left,
                    Draw.anInt(random, 0, left),
                    distance,
                    Draw.oneOf(random, LinkType.values()),
                    List.of(left + 1, 9)));
        }
        return new Locality(
                Draw.anInt(random, -1, 8),
                GpuVendor.NVIDIA,
                text(random),
                0,
                8,
                peers,
                nics,
                Draw.anInt(random, 0, 9),
                Draw.anInt(random, -1, 8));
    }

    private static BackendProfile backend(Random random) {
        return new BackendProfile(
                random.nextBoolean(),
                random.nextBoolean(),
                text(random),
                map(random, RankProfileTest::text),
                map(random, RankProfileTest::text));
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
    void aProfileComesBackFromItsBytes(@ForAll("profile") RankProfile profile) {
        assertThat(RankProfile.decode(profile.encode())).isEqualTo(profile);
    }

    @Property
    void equalProfilesHaveEqualBytesHoweverTheirMapsWereFilled(@ForAll("profile") RankProfile profile) {
        var backends = new LinkedHashMap<String, BackendProfile>();
        profile.backends().entrySet().stream()
                .sorted(Map.Entry.<String, BackendProfile>comparingByKey().reversed())
                .forEach(e -> backends.put(
                        e.getKey(),
                        new BackendProfile(
                                e.getValue().usable(),
                                e.getValue().notApplicable(),
                                e.getValue().why(),
                                new HashMap<>(e.getValue().facts()),
                                new HashMap<>(e.getValue().identity()))));
        RankProfile same = new RankProfile(
                        profile.rank(),
                        profile.hostId(),
                        profile.hostName(),
                        profile.pid(),
                        profile.device(),
                        backends,
                        new HashMap<>(profile.settings()))
                .withLocality(profile.locality());
        assertThat(same.encode()).isEqualTo(profile.encode());
    }

    @Property
    void randomBytesAreAProfileOrRefused(@ForAll @Size(max = 300) byte[] bytes) {
        decodeOrRefuse(bytes);
    }

    @Property
    void aProfileWithOneByteChangedIsAProfileOrRefused(
            @ForAll("profile") RankProfile profile, @ForAll @IntRange(max = 10_000) int place, @ForAll byte value) {
        byte[] bytes = profile.encode();
        bytes[place % bytes.length] = value;
        decodeOrRefuse(bytes);
    }

    @Property
    void aCutOrLongerProfileIsRefused(
            @ForAll("profile") RankProfile profile, @ForAll @IntRange(max = 10_000) int length) {
        byte[] bytes = profile.encode();
        int cut = length % bytes.length;
        assertThatThrownBy(() -> RankProfile.decode(Arrays.copyOf(bytes, cut))).isInstanceOf(EpMismatchException.class);
        assertThatThrownBy(() -> RankProfile.decode(Arrays.copyOf(bytes, bytes.length + 1 + cut)))
                .isInstanceOf(EpMismatchException.class)
                .hasMessageContaining("too many");
    }

    private static void decodeOrRefuse(byte[] bytes) {
        try {
            RankProfile profile = RankProfile.decode(bytes);
            assertThat(RankProfile.decode(profile.encode())).isEqualTo(profile);
        } catch (EpMismatchException e) {
            assertThat(e).hasMessageContaining("run the same ep4j version on all ranks");
        }
    }

    @Test
    void anotherFormatIsNamed() {
        byte[] bytes = PROFILE.encode();
        bytes[3] = 9;
        assertThatThrownBy(() -> RankProfile.decode(bytes))
                .isInstanceOf(EpMismatchException.class)
                .hasMessageContaining("its profile in format 9, but this ep4j reads format 6");
    }

    @Test
    void aBackendThatIsNotMadeForTheDeviceIsToldFromOneThatFailed() {
        Check missing = Check.notApplicable("EP-X-001", "no AMD GPU", "");
        Check broken = Check.fail("EP-X-002", "no driver: NOT_APPLICABLE: here", "install it");
        BackendProfile both = BackendProfile.of(
                ProbeReport.builder().check(missing).check(broken).build());
        assertThat(both.usable()).isFalse();
        assertThat(both.notApplicable()).isTrue();
        assertThat(both.withIdentity(Map.of("boot", "b")))
                .isEqualTo(new BackendProfile(false, true, both.why(), Map.of(), Map.of("boot", "b")));
        assertThat(BackendProfile.of(ProbeReport.builder().check(broken).build())
                        .notApplicable())
                .isFalse();
    }

    @Test
    void textsMayBeLong() {
        String why = "\u00e4".repeat(100_000);
        RankProfile long1 = new RankProfile(
                0, "h", "h", 1, Device.HOST, Map.of("b", new BackendProfile(false, why, Map.of())), Map.of());
        assertThat(RankProfile.decode(long1.encode()).backends().get("b").why()).isEqualTo(why);
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
