package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.ep4j.EpGroup;
import org.ep4j.EpPath;
import org.ep4j.EpPlan;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.testing.Guard;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Two ranks join on this machine, and the plan of the machine's description is the plan of their group. Where the machine has RDMA, as
 * the guest of {@code ci/on-verbs -r 2}, its NICs take part.
 */
@Tag("verify")
final class PlanAndJoinTest {
    private static final int RANKS = 2;
    private static final String VERBS = "ibrc-multiqp";
    private static final boolean VERBS_REQUIRED = "1".equals(System.getenv("EP_REQUIRE_VERBS"));
    private static final String TCK_REQUIRED = System.getenv().getOrDefault("EP_TCK_REQUIRE", "");

    /** The code of a check. */
    private static final Pattern CHECK = Pattern.compile("EP-[A-Z]+-[0-9]+");

    /** How ranks reach each other, as far as a plan says it in advance. */
    private record Reached(String backend, EpPath.Kind kind, List<String> nics, int lanes) {
        static Reached of(EpPath path) {
            return new Reached(path.backend(), path.kind(), path.nics(), path.lanes());
        }

        static List<Reached> of(EpPlan plan) {
            return List.of(of(plan.path(0, 1)), of(plan.path(1, 0)));
        }
    }

    private static Stream<Map<String, String>> settings() {
        List<Map<String, String>> all = new ArrayList<>();
        for (String hostRanks : List.of("0", "1")) {
            for (String required : List.of("", "host-shm", "efa", VERBS)) {
                all.add(Map.of("EP_HOST_RANKS", hostRanks, "EP_BACKEND_REQUIRE", required));
            }
        }
        List<String> nics = nics();
        assertThat(nics.isEmpty() && VERBS_REQUIRED)
                .as("no NIC with RDMA, though EP_REQUIRE_VERBS is 1")
                .isFalse();
        for (String nic : nics) {
            for (String variable : List.of("NCCL_IB_HCA==" + nic, "EP_NIC_EXCLUDE=" + nic, "EP_NIC_MAP=*:" + nic)) {
                String[] pair = variable.split("=", 2);
                all.add(Map.of("EP_HOST_RANKS", "1", "EP_BACKEND_REQUIRE", VERBS, pair[0], pair[1]));
            }
        }
        return all.stream();
    }

    /** One NIC with RDMA, where there is any: joins take long in the guest. */
    private static List<String> nics() {
        return Topologies.live().nics().stream()
                .filter(nic -> nic.family().rdma())
                .map(Nic::name)
                .limit(1)
                .toList();
    }

    private static EpConfig config(Map<String, String> environment) {
        return EpConfig.builder(Map.of(), environment).build();
    }

    private static GroupPlan planned(EpConfig config) {
        boolean apart = EpKeys.HOST_RANKS.get(config) > 0;
        List<PlannedBackend> backends = PlannedBackend.all();
        SimulatedRanks.Options options = new SimulatedRanks.Options(
                apart ? RANKS : 1, apart ? 1 : RANKS, 0, SimulatedRanks.GpuLinks.AUTO, "host");
        return Planner.plan(
                SimulatedRanks.of(Topologies.live(), backends, options, config).profiles(),
                backends.stream().map(PlannedBackend::candidate).toList(),
                PlanOptions.from(config));
    }

    /** The plan of the group as each rank has it, or why that rank has none. */
    private static List<Object> joined(EpConfig config) throws Exception {
        ExecutorService ranks = Executors.newFixedThreadPool(RANKS);
        try {
            List<Future<List<Reached>>> running = new ArrayList<>();
            for (Bootstrap member : Bootstrap.inProcess(RANKS)) {
                running.add(ranks.submit((Callable<List<Reached>>) () -> {
                    try (EpGroup group = EpGroup.join(member, config)) {
                        return Reached.of(group.plan());
                    }
                }));
            }
            List<Object> plans = new ArrayList<>();
            for (Future<List<Reached>> one : running) {
                try {
                    plans.add(one.get(Guard.minute().toSeconds(), TimeUnit.SECONDS));
                } catch (ExecutionException e) {
                    plans.add(e.getCause());
                }
            }
            return plans;
        } catch (TimeoutException e) {
            throw new AssertionError("a rank does not join", e);
        } finally {
            ranks.shutdownNow();
        }
    }

    @ParameterizedTest
    @MethodSource("settings")
    void theJoinIsWhatWasPlanned(Map<String, String> environment) throws Exception {
        EpConfig config = config(environment);
        List<Object> joined = joined(config);
        List<Reached> planned;
        try {
            planned = Reached.of(planned(config));
        } catch (EpUnavailableException | EpConfigException refused) {
            assertThat(joined).allSatisfy(rank -> assertThat(rank).hasSameClassAs(refused));
            return;
        }
        if (joined.get(0) instanceof EpUnavailableException refused && lacksSoftware(environment, refused)) {
            System.out.println("Skipped: " + environment + ": " + refused.getMessage());
            assumeTrue(false, "descriptions of machines do not have the software that a backend needs");
        }
        assertThat(joined).allSatisfy(rank -> assertThat(rank).isEqualTo(planned));
    }

    /** Returns whether a failed check of a probe is the reason, of a backend that need not be here. */
    private static boolean lacksSoftware(Map<String, String> environment, EpUnavailableException refused) {
        String backend = environment.getOrDefault("EP_BACKEND_REQUIRE", "");
        boolean required = backend.equals(VERBS)
                ? VERBS_REQUIRED
                : List.of(TCK_REQUIRED.split(",", -1)).contains(backend);
        return !required && CHECK.matcher(String.valueOf(refused.getMessage())).find();
    }
}
