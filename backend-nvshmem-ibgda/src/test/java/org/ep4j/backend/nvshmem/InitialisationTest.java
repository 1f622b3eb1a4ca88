package org.ep4j.backend.nvshmem;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.ep4j.Device;
import org.ep4j.EpException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Failures before NVSHMEM runs, each with its code, with a library whose answers the test chooses. */
@Tag("verify")
final class InitialisationTest {
    private static final Duration LONG = Guard.minute();
    private static final Map<String, String> VARIABLES = Map.of("NVSHMEM_REMOTE_TRANSPORT", "none");

    @TempDir
    Path home;

    private final NvshmemProcess process = new NvshmemProcess();

    /** An initialisation has begun, with the lock. */
    private final CountDownLatch begun = new CountDownLatch(1);

    private EngineGpu gpu(int ordinal) {
        return (EngineGpu) Proxy.newProxyInstance(
                EngineGpu.class.getClassLoader(),
                new Class<?>[] {EngineGpu.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "inside" -> ((Supplier<?>) arguments[0]).get();
                    case "id" -> Device.cuda(ordinal);
                    case "keepContext" -> {
                        begun.countDown();
                        yield "";
                    }
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }

    private NvshmemProcess.World start(Map<String, Integer> answers, String version, Duration deadline)
            throws Exception {
        process.load(FakeNvshmem.build(home, version, version, answers));
        byte[] id = process.newId(gpu(0), VARIABLES);
        NvshmemProcess.World world = new NvshmemProcess.World("world", 1, 2);
        process.start(gpu(0), VARIABLES, id, world, deadline);
        return world;
    }

    @ParameterizedTest
    @CsvSource({"3.4.5, 2", "3.5.0, 2", "3.6.5, 3"})
    void bothLayoutsOfTheArgumentsAreGivenAndTheStatusIsAsked(String version, int status) throws Exception {
        NvshmemProcess.World world = start(Map.of("STATUS", status), version, LONG);
        assertThat(process.world()).contains(world);
        assertThat(process.heap().bytes()).isZero();
        assertThat(process.mapped(64, 0)).isEqualTo(64);
        assertThat(process.mapped(64, 1)).isZero();
        assertThat(process.grow(gpu(0), 100, LONG)).isEqualTo(4096);
        assertThat(process.grow(gpu(0), 2000, LONG)).isZero();
        process.attach(gpu(0), 5);
        assertThatThrownBy(() -> process.attach(gpu(0), 1))
                .isInstanceOf(EpException.class)
                .hasMessageContainingAll("nvshmemx_cumodule_init failed with 3", version);
    }

    @Test
    void theStatusCountsAndNotTheResultAlone() {
        // Without a GPU, NVSHMEM returns 0 and stays at 1.
        assertThatThrownBy(() -> start(Map.of("STATUS", 1), "3.4.5", LONG))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll(NvshmemProbe.INITIALISED, "PE 1 of 2", "status 1", "NVSHMEM_DEBUG");
        assertThat(process.world()).isEmpty();
    }

    @Test
    void aResultIsAFailure() {
        assertThatThrownBy(() -> start(Map.of("RESULT", 7), "3.4.5", LONG))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll(NvshmemProbe.INITIALISED, "result 7");
    }

    @Test
    void anIdThatCannotBeMadeNamesTheNetworkInterface() {
        assertThatThrownBy(() -> start(Map.of("ID_RESULT", 5), "3.4.5", LONG))
                .isInstanceOf(EpException.class)
                .hasMessageContainingAll(NvshmemProbe.INITIALISED, "5", "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME");
    }

    @Test
    void anInitialisationThatHangsEndsAtTheDeadline() throws InterruptedException {
        assertThatThrownBy(() -> start(Map.of("HANG", 1), "3.4.5", Duration.ofMillis(300)))
                .isInstanceOf(EpTimeoutException.class)
                .hasMessageContainingAll(NvshmemProbe.INITIALISED, "300 ms");
        // It has the lock still, or will have it: the deadline does not wait for that.
        assertThat(begun.await(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThatThrownBy(process::world)
                .isInstanceOf(EpStateException.class)
                .hasMessageContainingAll("the initialisation of NVSHMEM", "hangs", "start all processes again");
    }

    @ParameterizedTest
    @CsvSource({"3.4.5, 3.5.0", "4.0.0, 4.0.0", "3.2.5, 3.2.5"})
    void otherVersionsAreRefused(String headers, String library) throws Exception {
        NvshmemInstallation found = FakeNvshmem.build(home, headers, library, Map.of());
        assertThatThrownBy(() -> process.load(found))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll(NvshmemProbe.LIBRARY, headers, library, "ep.nvshmem.home");
    }

    @Test
    void aLibraryWithoutTheFunctionsIsRefused() throws Exception {
        NvshmemInstallation found = FakeNvshmem.empty(home);
        assertThatThrownBy(() -> process.load(found))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll(NvshmemProbe.LIBRARY, "cannot be loaded");
    }

    @Test
    void aProcessHasOneGpu() throws Exception {
        start(Map.of(), "3.4.5", LONG);
        process.checkDevice(Device.cuda(0));
        assertThatThrownBy(() -> process.checkDevice(Device.cuda(1)))
                .isInstanceOf(EpStateException.class)
                .hasMessageContainingAll(NvshmemProbe.PROCESS, "PE 1 of 2 on cuda:0", "cuda:1", "one process");
    }
}
