package org.ep4j.gpu.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.PointerByReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.gpu.topology.Nvml.NvmlGpu;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Four GPUs of which the library refuses the second. */
@Tag("verify")
final class NvmlTest {
    private static final int FIRST_BUS = 0x10;

    @ParameterizedTest
    @ValueSource(ints = {4, 15})
    void aGpuThatIsLostOrNotPermittedIsLeftOutAndTheOthersAreRenumbered(int error) {
        Nvml nvml = new Nvml(new Refusing(error));

        assertThat(nvml.gpus()).extracting(NvmlGpu::index).containsExactly(0, 1, 2);
        assertThat(nvml.gpus())
                .extracting(gpu -> gpu.address().bus())
                .containsExactly(FIRST_BUS, FIRST_BUS + 2, FIRST_BUS + 3);
    }

    @Test
    void aMachineWithoutNvmlReportsWhy() {
        Topology machine = NvmlSource.refine(fourGpus(), new Nvml(new Refusing(15)));

        assertThat(machine.gpus()).extracting(Gpu::index).containsExactly(0, 1, 2);
        assertThat(machine.gpus())
                .extracting(gpu -> gpu.address().orElseThrow().bus())
                .containsExactly(FIRST_BUS, FIRST_BUS + 2, FIRST_BUS + 3);
        assertThat(machine.warnings()).last().asString().contains("GPU 1 of NVML", "15 (a GPU is lost)");
    }

    @Test
    void otherErrorsAreReportedWithTheirNumber() {
        assertThatThrownBy(() -> new Nvml(new Refusing(999)).gpus())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("GPU 1 cannot be read: 999");
    }

    private static Topology fourGpus() {
        Topology.Builder builder = Topology.builder("test");
        int host = builder.host("");
        for (int i = 0; i < 4; i++) {
            builder.add(Gpu.builder(host, i, GpuVendor.NVIDIA)
                    .address(Optional.of(new PciAddress(0, FIRST_BUS + i, 0, 0)))
                    .numa(0)
                    .build());
        }
        return builder.build();
    }

    /** Each initialisation opens descriptors, which stay open. */
    @Test
    void aLibraryIsInitialisedOnce() {
        List<String> calls = new ArrayList<>();
        Nvml.Functions library = Nvml.initialisedOnce((name, arguments) -> {
            calls.add(name);
            return calls.size() == 1 ? 9 : 0;
        });
        assertThat(library.call("nvmlInit_v2")).as("a failure, which may pass").isEqualTo(9);
        assertThat(library.call("nvmlInit_v2")).isZero();
        assertThat(library.call("nvmlInit_v2")).isZero();
        assertThat(library.call("nvmlDeviceGetCount_v2")).isZero();
        assertThat(library.call("nvmlDeviceGetCount_v2")).isZero();
        assertThat(calls)
                .containsExactly("nvmlInit_v2", "nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount_v2");
    }

    /**
     * A library with few functions.
     *
     * @param error what it says of the second GPU
     */
    private record Refusing(int error) implements Nvml.Functions {
        @Override
        public int call(String name, Object... arguments) {
            switch (name) {
                case "nvmlInit_v2" -> {
                    return 0;
                }
                case "nvmlDeviceGetCount_v2" -> {
                    ((IntByReference) arguments[0]).setValue(4);
                    return 0;
                }
                case "nvmlDeviceGetHandleByIndex_v2" -> {
                    int position = (Integer) arguments[0];
                    ((PointerByReference) arguments[1]).setValue(Pointer.createConstant(FIRST_BUS + position));
                    return position == 1 ? error : 0;
                }
                case "nvmlDeviceGetPciInfo_v3" -> {
                    String bus = Long.toHexString(Pointer.nativeValue((Pointer) arguments[0]));
                    ((Memory) arguments[1]).setString(36, "00000000:" + bus + ":00.0");
                    return 0;
                }
                default -> throw new UnsatisfiedLinkError(name);
            }
        }
    }
}
