package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.transport.memory.JniLibrary;
import org.ep4j.transport.memory.Resources;
import org.ep4j.transport.memory.WordMemory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the libfabric of this machine says of memory of GPUs, where it knows none. */
@Tag("verify")
class GpuRegistrationTest {
    private final EpConfig config = EpConfig.builder(Map.of(), Map.of()).build();

    @BeforeEach
    void library() throws JniLibrary.Missing {
        FabricLibrary.JNI.load();
    }

    @Test
    void askedForItTheListHasAllProvidersThatItHasOtherwise() {
        try (FabricList plain = FabricList.all(false);
                FabricList asked = FabricList.all(true)) {
            assertThat(plain.infos()).isNotEmpty().noneMatch(FabricInfo::deviceMemory);
            assertThat(asked.infos())
                    .extracting(FabricInfo::provider)
                    .containsAll(
                            plain.infos().stream().map(FabricInfo::provider).toList());
            assertThat(asked.infos())
                    .filteredOn(info -> info.core().equals(Providers.TCP))
                    .isNotEmpty()
                    .noneMatch(FabricInfo::deviceMemory);
        }
    }

    @Test
    void aNicOfSocketsRefusesIt() {
        try (FabricList list = FabricList.all(true);
                Resources resources = new Resources()) {
            FabricInfo tcp = list.infos().stream()
                    .filter(info -> info.core().equals(Providers.TCP))
                    .findFirst()
                    .orElseThrow();
            FabricDomain domain = FabricDomain.open(list, tcp, NicProfile.of(tcp, config), -1, resources);
            assertThat(domain.refusal(ExposedMemory.Kind.PEER_MEMORY))
                    .hasValueSatisfying(reason -> assertThat(reason).contains("cannot register GPU memory"));
            assertThat(domain.refusal(ExposedMemory.Kind.HOST)).isEmpty();
        }
    }

    /** The shm provider takes memory of GPUs, but this machine's libfabric was started without CUDA and ROCr. */
    @ParameterizedTest
    @ValueSource(strings = {"cuda:0", "hip:0"})
    void aRegistrationThatFailsNamesCallErrorAndNic(String device) {
        try (FabricList list = FabricList.all(true);
                Resources resources = new Resources()) {
            FabricInfo able = list.infos().stream()
                    .filter(info -> info.deviceMemory() && info.core().equals(Providers.SHM))
                    .findFirst()
                    .orElseThrow();
            FabricDomain domain = FabricDomain.open(list, able, NicProfile.of(able, config), -1, resources);
            long endpoint = domain.endpoint(16);
            resources.add(() -> Libfabric.closeEndpoint(endpoint));
            WordMemory words = WordMemory.allocate(4096);
            resources.hold(words);
            ExposedMemory memory = ExposedMemory.of(DeviceMemory.of(words.address(), 4096, Device.parse(device)));
            assertThatThrownBy(() -> domain.register(memory, endpoint, resources))
                    .isInstanceOf(EpException.class)
                    .hasMessageContaining("fi_mr_regattr of 4096 bytes of peer memory on " + able.domain())
                    .hasMessageContaining("error ");
        }
    }
}
