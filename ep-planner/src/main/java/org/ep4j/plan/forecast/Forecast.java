package org.ep4j.plan.forecast;

import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import org.ep4j.ExpertPlacement;
import org.ep4j.plan.GroupPlan;

/**
 * The time that one operation would take on a plan, by a linear model: the latency, plus the time that
 * the slowest of the resources shared by ranks (GPU links, NIC ports, PCIe, host memory) takes for its bytes. Experts
 * are equally popular and all ranks start together. What is left out: the work of the GPU itself, the rate of messages
 * of NICs and of host threads, congestion, and the tail of random routing.
 *
 * @param micros time of the operation in microseconds
 * @param latencyMicros the part that does not depend on bytes
 * @param logicalBytes bytes of a rank's messages, on average, those to itself among them
 * @param logicalDomainBytes bytes of a rank's tokens counted once for each host or domain, its own among them; what
 *     measurements of RDMA bandwidth count in high-throughput mode
 * @param wireBytes bytes that leave a rank, on average, forwarding among them
 * @param loads everything that carries bytes, the slowest first
 */
public record Forecast(
        double micros,
        double latencyMicros,
        double logicalBytes,
        double logicalDomainBytes,
        double wireBytes,
        List<ResourceLoad> loads) {
    /** The operations of an exchange: dispatch and combine. */
    public enum Operation {
        /** Tokens to their experts. */
        DISPATCH,
        /** Rows back. */
        COMBINE
    }

    /**
     * The load of an operation on one resource that ranks share.
     *
     * @param resource what it is: {@code mlx5_0:1 of host-0, out}
     * @param bytes bytes that go through it
     * @param gigabytesPerSecond what it carries, after losses
     */
    public record ResourceLoad(String resource, double bytes, double gigabytesPerSecond) {
        /** Time for which the resource is busy, in microseconds. */
        public double micros() {
            return bytes / (gigabytesPerSecond * 1e3);
        }
    }

    public Forecast {
        loads = List.copyOf(loads);
    }

    /** Name of what limits the operation, for people. */
    public String bottleneck() {
        return loads.isEmpty() || loads.get(0).micros() < latencyMicros
                ? "latency"
                : loads.get(0).resource();
    }

    /** Logical bytes divided by the time, in GB/s. */
    public double logicalGigabytesPerSecond() {
        return logicalBytes / (micros * 1e3);
    }

    /** Wire bytes divided by the time, in GB/s. */
    public double wireGigabytesPerSecond() {
        return wireBytes / (micros * 1e3);
    }

    /**
     * Computes the forecasts of both operations, which share most of the work.
     *
     * @param placement experts of the plan's ranks
     */
    public static Map<Operation, Forecast> ofBoth(GroupPlan plan, Exchange exchange, ExpertPlacement placement) {
        Forecaster forecaster = new Forecaster(plan, exchange, placement);
        Map<Operation, Forecast> both = new EnumMap<>(Operation.class);
        EnumSet.allOf(Operation.class).forEach(operation -> both.put(operation, forecaster.forecast(operation)));
        return both;
    }
}
