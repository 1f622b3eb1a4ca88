package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.ExpertPlacement;
import org.ep4j.cli.plan.Published.Hardware;
import org.ep4j.cli.plan.Published.Row;
import org.ep4j.cli.plan.Published.Series;
import org.ep4j.cli.plan.Published.Unit;
import org.ep4j.cli.plan.SimulatedRanks.GpuLinks;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.Objective;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.plan.forecast.Exchange;
import org.ep4j.plan.forecast.Forecast;
import org.ep4j.plan.forecast.Forecast.Operation;

/**
 * One published figure beside the forecast.
 *
 * @param series table it is from
 * @param ranks number of ranks
 * @param operation dispatch or combine
 * @param published figure in the table's unit
 * @param predicted forecast in the same unit
 * @param ratio predicted time over published time: below 1 the model is faster than what was measured
 * @param bottleneck what the forecast is limited by
 */
record Comparison(
        Series series,
        int ranks,
        Operation operation,
        double published,
        double predicted,
        double ratio,
        String bottleneck) {
    /** All figures of all tables, in their order. */
    static List<Comparison> all(Published published) {
        List<PlannedBackend> backends = PlannedBackend.all();
        List<Comparison> found = new ArrayList<>();
        for (Series series : published.series()) {
            for (Row row : series.rows()) {
                GroupPlan plan = plan(published.hardware(series), series, row.ranks(), backends);
                for (Operation operation : Operation.values()) {
                    double figure = operation == Operation.DISPATCH ? row.dispatch() : row.combine();
                    if (figure > 0) {
                        found.add(compare(series, row.ranks(), operation, figure, plan));
                    }
                }
            }
        }
        return List.copyOf(found);
    }

    private static GroupPlan plan(Hardware hardware, Series series, int ranks, List<PlannedBackend> backends) {
        int gpus = Math.min(ranks, hardware.gpus());
        SimulatedRanks.Options options =
                new SimulatedRanks.Options(ranks / gpus, gpus, hardware.domainHosts(), GpuLinks.FILE, "");
        SimulatedRanks simulated = Machines.ranks(MachineSketch.of(hardware), backends, options);
        List<String> require = series.require().isEmpty()
                ? List.of()
                : List.of(series.require().split(",", -1));
        Objective objective =
                series.mode() == Exchange.Mode.HIGH_THROUGHPUT ? Objective.HIGH_THROUGHPUT : Objective.LOW_LATENCY;
        return Planner.plan(
                simulated.profiles(),
                backends.stream().map(PlannedBackend::candidate).toList(),
                new PlanOptions(new BackendChoice(require, List.of(), List.of()), NicChoice.AUTO, objective));
    }

    private static Comparison compare(Series series, int ranks, Operation operation, double figure, GroupPlan plan) {
        int experts = series.expertsPerRank() > 0 ? series.expertsPerRank() * ranks : series.experts();
        Exchange exchange = new Exchange(
                series.mode(),
                series.tokens(),
                experts,
                series.topK(),
                series.dispatchRow(),
                series.combineRow(),
                series.dispatchMessages(),
                series.combineMessages(),
                1,
                1);
        int hosts = (int) plan.profiles().stream()
                .map(profile -> profile.hostId())
                .distinct()
                .count();
        if (series.topGroups() > 0 && hosts > series.topGroups()) {
            exchange = exchange.grouped(hosts, series.topGroups());
        }
        Forecast forecast = Forecast.ofBoth(plan, exchange, ExpertPlacement.block(experts, ranks))
                .get(operation);
        double predicted = switch (series.unit()) {
            case MICROS -> forecast.micros();
            case LOGICAL -> forecast.logicalGigabytesPerSecond();
            case DOMAIN -> forecast.logicalDomainBytes() / (forecast.micros() * 1e3);
        };
        double ratio = series.unit() == Unit.MICROS ? predicted / figure : figure / predicted;
        return new Comparison(series, ranks, operation, figure, predicted, ratio, kind(forecast.bottleneck()));
    }

    private static String kind(String resource) {
        if (resource.startsWith("NVLINK")) {
            return "NVLink";
        }
        if (resource.startsWith("XGMI")) {
            return "xGMI link";
        }
        return resource.startsWith("nic") ? "NIC port" : resource;
    }
}
