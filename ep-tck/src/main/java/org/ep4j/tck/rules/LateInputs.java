package org.ep4j.tck.rules;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.ep4j.EpEvent;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.tck.oracle.Arena;

/**
 * Inputs that hold garbage until an event is done: an operation that reads them earlier delivers the garbage, or refuses ids that are out
 * of range.
 */
final class LateInputs {
    static final LateInputs NONE = new LateInputs();

    private static final long DELAY_MILLIS = 30;

    private final Optional<EpEvent> event;

    private LateInputs() {
        event = Optional.empty();
    }

    /** Replaces the contents of {@code tensors} by garbage until an event, if {@code late}. */
    LateInputs(Arena arena, boolean late, Tensor... tensors) {
        if (!late) {
            event = Optional.empty();
            return;
        }
        List<byte[]> contents = Arrays.stream(tensors).map(arena::readRaw).toList();
        for (Tensor tensor : tensors) {
            byte[] garbage = new byte[Math.toIntExact(tensor.byteSize())];
            Arrays.fill(garbage, (byte) 0x7e);
            put(arena, tensor, garbage);
        }
        EpEvent written = new EventOnDemand(() -> {
            for (int i = 0; i < tensors.length; i++) {
                put(arena, tensors[i], contents.get(i));
            }
        });
        event = Optional.of(written);
        // An operation that does not wait for the event may end the scenario before.
        arena.keepUntil(written);
    }

    /** Event that is done some time after its first use: an operation that does not use it finds garbage, however late it runs. */
    private static final class EventOnDemand implements EpEvent {
        private final Runnable work;
        private Optional<EpEvent> started = Optional.empty();

        EventOnDemand(Runnable work) {
            this.work = work;
        }

        private synchronized EpEvent start() {
            if (started.isEmpty()) {
                started = Optional.of(EpEvent.of(CompletableFuture.runAsync(
                        work, CompletableFuture.delayedExecutor(DELAY_MILLIS, TimeUnit.MILLISECONDS))));
            }
            return started.get();
        }

        @Override
        public boolean isDone() {
            return start().isDone();
        }

        @Override
        public void await(Duration timeout) {
            start().await(timeout);
        }
    }

    private static void put(Arena arena, Tensor tensor, byte[] bytes) {
        ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length);
        arena.device().upload(direct.put(bytes).flip(), tensor.memory());
    }

    /** Returns options that wait for the inputs. */
    OpOptions options(OpOptions base) {
        return event.map(base::after).orElse(base);
    }
}
