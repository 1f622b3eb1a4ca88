package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Modifier;
import java.util.ServiceLoader;
import org.ep4j.EpConfig;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.SpiVersion;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class HostShmProviderTest {
    private final HostShmProvider provider = new HostShmProvider();

    @Test
    void theServiceLoaderFindsIt() {
        assertThat(ServiceLoader.load(EpBackendProvider.class))
                .extracting(EpBackendProvider::id)
                .contains("host-shm");
    }

    @Test
    void thisApiRunsIt() {
        assertThat(SpiVersion.CURRENT.runs(provider.spiVersion())).isTrue();
        assertThat(provider.spiVersion().major()).isEqualTo(1);
    }

    @Test
    void everySettingBeginsWithEpShmAndIsHelpful() {
        assertThat(provider.configKeys()).isNotEmpty().allSatisfy(key -> {
            assertThat(key.name()).startsWith("ep.shm.");
            assertThat(key.help()).isNotBlank();
            assertThat(key.agreed()).isFalse();
        });
    }

    @Test
    void theFolderIsTakenFromTheEnvironmentToo() {
        EpConfig config = EpConfig.builder(java.util.Map.of(), java.util.Map.of("EP_SHM_DIR", "/from/the/environment"))
                .build();
        assertThat(ShmFolder.from(config).toString()).isEqualTo("/from/the/environment");
    }

    @Test
    void withoutASettingTheFolderIsDevShm() {
        EpConfig config =
                EpConfig.builder(java.util.Map.of(), java.util.Map.of()).build();
        assertThat(ShmFolder.from(config).toString()).isEqualTo("/dev/shm");
    }

    @Test
    void onlyTheProviderIsPublic() {
        assertThat(Modifier.isPublic(HostShmProvider.class.getModifiers())).isTrue();
        assertThat(Modifier.isPublic(ShmAllocation.class.getModifiers())).isFalse();
        assertThat(Modifier.isPublic(SharedFile.class.getModifiers())).isFalse();
    }
}
