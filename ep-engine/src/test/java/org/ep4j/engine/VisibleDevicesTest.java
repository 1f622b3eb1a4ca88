package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Four GPUs of each vendor, and what the environment leaves of them. */
@Tag("verify")
final class VisibleDevicesTest {
    private final Map<String, String> environment = new HashMap<>();
    private final Map<String, String> files = new HashMap<>();

    @Test
    void withoutVariablesAllAreVisibleInTheirOrder() {
        assertThat(cuda(0x2335)).containsExactly(0, 1, 2, 3);
        assertThat(hip()).containsExactly(4, 5, 6, 7);
    }

    @Test
    void aListOfNumbersGivesTheOrder() {
        environment.put("CUDA_VISIBLE_DEVICES", "3, 1");

        assertThat(cuda(0x2335)).containsExactly(3, 1);
    }

    @Test
    void entriesFromTheFirstWrongOneOnDoNotCount() {
        environment.put("CUDA_VISIBLE_DEVICES", "2,9,0");
        assertThat(cuda(0x2335)).containsExactly(2);

        environment.put("CUDA_VISIBLE_DEVICES", "0,-1,1");
        assertThat(cuda(0x2335)).containsExactly(0);

        environment.put("CUDA_VISIBLE_DEVICES", "");
        assertThat(cuda(0x2335)).isEmpty();
    }

    @Test
    void aDeviceNamedTwiceMakesTheListVoid() {
        environment.put("CUDA_VISIBLE_DEVICES", "0,1,0");

        assertThat(cuda(0x2335)).isEmpty();
    }

    @Test
    void aUuidIsKnownByItsBeginningWhenThatIsUnique() {
        uuid(1, "GPU-11aa22bb-0000-0000-0000-000000000001");
        uuid(2, "GPU-11aa33cc-0000-0000-0000-000000000002");

        environment.put("CUDA_VISIBLE_DEVICES", "GPU-11AA33,1");
        assertThat(cuda(0x2335)).containsExactly(2, 1);

        environment.put("CUDA_VISIBLE_DEVICES", "GPU-11aa");
        assertThat(cuda(0x2335)).isEmpty();

        environment.put("CUDA_VISIBLE_DEVICES", "MIG-GPU-11aa22bb-0000-0000-0000-000000000001/1/0");
        assertThat(cuda(0x2335)).isEmpty();
    }

    @Test
    void gpusOfSeveralKindsHaveAKnownOrderOnlyByBusId() {
        assertThat(cuda(0x2331)).isEmpty();

        environment.put("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
        assertThat(cuda(0x2331)).containsExactly(0, 1, 2, 3);
    }

    @Test
    void hipChoosesAmongThoseThatTheRuntimeBelowLeaves() {
        environment.put("ROCR_VISIBLE_DEVICES", "3,2,1");
        environment.put("HIP_VISIBLE_DEVICES", "2,0");

        assertThat(hip()).containsExactly(5, 7);
    }

    @Test
    void hipReadsTheVariableOfCudaWhenItsOwnIsNotThere() {
        environment.put("CUDA_VISIBLE_DEVICES", "1");

        assertThat(hip()).containsExactly(5);
    }

    @Test
    void anEmptyVariableIsNoneToHip() {
        environment.put("HIP_VISIBLE_DEVICES", "");
        assertThat(hip()).isNotEmpty();

        environment.put("CUDA_VISIBLE_DEVICES", "1");
        assertThat(hip()).containsExactly(5);
    }

    @Test
    void theRuntimeBelowHipKnowsGpusByTheirUniqueId() {
        files.put("/sys/bus/pci/devices/0000:17:00.0/unique_id", "e3a95edd9f7f7b31");
        environment.put("ROCR_VISIBLE_DEVICES", "GPU-e3a95edd9f7f7b31");

        assertThat(hip()).containsExactly(7);
    }

    private void uuid(int gpu, String uuid) {
        files.put(
                "/proc/driver/nvidia/gpus/0000:1" + gpu + ":00.0/information",
                "Model: \t\t H200\nGPU UUID: \t " + uuid);
    }

    private List<Integer> cuda(int lastKind) {
        return indices(visible(lastKind).cuda());
    }

    private List<Integer> hip() {
        return indices(visible(0x2335).hip());
    }

    private static List<Integer> indices(List<Gpu> gpus) {
        return gpus.stream().map(Gpu::index).toList();
    }

    private VisibleDevices visible(int lastKind) {
        Topology.Builder builder = Topology.builder("test");
        int host = builder.host("");
        for (int i = 0; i < 8; i++) {
            GpuVendor vendor = i < 4 ? GpuVendor.NVIDIA : GpuVendor.AMD;
            builder.add(Gpu.builder(host, i, vendor)
                    .address(PciAddress.parse("0000:1" + i + ":00.0"))
                    .id(new PciId(0x10de, i == 3 ? lastKind : 0x2335, 0x10de, i, 0x030200))
                    .numa(0)
                    .build());
        }
        return new VisibleDevices(builder.build(), new RecordedFiles(files), environment);
    }
}
