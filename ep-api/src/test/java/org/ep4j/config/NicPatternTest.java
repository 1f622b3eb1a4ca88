package org.ep4j.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
class NicPatternTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "mlx5_0; mlx5_0; 1; true",
                "mlx5_0; mlx5_1; 1; false",
                "mlx5; mlx5_7; 2; true",
                "mlx5; bnxt_re0; 1; false",
                "mlx5_1; mlx5_10; 1; false",
                "mlx5_1; mlx5_1_bond; 1; true",
                "mlx5_1:2; mlx5_1; 1; false",
                "mlx5_1:2; mlx5_1; 2; true",
                "mlx5_0,mlx5_1:1; mlx5_1; 1; true",
                "=mlx5; mlx5_0; 1; false",
                "=mlx5_0:1; mlx5_0; 1; true",
                "^mlx5_0; mlx5_0; 1; false",
                "^mlx5_0; mlx5_1; 1; true",
                "^mlx5_0,^mlx5_1; mlx5_1; 1; false",
                "^=mlx5_0,mlx5_2; mlx5_20; 1; true",
                "nic@0000:0c:00.0; nic@0000:0c:00.0; 1; true",
            })
    void aListMeansTheseNics(String text, String nic, int port, boolean expected) {
        assertThat(NicPattern.parse(text).matches(new PortName(nic, port))).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"^", "=", ",,", "mlx5_0,^mlx5_1", "mlx5_0,=mlx5_1", "=^mlx5_0"})
    void aListThatCannotBeMeantIsRefused(String text) {
        EpConfig config =
                EpConfig.builder(Map.of(), Map.of("NCCL_IB_HCA", text)).build();
        assertThatThrownBy(() -> EpKeys.NIC_INCLUDE.get(config))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("ep.nic.include is \"" + text + "\" (from ENVIRONMENT NCCL_IB_HCA): ");
    }

    @Test
    void excludingAllButSomeIsRefused() {
        EpConfig config =
                EpConfig.builder(Map.of("ep.nic.exclude", "^mlx5_0"), Map.of()).build();
        assertThatThrownBy(() -> EpKeys.NIC_EXCLUDE.get(config))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContainingAll("ep.nic.exclude is \"^mlx5_0\"", "ep.nic.include");
    }

    @Test
    void namesWhatAListNamesInVain() {
        List<PortName> there = List.of(new PortName("mlx5_0", 1), new PortName("mlx5_10", 1));
        assertThat(NicPattern.parse("^mlx5_0:2,mlx5_1,mlx5,bnxt").unknown(there))
                .extracting(PortName::toString)
                .containsExactly("mlx5_0:2", "mlx5_1", "bnxt");
    }

    @Test
    void aMapNamesTheNicsOfEachGpu() {
        NicMap map = NicMap.parse("0:mlx5_0:1, 0:mlx5_1:1,1:nic@0000:0c:00.0,*:mlx5_7");
        assertThat(map.of(0)).containsExactly(new PortName("mlx5_0", 1), new PortName("mlx5_1", 1));
        assertThat(map.of(1)).containsExactly(new PortName("nic@0000:0c:00.0", 0));
        assertThat(map.of(2)).isEmpty();
        assertThat(map.rest()).containsExactly(new PortName("mlx5_7", 0));
    }

    @Test
    void whiteSpaceInAMapDoesNotCount() {
        NicMap map = NicMap.parse(" 0: mlx5_0 , 1 :mlx5_1 : 2");
        assertThat(map.of(0)).containsExactly(new PortName("mlx5_0", 0));
        assertThat(map.of(1)).containsExactly(new PortName("mlx5_1", 2));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "mlx5_0",
                "0:",
                "0::1",
                "x:mlx5_0:1",
                "-1:mlx5_0",
                "0 mlx5_0",
                "0:mlx5_0:",
                "0:mlx5_0::1",
                "0: :1"
            })
    void aMapThatIsNotOneIsRefusedWithAnExample(String text) {
        EpConfig config = EpConfig.builder(Map.of("ep.nic.map", text), Map.of()).build();
        assertThatThrownBy(() -> EpKeys.NIC_MAP.get(config))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("ep.nic.map is \"" + text + "\"")
                .hasMessageContaining("0:mlx5_0:1,1:mlx5_1:1");
    }
}
