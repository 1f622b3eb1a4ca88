package org.ep4j.gpu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.ep4j.gpu.driver.PeerFacts.ProcessFacts;
import org.ep4j.topology.read.FileTree;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class ProcessFactsTest {
    @Test
    void theEffectiveUserIsTheSecondNumber() {
        assertThat(ProcessFacts.effectiveUser("Name:\tjava\nUid:\t1000\t1001\t1002\t1003\nGid:\t5\t5\t5\t5\n"))
                .isEqualTo("1001");
        assertThat(ProcessFacts.effectiveUser("Uid:")).isEmpty();
        assertThat(ProcessFacts.effectiveUser("")).isEmpty();
    }

    @Test
    void thisProcessHasTheNameOfItsMemoryHandles() {
        ProcessFacts mine = ProcessFacts.of(FileTree.of(Path.of("/")));
        assertThat(mine.process()).isEqualTo(GpuSharing.process());
        assertThat(mine.pids()).isEqualTo(GpuSharing.namespace("pid"));
    }
}
