package org.ep4j.cli.soak;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpResourceException;
import org.ep4j.EpTimeoutException;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.crew.RankDevice;

/** One rank: does what it is ordered to, as a program would that recovers from failures. Used by one thread. */
final class RankWorker implements AutoCloseable {
    /** Engine's number of the operation before the first one of a buffer; read where a buffer is made. */
    private static final String FIRST_OPERATION = "org.ep4j.engine.first-operation";

    private static final int RECOVERIES = 3;

    /** Rounds after which a process has all that it keeps. */
    private static final int WARM_UP = 2;

    private static final int POLL_MILLIS = 20;

    /** Without an end of threads and connections for so long, those that are left stay. */
    private static final Duration QUIET = Duration.ofMillis(300);

    private final Consumer<Answer> parent;
    private Optional<EpGroup> group = Optional.empty();
    private Optional<EpBuffer> buffer = Optional.empty();
    private Order.Join joined = new Order.Join(0, 1, 0, Map.of(), new ShapeSpec(128, 1, 1, 1, 1, false), 0);
    private ShapeSpec shape = joined.shape();
    private Duration timeout = Duration.ofSeconds(1);
    private Optional<Resources> baseline = Optional.empty();
    private final Map<String, Integer> growths = new HashMap<>();
    private final Set<String> devices = new HashSet<>();
    private int closed;

    RankWorker(Consumer<Answer> parent) {
        this.parent = parent;
    }

    /** Does one thing. */
    void take(Order order) {
        try {
            if (order instanceof Order.Join join) {
                join(join);
            } else if (order instanceof Order.Run run) {
                run(run);
            } else if (order instanceof Order.Recreate recreate) {
                recreate(recreate);
            } else if (order instanceof Order.Close close) {
                close(close);
            }
        } catch (RuntimeException | Error e) {
            parent.accept(new Answer.Failed(0, order.getClass().getSimpleName(), stack(e)));
        }
    }

    private void join(Order.Join order) {
        joined = order;
        EpConfig.Builder builder = EpConfig.builder();
        order.settings().forEach(builder::set);
        String device = builder.build().get(EpKeys.DEVICE);
        String own = RankDevice.of(device, order.rank());
        devices.add(own);
        EpConfig config = builder.set(EpKeys.DEVICE, own).build();
        timeout = config.get(EpKeys.TIMEOUT);
        try {
            group = Optional.of(EpGroup.join(
                    Bootstraps.tcp(order.rank(), order.ranks(), "127.0.0.1", order.port(), config), config));
        } catch (EpException e) {
            refuse(e);
            return;
        }
        create(order.shape());
    }

    private void recreate(Order.Recreate order) {
        Pause.millis(order.delayMillis());
        buffer.ifPresent(EpBuffer::close);
        buffer = Optional.empty();
        create(order.shape());
    }

    private void create(ShapeSpec sizes) {
        shape = sizes;
        EpGroup members = group.orElseThrow();
        System.setProperty(FIRST_OPERATION, Long.toString(joined.firstOperation()));
        try {
            buffer = Optional.of(members.createBuffer(sizes.shape(members.size())));
            parent.accept(new Answer.Ready(members.plan().backends()));
        } catch (EpResourceException | EpTimeoutException | EpPeerLostException e) {
            refuse(e);
        }
    }

    private void refuse(EpException e) {
        parent.accept(new Answer.Refused(e.getClass().getSimpleName(), String.valueOf(e.getMessage())));
    }

    private void run(Order.Run order) {
        long elements = 0;
        for (int i = 0; i < order.exchanges(); i++) {
            ExchangePlan plan = ExchangePlan.draw(order, i, shape, joined.ranks());
            Pause.millis(plan.slowMillis().get(joined.rank()));
            // Its turn comes after two operations at most, and then it waits for its own time.
            Duration patience = timeout.multipliedBy(3);
            try (Exchange exchange = Exchange.of(
                    buffer.orElseThrow(),
                    plan,
                    patience,
                    (what, message) -> parent.accept(new Answer.Wrong(order.id(), what, message)))) {
                if (!ran(order, exchange)) {
                    return;
                }
                elements += exchange.elements();
            }
        }
        parent.accept(new Answer.Ran(order.id(), order.exchanges(), elements));
    }

    /** True when the exchange has ended well; otherwise all is answered. */
    private boolean ran(Order.Run order, Exchange exchange) {
        try {
            exchange.run();
            return true;
        } catch (EpPeerLostException | EpTimeoutException e) {
            if (isOut(e)) {
                parent.accept(new Answer.Out(order.id(), String.valueOf(e.getMessage())));
            } else {
                parent.accept(new Answer.Broken(
                        order.id(),
                        exchange.operation(),
                        e.getClass().getSimpleName(),
                        String.valueOf(e.getMessage())));
                recover(order);
            }
        } catch (RuntimeException | Error e) {
            parent.accept(new Answer.Failed(order.id(), exchange.operation(), stack(e)));
        }
        return false;
    }

    private void recover(Order.Run order) {
        long start = System.nanoTime();
        EpException last = new EpException("recover was not called");
        for (int attempt = 0; attempt < RECOVERIES; attempt++) {
            try {
                var recovery = buffer.orElseThrow().recover(timeout);
                parent.accept(
                        new Answer.Recovered(order.id(), recovery.masked(), (System.nanoTime() - start) / 1_000_000));
                return;
            } catch (EpPeerLostException | EpTimeoutException e) {
                if (isOut(e)) {
                    parent.accept(new Answer.Out(order.id(), String.valueOf(e.getMessage())));
                    return;
                }
                last = e;
            } catch (RuntimeException | Error e) {
                parent.accept(new Answer.Failed(order.id(), "recover", stack(e)));
                return;
            }
        }
        parent.accept(
                new Answer.GaveUp(order.id(), last.getClass().getSimpleName(), String.valueOf(last.getMessage())));
    }

    private boolean isOut(EpException e) {
        return e instanceof EpPeerLostException lost && lost.peer() == joined.rank();
    }

    private void close(Order.Close order) {
        Pause.millis(order.delayMillis());
        close();
        closed++;
        long end = System.nanoTime() + Duration.ofMillis(order.settleMillis()).toNanos();
        if (closed <= WARM_UP) {
            Resources now = settled(end);
            baseline = Optional.of(baseline.map(now::orMore).orElse(now));
            parent.accept(new Answer.Closed(List.of(), Optional.of(now.count())));
            return;
        }
        Resources before = baseline.orElseThrow();
        Resources now = Resources.now();
        while (!now.beyond(before).isEmpty() && System.nanoTime() - end < 0) {
            Pause.millis(POLL_MILLIS);
            now = Resources.now();
        }
        // Libraries and drivers open some things once for a device: when they are first needed, or when memory that a
        // lost rank may
        // still write keeps the context of a GPU. A leak comes again.
        List<String> leaks = new ArrayList<>();
        for (Resources.Growth growth : now.beyond(before)) {
            if (growths.merge(growth.kind(), 1, Integer::sum) > devices.size()) {
                leaks.add(growth.toString());
            }
        }
        parent.accept(new Answer.Closed(leaks, Optional.of(now.count())));
        baseline = Optional.of(before.orMore(now));
    }

    /** What is there when nothing has ended for a while. */
    private static Resources settled(long end) {
        Resources now = Resources.now();
        long changed = System.nanoTime();
        while (System.nanoTime() - end < 0 && System.nanoTime() - changed < QUIET.toNanos()) {
            Pause.millis(POLL_MILLIS);
            Resources next = Resources.now();
            if (!now.beyond(next).isEmpty()) {
                changed = System.nanoTime();
            }
            now = next;
        }
        return now;
    }

    /** Closes buffer and group. */
    @Override
    public void close() {
        buffer.ifPresent(EpBuffer::close);
        buffer = Optional.empty();
        group.ifPresent(EpGroup::close);
        group = Optional.empty();
    }

    private static String stack(Throwable failure) {
        StringWriter text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text, true));
        return text.toString();
    }
}
