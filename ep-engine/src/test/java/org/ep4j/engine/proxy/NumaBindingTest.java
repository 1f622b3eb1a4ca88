package org.ep4j.engine.proxy;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class NumaBindingTest {
    @Test
    void listsAreRead() {
        assertThat(NumaBinding.numbers("0-3,8\n").stream()).containsExactly(0, 1, 2, 3, 8);
        assertThat(NumaBinding.numbers("7").stream()).containsExactly(7);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a", "3-1", "-1", "0-8192", "1,,2", "99999999999"})
    void whatIsNoListIsRefused(String list) {
        assertThatThrownBy(() -> NumaBinding.numbers(list)).isInstanceOf(NumberFormatException.class);
    }

    @Test
    void aThreadIsBoundToTheProcessorsOfItsNodeThatItMayUse() throws Exception {
        Path list = Path.of("/sys/devices/system/node/node0/cpulist");
        boolean there = Files.isReadable(list);
        if (!there) {
            System.out.println("skipped: no " + list);
        }
        assumeTrue(there, "no " + list);
        AtomicReference<Object> result = new AtomicReference<>();
        Thread thread = new Thread(() -> {
            try {
                BitSet wanted = NumaBinding.numbers(Files.readString(list, UTF_8));
                wanted.and(allowed());
                assertThat(NumaBinding.bind(NumaBinding.NODES, 0, 1)).isEmpty();
                assertThat(allowed()).isEqualTo(wanted);
                result.set("bound");
            } catch (Throwable e) {
                result.set(e);
            }
        });
        thread.start();
        thread.join();
        assertThat(result.get()).isEqualTo("bound");
    }

    private static BitSet allowed() throws IOException {
        return Files.readString(Path.of("/proc/thread-self/status"), UTF_8)
                .lines()
                .filter(line -> line.startsWith("Cpus_allowed_list:"))
                .map(line -> NumaBinding.numbers(line.substring("Cpus_allowed_list:".length())))
                .findFirst()
                .orElseThrow();
    }

    /** A node of one processor, the first that this process may use. */
    static Path oneProcessor(Path folder) throws IOException {
        Path node = Files.createDirectory(folder.resolve("node7"));
        Files.writeString(node.resolve("cpulist"), allowed().nextSetBit(0) + "\n");
        return folder;
    }

    @Test
    void memoryIsAllocatedOnTheProcessorsOfTheNodeAndTheThreadReturns(@TempDir Path folder) throws Exception {
        Path nodes = oneProcessor(folder);
        BitSet before = allowed();
        BitSet first = new BitSet();
        first.set(before.nextSetBit(0));
        assertThat(NumaBinding.near(nodes, Optional.of(7), NumaBindingTest::unchecked))
                .isEqualTo(first);
        assertThat(allowed()).isEqualTo(before);
        assertThat(NumaBinding.near(nodes, Optional.empty(), NumaBindingTest::unchecked))
                .isEqualTo(before);
        assertThat(NumaBinding.near(nodes, Optional.of(8), NumaBindingTest::unchecked))
                .as("a node that is not there")
                .isEqualTo(before);
    }

    private static BitSet unchecked() {
        try {
            return allowed();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void moreThreadsThanProcessorsAreNotBound(@TempDir Path folder) throws Exception {
        Path nodes = oneProcessor(folder);
        BitSet before = allowed();
        assertThat(NumaBinding.bind(nodes, 7, 2))
                .contains("this process may use 1 of its processors, and 2 threads are to share them");
        assertThat(allowed()).isEqualTo(before);
    }

    @Test
    void aNodeThatIsNotThereIsToldByName() {
        assertThat(NumaBinding.bind(NumaBinding.NODES, 4711, 1))
                .get()
                .asString()
                .contains("/sys/devices/system/node/node4711/cpulist cannot be read");
    }
}
