package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
class DeviceMemoryTest {
    private static final DeviceMemory MEMORY = DeviceMemory.of(1000, 100, Device.cuda(1));

    @Test
    void aSliceIsAPartOfTheRangeOnTheSameDevice() {
        assertThat(MEMORY.slice(10, 20)).isEqualTo(DeviceMemory.of(1010, 20, Device.cuda(1)));
        assertThat(MEMORY.slice(0, 100)).isEqualTo(MEMORY);
        assertThat(MEMORY.slice(100, 0)).isEqualTo(DeviceMemory.of(1100, 0, Device.cuda(1)));
        assertThat(DeviceMemory.of(0, 0, Device.HOST).slice(0, 0).byteSize()).isZero();
    }

    @Test
    void theOwnerIsKeptBySlicesAndPlaysNoPartInEquality() {
        Object owner = new Object() {
            @Override
            public boolean equals(Object other) {
                throw new AssertionError("the owner was compared");
            }

            @Override
            public int hashCode() {
                throw new AssertionError("the owner was hashed");
            }
        };
        DeviceMemory kept = MEMORY.keeping(owner);
        assertThat(kept).isEqualTo(MEMORY).hasSameHashCodeAs(MEMORY);
        assertThat(kept.owner().orElseThrow()).isSameAs(owner);
        assertThat(kept.slice(10, 20).owner().orElseThrow()).isSameAs(owner);
        assertThat(MEMORY.owner()).isEmpty();
        assertThat(MEMORY).isNotEqualTo(DeviceMemory.of(1000, 100, Device.hip(1)));
    }

    @Test
    void aRangeKeepsOneOwner() {
        DeviceMemory kept = MEMORY.keeping("first");
        for (DeviceMemory range : new DeviceMemory[] {kept, kept.slice(10, 20)}) {
            assertThatThrownBy(() -> range.keeping("second"))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("memory is a range that already keeps an owner");
        }
    }

    @Property
    void aSliceIsInsideOrRefused(@ForAll long offset, @ForAll long bytes) {
        boolean inside = offset >= 0 && offset <= 100 && bytes >= 0 && bytes <= 100 - offset;
        if (inside) {
            assertThat(MEMORY.slice(offset, bytes).byteSize()).isEqualTo(bytes);
        } else {
            assertThatThrownBy(() -> MEMORY.slice(offset, bytes))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("inside [0, 100)");
        }
    }

    @Test
    void aRangeIsNeitherNegativeNorAtNullNorPastTheEndOfTheAddressSpace() {
        assertThatThrownBy(() -> DeviceMemory.of(1, -1, Device.HOST))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("byteSize is -1");
        assertThatThrownBy(() -> DeviceMemory.of(0, 1, Device.HOST))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("address is 0");
        assertThatThrownBy(() -> DeviceMemory.of(-16, 17, Device.HOST))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("so small that the range from 0xfffffffffffffff0 ends within 64-bit addresses");
        assertThat(DeviceMemory.of(-16, 16, Device.HOST).byteSize()).isEqualTo(16);
    }

    @ParameterizedTest
    @CsvSource({"host,host,0", "HOST,host,0", "cuda:3,cuda,3", "Cuda:12,cuda,12", "hip:0,hip,0", "my-npu:1,my-npu,1"})
    void aDeviceIsReadFromTypeAndOrdinal(String text, String type, int ordinal) {
        assertThat(Device.parse(text)).isEqualTo(new Device(type, ordinal));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                ":",
                ":1",
                "cuda:",
                "cuda:x",
                "cuda:-1",
                "cuda:1:2",
                "cuda 1",
                "9gpu",
                "cuda:99999999999",
                "c\u00fcda"
            })
    void whatIsNotADeviceIsRefused(String text) {
        assertThatThrownBy(() -> Device.parse(text))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("host:0 or cuda:1");
    }

    @Property
    void aDeviceIsReadBackFromItsText(@ForAll @IntRange(max = Integer.MAX_VALUE) int ordinal) {
        Device device = Device.hip(ordinal);
        assertThat(Device.parse(device.toString())).isEqualTo(device);
    }
}
