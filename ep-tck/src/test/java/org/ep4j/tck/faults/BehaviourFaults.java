package org.ep4j.tck.faults;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.ep4j.BufferSize;
import org.ep4j.DispatchLayout;
import org.ep4j.DispatchRequest;
import org.ep4j.EpArgumentException;
import org.ep4j.EpTimeoutException;
import org.ep4j.ExpertPlacement;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;

/** Backends that behave wrongly. */
final class BehaviourFaults {
    private BehaviourFaults() {}

    /** No fault: the interception alone must not break any rule. */
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
                    ? BufferSize.of(((BufferSize) result).symmetricBytes() - 4096, ((BufferSize) result).localBytes())
                    : result;
        }
    }

    /** The most rows of high throughput are one too few. */
    static final class TooFewRows extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            Object result = proceed.with(arguments);
            return method.equals("EpBuffer.maxRows") ? Long.valueOf((long) result - 1) : result;
        }
    }

    /** The most rows of low latency are one too few. */
    static final class TooFewLowLatencyRows extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            Object result = proceed.with(arguments);
            return method.equals("EpBuffer.maxLowLatencyRows") ? Long.valueOf((long) result - 1) : result;
        }
    }

    /** A layout of 13 experts, of 3 ranks on one host, has one expert too many. */
    static final class WideLayout extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            Object result = proceed.with(arguments);
            if (!method.equals("EpBuffer.dispatchLayout")) {
                return result;
            }
            DispatchLayout right = (DispatchLayout) result;
            Tensor ids = (Tensor) arguments[0];
            IntBuffer experts =
                    ByteBuffer.wrap(read(ids)).order(ByteOrder.nativeOrder()).asIntBuffer();
            ExpertPlacement placement = ExpertPlacement.block(13, 3);
            DispatchLayout.Builder wide = DispatchLayout.builder((int) ids.dim(0), 3, 1, 14);
            for (int i = 0; i < ids.elements(); i++) {
                int expert = experts.get(i);
                // A masked rank stays left out.
                if (expert >= 0 && right.tokensToRank(placement.rankOf(expert)) > 0) {
                    wide.select(i / (int) ids.dim(1), expert, placement.rankOf(expert), 0);
                }
            }
            return wide.build();
        }
    }

    /** Buffers are never closed. */
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

    /** Wrong ids are accepted. */
    static final class AcceptsWrongIds extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            try {
                return proceed.with(arguments);
            } catch (EpArgumentException e) {
                if (method.equals("EpBuffer.dispatchLayout")) {
                    return DispatchLayout.builder(0, 0, 0, 0).build();
                }
                throw e;
            }
        }
    }

    /** Refusals have an undocumented type. */
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

    /** Masked ranks are not reported. */
    static final class ForgetsMask extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (method.equals("EpBuffer.maskedRanks")) {
                return Set.of();
            }
            return proceed.with(arguments);
        }
    }

    /** A timeout that names no peer. */
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

    /** Operations do not wait for the events of their inputs. */
    static final class IgnoresEvents extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (method.equals("EpBuffer.withOptions")) {
                OpOptions asked = (OpOptions) arguments[0];
                OpOptions changed = OpOptions.DEFAULT.onStream(asked.stream());
                changed = asked.isAsynchronous() ? changed.asynchronous() : changed;
                return proceed.with(asked.timeout().map(changed::timeout).orElse(changed));
            }
            return proceed.with(arguments);
        }
    }

    /** The caller's output is not used. */
    static final class IgnoresOut extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (arguments.length > 0 && arguments[0] instanceof DispatchRequest r) {
                DispatchRequest.Builder changed = r.topkIds()
                        .map(ids -> DispatchRequest.builder(r.x(), ids))
                        .orElseGet(
                                () -> DispatchRequest.builder(r.x(), r.routing().orElseThrow()))
                        .layout(r.layout())
                        .expertAlignment(r.expertAlignment());
                r.scales().ifPresent(changed::scales);
                r.topkWeights().ifPresent(changed::topkWeights);
                r.expertStats().ifPresent(changed::expertStats);
                r.waitStats().ifPresent(changed::waitStats);
                if (r.zeroPadding()) {
                    changed.zeroPadding();
                }
                if (r.worstCase()) {
                    changed.worstCase();
                }
                return proceed.with(changed.build());
            }
            return proceed.with(arguments);
        }
    }

    /** Returns a copy of the request without statistics and hook. */
    private static LowLatencyDispatchRequest.Builder copy(LowLatencyDispatchRequest request) {
        LowLatencyDispatchRequest.Builder copy = LowLatencyDispatchRequest.builder(request.x(), request.topkIds())
                .format(request.format());
        request.topkWeights().ifPresent(copy::topkWeights);
        request.out().ifPresent(copy::out);
        request.outScales().ifPresent(copy::outScales);
        request.outRowsPerExpert().ifPresent(copy::outRowsPerExpert);
        request.outSourceTokens().ifPresent(copy::outSourceTokens);
        request.outLayoutRanges().ifPresent(copy::outLayoutRanges);
        return copy;
    }

    /** Statistics are not kept. */
    static final class IgnoresStatistics extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (arguments.length > 0 && arguments[0] instanceof LowLatencyDispatchRequest r) {
                LowLatencyDispatchRequest.Builder changed = copy(r);
                if (r.receiveHook()) {
                    changed.receiveHook();
                }
                return proceed.with(changed.build());
            }
            return proceed.with(arguments);
        }
    }

    /** Sending waits for receiving. */
    static final class ReceivesAtOnce extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (arguments.length > 0 && arguments[0] instanceof LowLatencyDispatchRequest r) {
                LowLatencyDispatchRequest.Builder changed = copy(r);
                r.expertStats().ifPresent(changed::expertStats);
                r.waitStats().ifPresent(changed::waitStats);
                return proceed.with(changed.build());
            }
            return proceed.with(arguments);
        }
    }

    /** A dispatch on rank 1 never returns. */
    static final class Hangs extends FaultyGroup {
        @Override
        Object call(String method, Object[] arguments, Proceed proceed) throws Throwable {
            if (method.matches("EpBuffer\\.(d|lowLatencyD)ispatch") && rank() == 1) {
                Thread.sleep(Long.MAX_VALUE);
            }
            return proceed.with(arguments);
        }
    }
}
