package org.ep4j.engine.topology;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.NativeLibrary;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

@EnabledOnOs(OS.LINUX)
final class NativeLibrariesTest {
    /** A part of glibc that nothing else uses. */
    private static final String NAME = "libanl.so.1";

    @Test
    void aLibraryStaysLoadedWhenNobodyRefersToIt() throws IOException {
        assertThat(Files.readString(Path.of("/proc/self/maps"))).doesNotContain(NAME);
        NativeLibrary library = NativeLibraries.load(List.of(NAME)).orElseThrow();
        library.close();
        assertThat(Files.readString(Path.of("/proc/self/maps"))).contains(NAME);
    }

    @Test
    void nothingIsLoadedWhereNoNameIsThere() {
        assertThat(NativeLibraries.load(List.of("libnobody-has-this.so.7"))).isEmpty();
    }
}
