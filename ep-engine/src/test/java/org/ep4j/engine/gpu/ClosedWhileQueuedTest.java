package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A buffer is closed while the caller's own work keeps its operation from beginning for longer than closing waits. */
@Timeout(120)
final class ClosedWhileQueuedTest {
    private static final int TOKENS = 6;
    private static final EpShape SHAPE =
            EpShape.builder(64, 4, 2).maxTokens(TOKENS).build();

    /** No other test uses it: its pinned memory stays. */
    private static final int GPU = 6;

    private static final String WAITS = """
            struct Op { const u64* go; };
            EP_KERNEL(wait_for_host, EP_LANES) {
              while (load_acquire(op.go) == 0) pause();
            }
            """;

    @Test
    void whatItsKernelsUseStaysUntilTheProcessEnds() throws Exception {
        EmulatedGpu.require();
        long locks = lifeLocks();
        List<String> warnings = new CopyOnWriteArrayList<>();
        Handler handler = warningsInto(warnings);
        Logger logger = Logger.getLogger("org.ep4j");
        logger.addHandler(handler);
        EpGroup group = EpGroup.join(
                Bootstraps.inProcess(1).get(0),
                EpConfig.builder(Map.of(), Map.of())
                        .set("ep.device", EmulatedGpu.TYPE + ":" + GPU)
                        .build());
        GpuDevice device = (GpuDevice) group.device();
        PinnedMemory go = device.allocatePinned(8);
        try (GpuStream stream = device.createStream();
                GpuModule module = device.load("work of the caller", WAITS)) {
            try {
                EpBuffer buffer = group.createBuffer(SHAPE);
                new Launcher(device, module, List.of("wait_for_host"))
                        .launch(
                                "wait_for_host",
                                1,
                                device.facts().lanes(),
                                0,
                                stream.handle(),
                                new Arguments().set(Param.PEERS, go.deviceAddress()),
                                false);
                var x = device.allocate(2L * TOKENS * SHAPE.hidden());
                var ids = device.allocate(4L * TOKENS * SHAPE.topK());
                buffer.dispatch(DispatchRequest.of(
                                Tensor.of(x.memory(), DataType.BF16, TOKENS, SHAPE.hidden()),
                                Tensor.of(ids.memory(), DataType.INT32, TOKENS, SHAPE.topK()))
                        .worstCase()
                        .options(OpOptions.DEFAULT.asynchronous().onStream(stream.handle()))
                        .build());
                long bytes = ((GpuBuffer) buffer).size().symmetric();
                Thread closer = new Thread(buffer::close, "closer");
                closer.start();
                assertThat(ends(closer)).as("closing while other work runs").isTrue();
                assertThat(warnings)
                        .filteredOn(text -> text.contains("closed"))
                        .singleElement()
                        .asString()
                        .contains(
                                " is closed, but its kernels on " + device.id(),
                                "stays until the process ends",
                                bytes + " bytes of symmetric memory");
            } finally {
                release(go);
            }
            // Fails where a kernel uses memory that is freed.
            stream.synchronize();
        } finally {
            logger.removeHandler(handler);
            group.close();
        }
        assertThat(lifeLocks())
                .as("locks by which others know that this rank may still store")
                .isEqualTo(locks + 1);
    }

    private static long lifeLocks() throws IOException {
        long count = 0;
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors) {
                try {
                    if (Files.readSymbolicLink(descriptor).toString().contains(".life")) {
                        count++;
                    }
                } catch (NoSuchFileException e) {
                    // Closed meanwhile: the listing's own descriptor.
                }
            }
        }
        return count;
    }

    private static void release(PinnedMemory go) {
        go.memory().putLongRelease(0, 1);
    }

    private static boolean ends(Thread closer) {
        try {
            closer.join(60_000);
            return !closer.isAlive();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static Handler warningsInto(List<String> warnings) {
        return new Handler() {
            @Override
            public void publish(LogRecord record) {
                if (record.getLevel().intValue() >= Level.WARNING.intValue()) {
                    warnings.add(record.getMessage());
                }
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
    }
}
