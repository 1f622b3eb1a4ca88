package org.ep4j.gpu.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import java.lang.ref.Reference;
import org.ep4j.gpu.driver.GpuDriver;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Layouts that {@code cuda.h} has. */
@Tag("verify")
final class CudaStructuresTest {
    @Test
    void handlesOfProcessesHave64Bytes() {
        byte[] bytes = new byte[64];
        bytes[63] = 7;
        var handle = new GpuDriver.IpcHandle(bytes);
        handle.write();
        assertThat(handle.size()).isEqualTo(64);
        assertThat(handle.getPointer().getByte(63)).isEqualTo((byte) 7);
    }

    /** As it does for a method that takes the structure by value; without it the driver's methods cannot be bound. */
    @Test
    void theLibraryOfNativeCallsCanMakeAHandle() {
        assertThat(Structure.newInstance(GpuDriver.IpcHandle.class).size()).isEqualTo(64);
    }

    @Test
    void propertiesOfAllocationsHave32Bytes() {
        var properties = new CudaVmm.AllocationProperties(5, true);
        properties.write();
        assertThat(properties.size()).isEqualTo(32);
        assertThat(properties.getPointer().getInt(0)).as("type: pinned").isEqualTo(1);
        assertThat(properties.getPointer().getInt(4)).as("fabric handles").isEqualTo(8);
        assertThat(properties.getPointer().getInt(8)).as("on a device").isEqualTo(1);
        assertThat(properties.getPointer().getInt(12)).as("which").isEqualTo(5);
        assertThat(properties.getPointer().getLong(16)).isZero();
        assertThat(properties.getPointer().getByte(24)).as("not compressed").isZero();
        assertThat(properties.getPointer().getByte(25)).as("for NICs").isEqualTo((byte) 1);
    }

    @Test
    void descriptionsOfAccessHave12Bytes() {
        var description = new CudaVmm.AccessDescription(3);
        description.write();
        assertThat(description.size()).isEqualTo(12);
        assertThat(description.getPointer().getIntArray(0, 3)).containsExactly(1, 3, 3);
    }

    @Test
    void launchConfigurationIsWhatTheDriverReads() {
        assertThat(CudaDevice.LaunchConfig.BYTES).as("sizeof(CUlaunchConfig)").isEqualTo(56);
        assertThat(CudaDevice.LaunchConfig.ATTRIBUTE_BYTES)
                .as("sizeof(CUlaunchAttribute)")
                .isEqualTo(72);
        CudaDevice.LaunchConfig launch = new CudaDevice.LaunchConfig();
        try {
            Pointer config = new Pointer(launch.of(5, 96, 1000, 0x123456789aL));
            assertThat(config.getIntArray(0, 7)).containsExactly(5, 1, 1, 96, 1, 1, 1000);
            assertThat(config.getLong(32)).as("stream").isEqualTo(0x123456789aL);
            assertThat(config.getInt(48)).as("attributes").isEqualTo(1);
            assertThat(config.getPointer(40).getInt(0)).as("which").isEqualTo(6);
            assertThat(config.getPointer(40).getInt(8)).as("allowed").isEqualTo(1);
        } finally {
            Reference.reachabilityFence(launch);
        }
    }
}
