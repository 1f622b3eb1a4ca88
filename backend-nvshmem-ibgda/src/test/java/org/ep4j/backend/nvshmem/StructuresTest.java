package org.ep4j.backend.nvshmem;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import org.ep4j.transport.memory.NativeRecord;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Words and sizes as NVSHMEM's headers give them. */
@Tag("verify")
final class StructuresTest {
    @Test
    void anIdIsOfItsFirstLayout() {
        NativeRecord id = Structures.id();
        assertThat(id.size()).isEqualTo(128);
        assertThat(id.buffer().getInt(0)).isEqualTo(65_664);
    }

    @Test
    void attributesUpToThreeFourHaveNoDevice() {
        ByteBuffer attributes =
                Structures.attributes(new NvshmemVersion(3, 4, 5)).buffer();
        assertThat(attributes.capacity()).isEqualTo(144);
        assertThat(attributes.getInt(0)).isEqualTo(65_680);
        assertThat(attributes.getInt(16)).isEqualTo(65_664);
        assertThat(attributes.getInt(24)).isEqualTo(65_560);
        assertThat(attributes.getInt(48)).isZero();
    }

    @Test
    void attributesFromThreeFiveOnLeaveTheDeviceToTheContext() {
        ByteBuffer attributes =
                Structures.attributes(new NvshmemVersion(3, 5, 0)).buffer();
        assertThat(attributes.getInt(0)).isEqualTo(131_216);
        assertThat(attributes.getInt(16)).isEqualTo(131_200);
        assertThat(attributes.getInt(24)).isEqualTo(65_560);
        assertThat(attributes.getInt(48)).isEqualTo(-1);
    }
}
