package org.ep4j.cli.rank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTraffic;
import org.ep4j.RowLayout;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.cli.rank.ExchangeSpec.Part;
import org.ep4j.cli.rank.ExchangeSpec.Wire;
import org.ep4j.cli.rank.RankMessage.Progress;
import org.ep4j.cli.rank.RankMessage.Validated;
import org.ep4j.config.EpKeys;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/**
 * Wires that break or disturb while two ranks dispatch and combine, every element of every round compared with the reference.
 * They need the ports rxe0 to rxe3 on two wires, as {@code ci/on-verbs -r 2} has them, and root.
 */
@Tag("guest")
final class VerbsFaultsTest {
    private static final String BACKEND = "ibrc-multiqp";
    private static final Duration LIMIT = Guard.minutes(4);

    /** Of an operation: a broken port is found well before. */
    private static final Duration TIMEOUT = Guard.minute();

    private static final int ROUNDS = 14;
    private static final List<String> ONE_WIRE = List.of("rxe0", "rxe1");
    private static final List<String> TWO_WIRES = List.of("rxe0,rxe2", "rxe1,rxe3");

    /** Results of one rank. */
    private record Ended(List<Validated> validated, List<EpTraffic> sent, Optional<EpPeerLostException> lost) {
        int failovers() {
            return sent.stream().mapToInt(EpTraffic::failovers).sum();
        }
    }

    @TestFactory
    Stream<DynamicTest> faultsOfWires() {
        boolean present = Stream.of("rxe0", "rxe1", "rxe2", "rxe3")
                .allMatch(name -> Files.exists(Path.of("/sys/class/infiniband", name)));
        if (!present) {
            if (System.getenv().getOrDefault("EP_REQUIRE_VERBS", "").equals("1")) {
                fail("EP_REQUIRE_VERBS is 1, but the ports rxe0 to rxe3 (two wires) are not here");
            }
            System.out.println("skipped: faults of wires need the ports rxe0 to rxe3");
            return Stream.empty();
        }
        return Stream.of(
                dynamicTest("first of two cables pulled", () -> goesOn(netem("rail0", "loss", "100%"))),
                dynamicTest("second of two cables pulled", () -> goesOn(netem("rail1", "loss", "100%"))),
                dynamicTest(
                        "link of one of two ports down",
                        () -> goesOn(new Fault(
                                List.of(words("ip link set rail0a down")), List.of(words("ip link set rail0a up"))))),
                dynamicTest("only cable pulled", this::onlyCable),
                dynamicTest("loss of 1 %", () -> isRight("loss", "1%")),
                dynamicTest("delay", () -> isRight("delay", "2ms", "limit", "100000")),
                dynamicTest("reordering", () -> isRight("delay", "1ms", "reorder", "50%")),
                dynamicTest("duplicates", () -> isRight("duplicate", "10%")));
    }

    /** Commands that break a wire, and those that mend it. */
    private record Fault(List<List<String>> breaking, List<List<String>> mending) {}

    private static Fault netem(String rail, String... disturbance) {
        List<List<String>> breaking = new ArrayList<>();
        List<List<String>> mending = new ArrayList<>();
        for (String end : List.of(rail + "a", rail + "b")) {
            List<String> add = new ArrayList<>(words("tc qdisc add dev " + end + " root netem"));
            add.addAll(List.of(disturbance));
            breaking.add(add);
            mending.add(words("tc qdisc del dev " + end + " root"));
        }
        return new Fault(breaking, mending);
    }

    private static List<String> words(String command) {
        return Arrays.asList(command.split(" ", -1));
    }

    /** One of two ports fails: the exchange goes on over the other, and all of it is right. */
    private void goesOn(Fault fault) throws InterruptedException {
        List<Ended> ended = exchange(TWO_WIRES, fault);
        for (Ended rank : ended) {
            valid(rank);
            assertThat(rank.failovers()).isEqualTo(1);
            assertThat(rank.sent().get(0).lanes())
                    .anyMatch(lane -> !lane.alive())
                    .anyMatch(EpTraffic.Lane::alive);
        }
    }

    /** A wire that is bad, and not broken: slower, and all of it is right. */
    private void isRight(String... disturbance) throws InterruptedException {
        for (Ended rank : exchange(ONE_WIRE, netem("rail0", disturbance))) {
            valid(rank);
            assertThat(rank.failovers()).isZero();
        }
    }

    private static void valid(Ended rank) {
        assertThat(rank.lost()).isEmpty();
        assertThat(rank.validated()).hasSize(4).allSatisfy(result -> {
            assertThat(result.problem()).isEmpty();
            assertThat(result.elements()).isPositive();
        });
    }

    /** The only port fails: every rank fails within the timeout, and the one that detects it names ports and status. */
    private void onlyCable() throws InterruptedException {
        List<Ended> ended = exchange(ONE_WIRE, netem("rail0", "loss", "100%"));
        assertThat(ended).allSatisfy(rank -> assertThat(rank.lost()).isPresent());
        for (int rank = 0; rank < 2; rank++) {
            EpPeerLostException lost = ended.get(rank).lost().orElseThrow();
            assertThat(lost.failure().peer()).isEqualTo(1 - rank);
            System.out.println("rank " + rank + " failed: " + lost.getMessage());
        }
        assertThat(ended.stream().map(rank -> rank.lost().orElseThrow().getMessage()))
                .anySatisfy(message -> assertThat(message).contains("rxe0:1", "rxe1:1", "status 12 ("));
    }

    /** Runs two ranks; after a few rounds there is the fault. */
    private List<Ended> exchange(List<String> nics, Fault fault) throws InterruptedException {
        ExchangeSpec spec = new ExchangeSpec(
                2,
                Device.HOST.toString(),
                BACKEND,
                256,
                4,
                8,
                List.of(
                        new Part(Mode.HT, 64, Wire.BF16, RowLayout.BY_RANK, false),
                        new Part(Mode.LL, 16, Wire.FP8, RowLayout.BY_RANK, false)),
                0,
                0,
                0,
                1,
                ROUNDS,
                true,
                ROUNDS,
                false,
                7,
                "");
        List<Bootstrap> members = Bootstrap.inProcess(2);
        ExecutorService ranks = Executors.newFixedThreadPool(2);
        try {
            List<Future<Ended>> running = new ArrayList<>();
            for (int rank = 0; rank < 2; rank++) {
                Bootstrap member = members.get(rank);
                EpConfig config = config(nics.get(rank));
                running.add(ranks.submit((Callable<Ended>) () -> rank(spec, member, config, fault)));
            }
            List<Ended> all = new ArrayList<>();
            for (Future<Ended> one : running) {
                all.add(one.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
            }
            return all;
        } catch (ExecutionException | TimeoutException e) {
            throw new AssertionError("a rank failed or hung: " + e, e);
        } finally {
            ranks.shutdownNow();
            for (List<String> command : fault.mending()) {
                run(command);
            }
        }
    }

    private static EpConfig config(String nics) {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put(EpKeys.BACKEND_REQUIRE.name(), BACKEND);
        settings.put(EpKeys.NIC_INCLUDE.name(), nics);
        settings.put(EpKeys.TIMEOUT.name(), TIMEOUT.toSeconds() + "s");
        settings.put("ep.ibrc.timeout", "14");
        settings.put("ep.ibrc.stripe", "4KiB");
        settings.put("ep.ibrc.queue-pairs", "2");
        EpConfig.Builder builder = EpConfig.builder();
        settings.forEach(builder::set);
        return builder.build();
    }

    private static Ended rank(ExchangeSpec spec, Bootstrap member, EpConfig config, Fault fault) {
        List<Validated> validated = new ArrayList<>();
        try (EpGroup group = EpGroup.join(member, config)) {
            Optional<EpPeerLostException> lost = Optional.empty();
            try {
                new ExchangeRank(spec, message -> {
                            if (message instanceof Validated result) {
                                validated.add(result);
                            } else if (message instanceof Progress progress && progress.done() == ROUNDS / 2) {
                                // Sent by rank 0 in the middle of the first part; rank 1 may be within an operation.
                                fault.breaking().forEach(VerbsFaultsTest::run);
                            }
                        })
                        .run(group);
            } catch (EpPeerLostException e) {
                lost = Optional.of(e);
            }
            return new Ended(validated, group.traffic(), lost);
        }
    }

    private static void run(List<String> command) {
        try {
            Process process = new ProcessBuilder(command).inheritIO().start();
            assertThat(process.waitFor(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            assertThat(process.exitValue())
                    .describedAs(String.join(" ", command))
                    .isZero();
        } catch (IOException e) {
            throw new AssertionError(String.join(" ", command) + " failed", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}
