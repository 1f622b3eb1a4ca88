package org.ep4j.tck.faults;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.BufferSize;
import org.ep4j.DispatchLayout;
import org.ep4j.DispatchRequest;
import org.ep4j.EpArgumentException;
import org.ep4j.EpTimeoutException;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.OpOptions;

/** Backends that behave wrongly. */
final class BehaviourFaults {
    private BehaviourFaults() {}

    /** No fault: the decorator itself must not be noticed. */
    static final class None extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            return proceed.with(arguments);
        }
    }

    /** A barrier that does not wait. */
    static final class LeakyBarrier extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            return method.equals("EpGroup.barrier") ? null : proceed.with(arguments);
        }
    }

    /** A size hint that is one page too small. */
    static final class WrongSizeHint extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            Object result = proceed.with(arguments);
            return method.equals("EpGroup.bufferSize")
                    ? new BufferSize(((BufferSize) result).symmetric() - 4096, ((BufferSize) result).local())
                    : result;
        }
    }

    /** Buffers are never given back. */
    static final class NeverCloses extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            return method.equals("EpBuffer.close") ? null : proceed.with(arguments);
        }
    }

    /** Results stay readable when they are stale. */
    static final class NeverStale extends FaultyGroup {
        private final Map<String, Object> seen = new HashMap<>();

        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (method.equals("DispatchResult.x") || method.equals("LowLatencyDispatchResult.x")) {
                try {
                    seen.put(method, proceed.with(arguments));
                } catch (org.ep4j.EpStateException e) {
                    return seen.getOrDefault(method, e);
                }
                return seen.get(method);
            }
            return proceed.with(arguments);
        }
    }

    /** Wrong ids are taken as nothing. */
    static final class AcceptsWrongIds extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            try {
                return proceed.with(arguments);
            } catch (EpArgumentException e) {
                if (method.equals("EpBuffer.layout")) {
                    return new DispatchLayout(new int[0], new int[0], new int[0], new boolean[0][]);
                }
                throw e;
            }
        }
    }

    /** Refusals are of a type that nobody expects. */
    static final class WrongException extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            try {
                return proceed.with(arguments);
            } catch (EpArgumentException e) {
                throw new IllegalArgumentException(e.getMessage());
            }
        }
    }

    /** Refusals explain nothing. */
    static final class MuteRefusals extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            try {
                return proceed.with(arguments);
            } catch (EpArgumentException e) {
                throw new EpArgumentException("argument", "wrong", "right", "");
            }
        }
    }

    /** The mask is taken note of, and not more. */
    static final class ForgetsMask extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (method.equals("EpBuffer.maskedRanks")) {
                return Set.of();
            }
            return proceed.with(arguments);
        }
    }

    /** A timeout that names nobody. */
    static final class AnonymousTimeout extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            try {
                return proceed.with(arguments);
            } catch (EpTimeoutException e) {
                throw new EpTimeoutException(
                        String.valueOf(e.getMessage()),
                        e.failure().toBuilder().peer(-1).build());
            }
        }
    }

    /** Events before an operation are not waited for. */
    static final class IgnoresEvents extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (arguments.length > 0 && arguments[0] instanceof DispatchRequest r) {
                OpOptions o = r.options();
                return proceed.with(new DispatchRequest(
                        r.x(),
                        r.scales(),
                        r.topkIds(),
                        r.topkWeights(),
                        r.cached(),
                        r.layout(),
                        r.expertAlignment(),
                        r.zeroPadding(),
                        r.exactCounts(),
                        r.out(),
                        new OpOptions(List.of(), o.async(), o.stream(), o.timeout())));
            }
            return proceed.with(arguments);
        }
    }

    /** The caller's output is not used. */
    static final class IgnoresOut extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (arguments.length > 0 && arguments[0] instanceof DispatchRequest r) {
                return proceed.with(new DispatchRequest(
                        r.x(),
                        r.scales(),
                        r.topkIds(),
                        r.topkWeights(),
                        r.cached(),
                        r.layout(),
                        r.expertAlignment(),
                        r.zeroPadding(),
                        r.exactCounts(),
                        Optional.empty(),
                        r.options()));
            }
            return proceed.with(arguments);
        }
    }

    /** Statistics are not kept. */
    static final class IgnoresStatistics extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (arguments.length > 0 && arguments[0] instanceof LowLatencyDispatchRequest r) {
                return proceed.with(new LowLatencyDispatchRequest(
                        r.x(),
                        r.topkIds(),
                        r.topkWeights(),
                        r.format(),
                        r.out(),
                        r.outScales(),
                        Optional.empty(),
                        Optional.empty(),
                        r.hook(),
                        r.options()));
            }
            return proceed.with(arguments);
        }
    }

    /** Sending waits for receiving. */
    static final class ReceivesAtOnce extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (arguments.length > 0 && arguments[0] instanceof LowLatencyDispatchRequest r) {
                return proceed.with(new LowLatencyDispatchRequest(
                        r.x(),
                        r.topkIds(),
                        r.topkWeights(),
                        r.format(),
                        r.out(),
                        r.outScales(),
                        r.cumulativeStats(),
                        r.waitStats(),
                        false,
                        r.options()));
            }
            return proceed.with(arguments);
        }
    }

    /** A dispatch on rank 1 never returns. */
    static final class Hangs extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (method.equals("EpBuffer.dispatch") && rank() == 1) {
                Thread.sleep(Long.MAX_VALUE);
            }
            return proceed.with(arguments);
        }
    }
}
