package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;

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
import java.util.stream.Stream;
import org.ep4j.EpConfigException;
import org.ep4j.EpGroup;
import org.ep4j.EpUnavailableException;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PairPath;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.spi.Bootstrap;
import org.ep4j.testing.Guard;
import org.ep4j.topology.Nic;
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

    /** How ranks reach each other, as far as a plan says it in advance. */
    private record Reached(String backend, PathKind kind, List<String> nics, int lanes) {
        static Reached of(PairPath path) {
            return new Reached(path.backend(), path.offer().kind(), path.nics(), path.lanes());
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
        for (String nic : nics()) {
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

    private static EpPlan planned(EpConfig config) {
        boolean apart = config.get(EpKeys.HOST_RANKS) > 0;
        List<PlannedBackend> backends = PlannedBackend.all();
        SimulationOptions options =
                new SimulationOptions(apart ? RANKS : 1, apart ? 1 : RANKS, 0, SimulationOptions.GpuLinks.AUTO, "host");
        return Planner.plan(
                SimulatedRanks.of(Topologies.live(), backends, options, config).profiles(),
                backends.stream().map(PlannedBackend::candidate).toList(),
                PlanOptions.from(config));
    }

    /** The plan of the group, or why there is none. */
    private static Object joined(EpConfig config) throws Exception {
        ExecutorService ranks = Executors.newFixedThreadPool(RANKS);
        try {
            List<Future<List<Reached>>> running = new ArrayList<>();
            for (Bootstrap member : Bootstraps.inProcess(RANKS)) {
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
            return plans.get(0);
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
        Object planned;
        try {
            planned = Reached.of(planned(config));
        } catch (EpUnavailableException | EpConfigException e) {
            planned = e;
        }
        Object joined = joined(config);
        if (planned instanceof List || joined instanceof List) {
            if (joined instanceof Throwable refused) {
                // Descriptions say nothing of the software that is installed.
                assertThat(refused)
                        .isInstanceOf(EpUnavailableException.class)
                        .message()
                        .containsPattern("EP-[A-Z]+-\\d+");
            } else {
                assertThat(joined).isEqualTo(planned);
            }
        } else {
            assertThat(joined).hasSameClassAs(planned);
        }
    }
}
