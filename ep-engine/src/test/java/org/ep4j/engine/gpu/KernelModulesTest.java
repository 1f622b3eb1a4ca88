package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.EpException;
import org.ep4j.EpPath;
import org.ep4j.EpShape;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.gpu.cuda.DriverCalls;
import org.ep4j.gpu.driver.EngineGpu;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class KernelModulesTest {
    @BeforeAll
    static void requireGpu() {
        EmulatedGpu.require();
    }

    private static String kernel(String name) {
        return "struct Op { int nothing; };\nEP_KERNEL(" + name + ", 64) {}\n";
    }

    @Test
    void kernelsAreFoundInTheModuleOfTheirSource() {
        List<String> sources =
                IntStream.range(0, 9).mapToObj(i -> kernel("kernel_" + i)).toList();
        try (EngineGpu device = EmulatedGpu.open(0);
                KernelModules modules = KernelModules.load(sources, source -> device.load("some kernels", source))) {
            assertThat(modules.all()).doesNotHaveDuplicates();
            assertThat(modules.byKernel()).hasSize(9);
            modules.byKernel()
                    .forEach(
                            (name, module) -> assertThat(module.kernel(name, 0)).isNotZero());
        }
    }

    @Test
    void modulesAreUnloadedIfOneSourceDoesNotCompile() {
        List<String> sources = List.of(kernel("one"), "no source", kernel("other"));
        try (EngineGpu device = EmulatedGpu.open(0)) {
            List<String> calls = DriverCalls.during(() -> assertThatThrownBy(
                            () -> KernelModules.load(sources, source -> device.load("some kernels", source)))
                    .isInstanceOf(EpException.class)
                    .hasMessageContaining("cannot compile some kernels"));
            assertThat(Collections.frequency(calls, "cuModuleUnload")).isEqualTo(2);
        }
    }

    @ParameterizedTest
    @CsvSource({"5, 3", "0, 3", "5, 0"})
    void sourcesOfABufferHaveEachKernelOnce(int tokens, int lowLatencyTokens) {
        EpShape shape = EpShape.builder(128, 7, 3)
                .maxTokens(tokens)
                .maxLowLatencyTokens(lowLatencyTokens)
                .build();
        Set<EpPath.Kind> posted = Set.of(EpPath.Kind.HOST_POSTED);
        Stream.of(Optional.<WindowLayout>empty(), Optional.of(WindowLayout.of(shape, 3, 2, tokens > 0)))
                .forEach(window -> assertThat(KernelSource.units(shape, 3, 65_536, window, posted))
                        .flatMap(KernelSource::kernels)
                        .isNotEmpty()
                        .isEqualTo(KernelSource.kernels(KernelSource.of(shape, 3, 65_536, window, posted))));
    }
}
