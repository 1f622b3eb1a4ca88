package org.ep4j.cli.rank;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpPath;
import org.ep4j.EpPlan;
import org.ep4j.EpUnavailableException;
import org.ep4j.TensorArena;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.tck.TckSubject;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.HostMemory;

/**
 * One rank that measures counted writes. It joins to get the agreed plan, leaves the group, and opens the backend of the first
 * pair of ranks that write by posting, without an engine above it.
 */
public record WriteRank(WriteSpec spec, Consumer<RankMessage> parent) {
    private static final long PAGE = 4096;
    private static final Duration DEADLINE = Duration.ofMinutes(5);

    /** Measures and reports; the caller closes {@code bootstrap}. */
    public void run(Bootstrap bootstrap) {
        EpConfig.Builder builder = EpConfig.builder();
        if (!spec.backend().isEmpty()) {
            builder.set(EpKeys.BACKEND_REQUIRE.name(), spec.backend());
        }
        EpConfig config = builder.build();
        GroupPlan plan;
        Fingerprint fingerprint;
        List<Integer> all = IntStream.range(0, bootstrap.size()).boxed().toList();
        try (EpGroup group = EpGroup.join(bootstrap.subgroup("writes/plan", all), config)) {
            plan = GroupPlan.of(group.plan());
            fingerprint = RankMessage.Joined.fingerprintOf(group);
        }
        EpPath there = pair(plan, bootstrap.size());
        EpPath back = plan.path(there.to(), there.from());
        parent.accept(
                new RankMessage.Joined(plan.explain(), List.of(there.backend()), 0, 0, fingerprint, plan.notes()));
        List<Integer> ranks = plan.ranksUsing(there.backend());
        if (ranks.contains(bootstrap.rank())) {
            Bootstrap members = bootstrap.subgroup("writes/backend", ranks);
            HostDevice device = new HostDevice();
            Duration setup = EpKeys.SETUP_TIMEOUT.get(config);
            OpenContext context = OpenContext.builder(plan, plan.profiles(), members, device)
                    .ranks(ranks)
                    .config(config)
                    .timeout(setup)
                    .build();
            try (EpBackend backend = provider(there.backend()).open(context)) {
                measure(context, backend, there, back);
            }
        }
        bootstrap.barrier("writes/end", DEADLINE);
    }

    private static EpPath pair(EpPlan plan, int ranks) {
        for (int from = 0; from < ranks; from++) {
            for (int to = from + 1; to < ranks; to++) {
                EpPath there = plan.path(from, to);
                if (there.kind() == EpPath.Kind.HOST_POSTED
                        && there.backend().equals(plan.path(to, from).backend())) {
                    return there;
                }
            }
        }
        throw new EpUnavailableException("no two of these ranks write to each other by posting to a NIC; the plan is\n"
                + plan.explain() + "\nif the ranks are on one host, give --backend ibrc-multiqp");
    }

    private static EpBackendProvider provider(String id) {
        return TckSubject.backendProvider(id)
                .orElseThrow(() -> new EpUnavailableException("backend " + id + " of the plan is not installed here"));
    }

    private void measure(OpenContext context, EpBackend backend, EpPath there, EpPath back) {
        long bytes = 2 * ((spec.largest() + PAGE - 1) / PAGE * PAGE);
        try (TensorArena arena = context.device().arena();
                SymmetricBuffer buffer = backend.as(RegistersMemory.class)
                        .orElseThrow(() -> cannotPost(backend))
                        .register("writes", ExposedMemory.of(arena.memory(bytes)), context.timeout())) {
            HostPosted posted = buffer.as(HostPosted.class).orElseThrow(() -> cannotPost(backend));
            HostMemory memory = HostMemory.of(buffer.local());
            if (context.rank() == there.from()) {
                parent.accept(new RankMessage.Path(
                        there.backend(), there.from(), there.to(), there.nics(), back.nics(), there.lanes()));
                send(new WriteMeter(posted, memory, there.to()), context.bootstrap());
            } else if (context.rank() == there.to()) {
                receive(new WriteMeter(posted, memory, there.from()), context.bootstrap());
            }
            context.bootstrap().barrier("measured", DEADLINE);
            RankMessage.Sent.of(context.rank(), backend.traffic()).forEach(parent);
        }
    }

    private static EpUnavailableException cannotPost(EpBackend backend) {
        return new EpUnavailableException(
                backend.id() + " has no buffers that host threads can write by posting to a NIC");
    }

    /** Measures from this side. The receiver polls its counters only when the sender is done, unless the options ask for it. */
    private void send(WriteMeter meter, Bootstrap bootstrap) {
        int done = 0;
        for (int size : spec.sizes()) {
            // Before, so that what the other rank compares comes by writes that count.
            if (spec.warmup() > 0) {
                meter.stream(size, spec.warmUpWrites(size), spec.writesPerCounter());
                meter.ping(size, spec.warmUpPings(size));
            }
            meter.fill(size, size);
            List<Long> rates = new ArrayList<>();
            List<Long> p50 = new ArrayList<>();
            List<Long> p99 = new ArrayList<>();
            int writes = spec.writes(size);
            int pings = spec.pings(size);
            for (int repeat = 0; repeat < spec.repeats(); repeat++) {
                long nanos = meter.stream(size, writes, spec.writesPerCounter());
                rates.add(nanos);
                bootstrap.barrier(tag(size, repeat), DEADLINE);
                long[] times = meter.ping(size, pings);
                p50.add(times[times.length / 2]);
                p99.add(times[times.length * 99 / 100]);
            }
            // The other rank compares the data before more is written over it.
            bootstrap.barrier(tag(size, spec.repeats()), DEADLINE);
            done++;
            parent.accept(new RankMessage.Writes(size, writes, rates, pings, p50, p99));
            parent.accept(new RankMessage.Progress(done, spec.sizes().size(), size + " bytes"));
        }
    }

    private void receive(WriteMeter meter, Bootstrap bootstrap) {
        for (int size : spec.sizes()) {
            if (spec.warmup() > 0) {
                meter.awaitStream(spec.warmUpWrites(size), spec.writesPerCounter());
                meter.pong(size, spec.warmUpPings(size));
            }
            meter.fill(size, size);
            for (int repeat = 0; repeat < spec.repeats(); repeat++) {
                if (spec.receiverWaits()) {
                    meter.awaitStream(spec.writes(size), spec.writesPerCounter());
                    bootstrap.barrier(tag(size, repeat), DEADLINE);
                } else {
                    bootstrap.barrier(tag(size, repeat), DEADLINE);
                    meter.awaitStream(spec.writes(size), spec.writesPerCounter());
                }
                meter.pong(size, spec.pings(size));
            }
            parent.accept(new RankMessage.Validated(Integer.toString(size), size / 8, meter.difference(size, size)));
            bootstrap.barrier(tag(size, spec.repeats()), DEADLINE);
        }
    }

    private static String tag(int size, int repeat) {
        return "writes/" + size + "/" + repeat;
    }
}
