package org.ep4j.tck.rules;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
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
 * Inputs that hold nonsense until an event has come: an operation that reads them earlier delivers the nonsense, or
 * refuses ids that are out of range.
 */
final class LateInputs {
    /** Nothing is late. */
    static final LateInputs NONE = new LateInputs();

    private static final long DELAY_MILLIS = 30;

    private final List<EpEvent> events = new ArrayList<>();

    private LateInputs() {}

    /** Hides the contents of {@code tensors} until an event when {@code late}. */
    LateInputs(Arena arena, boolean late, Tensor... tensors) {
        if (!late) {
            return;
        }
        List<byte[]> contents = Arrays.stream(tensors).map(arena::readRaw).toList();
        for (Tensor tensor : tensors) {
            byte[] nonsense = new byte[Math.toIntExact(tensor.byteSize())];
            Arrays.fill(nonsense, (byte) 0x7e);
            put(arena, tensor, nonsense);
        }
        EpEvent event = new Awaited(() -> {
            for (int i = 0; i < tensors.length; i++) {
                put(arena, tensors[i], contents.get(i));
            }
        });
        events.add(event);
        // An operation that does not wait may end the scenario before.
        arena.keepUntil(event);
    }

    /** Comes some time after somebody has looked for it: what does not look finds nonsense, however late it is. */
    private static final class Awaited implements EpEvent {
        private final Runnable work;
        private Optional<EpEvent> begun = Optional.empty();

        Awaited(Runnable work) {
            this.work = work;
        }

        private synchronized EpEvent begun() {
            if (begun.isEmpty()) {
                begun = Optional.of(EpEvent.of(CompletableFuture.runAsync(
                        work, CompletableFuture.delayedExecutor(DELAY_MILLIS, TimeUnit.MILLISECONDS))));
            }
            return begun.get();
        }

        @Override
        public boolean isDone() {
            return begun().isDone();
        }

        @Override
        public void await(Duration timeout) {
            begun().await(timeout);
        }
    }

    private static void put(Arena arena, Tensor tensor, byte[] bytes) {
        ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length);
        arena.device().upload(direct.put(bytes).flip(), tensor.memory());
    }

    /** Options that wait for the inputs. */
    OpOptions options(OpOptions base) {
        OpOptions how = base;
        for (EpEvent event : events) {
            how = how.after(event);
        }
        return how;
    }
}
