package org.ep4j.cli.plan;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.ep4j.BufferSize;
import org.ep4j.EpArgumentException;
import org.ep4j.EpEngine;
import org.ep4j.ExpertPlacement;
import org.ep4j.cli.plan.PlanReport.Load;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.Objective;
import org.ep4j.plan.Planner;
import org.ep4j.plan.forecast.Exchange;
import org.ep4j.plan.forecast.Exchange.Mode;
import org.ep4j.plan.forecast.Forecast;
import org.ep4j.plan.forecast.Forecast.Operation;
import org.ep4j.plan.forecast.Forecast.ResourceLoad;
import org.ep4j.plan.forecast.Sizing;
import org.ep4j.plan.offer.NicPaths;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.tck.TckSubject;
import org.ep4j.topology.model.Topology;

/** Plans for a machine and makes the report of the plan. */
public final class PlanAnalysis {
    private static final Duration PROBE_DEADLINE = Duration.ofSeconds(20);

    private final Topology machine;
    private final PlanRequest request;
    private final List<PlannedBackend> backends = PlannedBackend.all();
    private final SimulatedRanks simulated;
    private final GroupPlan plan;
    private final Set<String> assumptions = new LinkedHashSet<>();

    private PlanAnalysis(Topology machine, PlanRequest request) {
        this.machine = machine;
        this.request = request;
        this.simulated = SimulatedRanks.of(
                machine, backends, request.simulation(), request.settings().config());
        this.plan = planned(request.objective());
        assumptions.addAll(request.settings().ofProcess());
        assumptions.addAll(machine.assumptions());
        assumptions.addAll(simulated.assumptions());
    }

    public static PlanReport of(Topology machine, PlanRequest request) {
        return new PlanAnalysis(machine, request).report();
    }

    private GroupPlan planned(Objective objective) {
        return Planner.plan(
                simulated.profiles(),
                backends.stream().map(PlannedBackend::candidate).toList(),
                request.settings().options(objective));
    }

    private PlanReport report() {
        List<String> used = plan.backends();
        RankProfile first = plan.profiles().get(0);
        assumeRates();
        warn(used, first);
        addUnusedPorts();
        assumptions.addAll(PlanPaths.apart(plan));
        int experts = request.shape().experts();
        if (experts < plan.ranks()) {
            assumptions.add(
                    experts + " experts on " + plan.ranks() + " ranks: only " + experts
                            + " ranks hold an expert, and all tokens go to these ranks (to plan with more experts, give --experts)");
        }
        if (!first.device().isGpu()) {
            assumptions.add("forecasts for the host device include only the copies between ranks; ./ep bench measures"
                    + " whole operations");
        }
        PlanReport.Sizes sizes = sizes();
        List<PlanReport.Operation> forecasts = forecasts();
        List<String> warnings = new ArrayList<>(machine.warnings());
        List<PlanReport.Tuned> tuned = PlanTuning.of(ofGroup(), request, warnings::add);
        return new PlanReport(
                PlanReport.FORMAT,
                machine.source(),
                (int) plan.profiles().stream()
                        .map(RankProfile::hostId)
                        .distinct()
                        .count(),
                plan.ranks(),
                first.device().type(),
                rows(first),
                List.copyOf(assumptions),
                request.variables(),
                List.copyOf(warnings),
                backends.stream()
                        .map(b -> new PlanReport.Backend(b.id(), used.contains(b.id())))
                        .toList(),
                PlanPaths.table(plan),
                PlanPaths.groups(plan),
                PlanPaths.nics(plan),
                PlanPaths.posting(plan, request.settings().window()),
                sizes,
                forecasts,
                tuned);
    }

    /** Returns the plan that a group would make, whose objective does not depend on the modes that are forecast. */
    private GroupPlan ofGroup() {
        return request.objective() == Objective.BALANCED ? plan : planned(Objective.BALANCED);
    }

    private void assumeRates() {
        plan.profiles().stream()
                .flatMap(profile -> NicPaths.of(profile.locality(), nic -> true).stream())
                .filter(nics -> nics.nearest().rateAssumed())
                .findFirst()
                .ifPresent(nics -> assumptions.add("100 Gb/s for NICs such as "
                        + nics.nearest().name() + ", because the description does not give their rates"));
    }

    /** Adds the ports of each described host that its ranks do not use. */
    private void addUnusedPorts() {
        plan.profiles().stream()
                .map(profile -> profile.locality().obstaclesText())
                .filter(ports -> !ports.isEmpty())
                .distinct()
                .forEach(ports -> assumptions.add("not used: " + ports));
    }

    /** Adds the warnings of backends that paths use, such as that they do not open there yet. */
    private void warn(List<String> used, RankProfile rank) {
        for (PlannedBackend backend : backends) {
            if (used.contains(backend.id())) {
                backend.describe().apply(rank, request.settings().config()).checks().stream()
                        .filter(check -> check.status() == Check.Status.WARN)
                        .forEach(check -> assumptions.add(backend.id() + ": " + check));
            }
        }
    }

    /** Returns how ranks on the host of this machine copy and sum rows. */
    private String rows(RankProfile rank) {
        if (!request.thisMachine() || rank.device().isGpu()) {
            return "";
        }
        ProbeRequest asked = ProbeRequest.of(rank.device(), request.settings().config(), PROBE_DEADLINE);
        return TckSubject.deviceProvider(rank.device().type())
                .map(provider -> provider.probe(asked).facts().getOrDefault(ProbeReport.ROWS, ""))
                .orElse("");
    }

    private PlanReport.Sizes sizes() {
        BufferSize buffer = BufferSize.of(0, 0);
        try {
            buffer = EpEngine.installed().bufferSize(request.shape(), plan, 0);
        } catch (EpArgumentException e) {
            assumptions.add("buffers of this shape are refused: " + e.getMessage());
        }
        Map<String, Long> parts = new LinkedHashMap<>();
        buffer.parts().forEach(part -> parts.put(part.use(), part.bytes()));
        Sizing sizing = Sizing.of(plan, buffer);
        return new PlanReport.Sizes(
                buffer.symmetricBytes(),
                buffer.localBytes(),
                parts,
                buffer.bytesAtCreation(),
                sizing.lanesPerRank(),
                sizing.lanesPerHost(),
                sizing.endpointsPerRank(),
                sizing.proxiesPerRank(),
                sizing.proxiesPerHost(),
                sizing.multiprocessors());
    }

    private List<PlanReport.Operation> forecasts() {
        List<PlanReport.Operation> all = new ArrayList<>();
        ExpertPlacement placement = ExpertPlacement.block(request.shape().experts(), plan.ranks());
        for (Mode mode : Mode.values()) {
            int tokens = mode == Mode.HIGH_THROUGHPUT
                    ? request.shape().maxTokens()
                    : request.shape().maxLowLatencyTokens();
            if (tokens > 0) {
                Exchange exchange = Exchange.of(request.shape(), mode, tokens, request.fp8())
                        .grouped(request.groups(), request.topGroups());
                Forecast.ofBoth(plan, exchange, placement)
                        .forEach((operation, forecast) -> all.add(operation(mode, tokens, operation, forecast)));
            }
        }
        return all;
    }

    private static PlanReport.Operation operation(Mode mode, int tokens, Operation operation, Forecast forecast) {
        return new PlanReport.Operation(
                mode == Mode.HIGH_THROUGHPUT ? "ht" : "ll",
                operation.name().toLowerCase(Locale.ROOT),
                tokens,
                forecast.micros(),
                forecast.latencyMicros(),
                forecast.bottleneck(),
                forecast.logicalGigabytesPerSecond(),
                forecast.wireGigabytesPerSecond(),
                loads(forecast.loads()));
    }

    /** Returns the first, most loaded, of each kind: names that differ in numbers or direction alone are of one kind. */
    private static List<Load> loads(List<ResourceLoad> all) {
        Map<String, Load> kinds = new LinkedHashMap<>();
        for (ResourceLoad load : all) {
            kinds.merge(
                    load.resource().replaceAll("[0-9a-f:.]*\\d[0-9a-f:.]*", "#").replaceAll(", (in|out)$", ""),
                    new Load(load.resource(), 1, load.bytes(), load.gigabytesPerSecond(), load.micros()),
                    (first, other) -> new Load(
                            first.resource(),
                            first.alike() + 1,
                            first.bytes(),
                            first.gigabytesPerSecond(),
                            first.micros()));
        }
        return List.copyOf(kinds.values());
    }
}
