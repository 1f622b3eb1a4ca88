package org.ep4j.gpu.hip;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.ep4j.gpu.driver.GpuDriver;
import org.ep4j.transport.memory.NativeMethods;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Names, numbers and layouts are those of ROCm's own headers, where they are installed (Debian: libamdhip64-dev);
 * {@code EP_REQUIRE_HIP_HEADERS=1} turns their absence into a failure.
 */
@Tag("verify")
final class HipHeadersTest {
    private static final Path HEADERS = Path.of(System.getenv().getOrDefault("EP_HIP_HEADERS", "/usr/include"));

    @TempDir
    Path work;

    @BeforeAll
    static void headers() {
        boolean there = Files.exists(HEADERS.resolve("hip/hip_runtime_api.h"));
        String reason = "no hip/hip_runtime_api.h in " + HEADERS + ": install libamdhip64-dev";
        if (!there && "1".equals(System.getenv("EP_REQUIRE_HIP_HEADERS"))) {
            throw new AssertionError(reason);
        }
        if (!there) {
            System.out.println("skipped: " + reason);
        }
        assumeTrue(there, reason);
    }

    private static List<String> natives(Class<?> of) {
        return Arrays.stream(of.getDeclaredMethods())
                .filter(method -> Modifier.isNative(method.getModifiers()))
                .map(NativeMethods::symbol)
                .toList();
    }

    @Test
    void allCallsAreDeclared() throws IOException {
        String runtime = Files.readString(HEADERS.resolve("hip/hip_runtime_api.h"));
        String compiler = Files.readString(HEADERS.resolve("hip/hiprtc.h"));
        assertThat(natives(HipRuntime.class))
                .hasSizeGreaterThan(50)
                .allSatisfy(name -> assertThat(runtime).containsPattern("\\b" + name + "\\("));
        assertThat(natives(HipRtc.class))
                .hasSizeGreaterThan(7)
                .allSatisfy(name -> assertThat(compiler).containsPattern("\\b" + name + "\\("));
    }

    @Test
    void numbersAndLayoutsEqualThoseOfTheHeaders() throws IOException, InterruptedException {
        Path source = Files.writeString(work.resolve("layouts.cpp"), """
            #include <hip/hip_runtime_api.h>
            #include <stddef.h>
            #include <stdio.h>
            int main() {
              printf("%d %d %d %d %zu %zu %zu %d %d %d %d %d %d %d %d %d", (int)HIP_VERSION_MAJOR,
                hipDeviceAttributeMultiprocessorCount, hipDeviceAttributeMaxSharedMemoryPerBlock,
                hipDeviceAttributeWarpSize * 1000 + hipDeviceAttributeMemoryPoolsSupported,
                sizeof(hipDeviceProp_t), offsetof(hipDeviceProp_t, gcnArchName), sizeof(hipIpcMemHandle_t),
                hipErrorNotReady, hipErrorCapturedEvent, hipErrorPeerAccessAlreadyEnabled, hipErrorOutOfMemory,
                hipHostMallocPortable | hipHostMallocMapped | hipHostMallocCoherent, hipMemcpyDefault,
                hipStreamCaptureModeThreadLocal * 100 + hipStreamNonBlocking * 10 + hipEventDisableTiming,
                hipDeviceAttributeHdpMemFlushCntl, hipDeviceAttributeIsLargeBar);
            }
            """);
        Path program = work.resolve("layouts");
        run("g++", "-w", "-D__HIP_PLATFORM_AMD__", "-I" + HEADERS, source.toString(), "-o", program.toString());
        List<Integer> found = Stream.of(run(program.toString()).strip().split(" ", -1))
                .map(Integer::parseInt)
                .toList();
        HipRuntime.HipProperties layout =
                found.get(0) >= 6 ? HipRuntime.HipProperties.R0600 : HipRuntime.HipProperties.R0000;
        assertThat(found.subList(1, found.size()))
                .containsExactly(
                        HipRuntime.MULTIPROCESSOR_COUNT,
                        HipRuntime.MAX_SHARED_MEMORY_PER_BLOCK,
                        HipRuntime.WARP_SIZE * 1000 + HipRuntime.MEMORY_POOLS_SUPPORTED,
                        layout.bytes(),
                        layout.architectureAt(),
                        new GpuDriver.IpcHandle().size(),
                        600,
                        907,
                        704,
                        2,
                        0x40000003,
                        4,
                        112,
                        HipNicMemory.HDP_MEM_FLUSH_CONTROL,
                        HipNicMemory.IS_LARGE_BAR);
    }

    private static String run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }
}
