package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
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
        assertThat(NicPattern.parse("ep.nic.include", text).matches(new PortName(nic, port)))
                .isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"^", "=", ",,", "mlx5_0,^mlx5_1", "mlx5_0,=mlx5_1", "=^mlx5_0"})
    void aListThatCannotBeMeantIsRefused(String text) {
        assertThatThrownBy(() -> NicPattern.parse("ep.nic.include", text))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("ep.nic.include is \"" + text + "\"");
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
        assertThatThrownBy(() -> NicMap.parse(text))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("ep.nic.map is \"" + text + "\"")
                .hasMessageContaining("0:mlx5_0:1,1:mlx5_1:1");
    }

    @Test
    void namesAreOrderedAsPeopleCount() {
        assertThat(List.of("mlx5_10", "mlx5_2", "mlx5_02", "bnxt_re1", "mlx5_2a", "mlx5").stream()
                        .sorted(NaturalOrder.INSTANCE))
                .containsExactly("bnxt_re1", "mlx5", "mlx5_02", "mlx5_2", "mlx5_2a", "mlx5_10");
    }
}
