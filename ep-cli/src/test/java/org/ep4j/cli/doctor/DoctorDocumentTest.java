package org.ep4j.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class DoctorDocumentTest {
    private static final String WRITE = "doctor.document.write";

    @Test
    void theDocumentIsWhatTheCodesSay() throws IOException {
        Path repository = repository();
        Path file = repository.resolve("docs/doctor.md");
        String text = DoctorDocument.text(repository);
        if (Boolean.getBoolean(WRITE)) {
            Files.createDirectories(file.getParent());
            Files.writeString(file, text);
        }
        assertThat(Files.exists(file) ? Files.readString(file) : "")
                .as(
                        "docs/doctor.md is out of date; write it by: mvn -pl ep-cli -am test -Dtest=%s -D%s=true"
                                + " -Dsurefire.failIfNoSpecifiedTests=false",
                        DoctorDocumentTest.class.getSimpleName(), WRITE)
                .isEqualTo(text);
    }

    @Test
    void codesOfProbesAreListedToo() {
        assertThat(DoctorDocument.text(repository()))
                .contains("| EP-SHM-002 | 64-bit Linux |")
                .contains("| EP-SPI-001 |");
    }

    @Test
    void everyCodeThatASourceNamesIsExplained() {
        String text = DoctorDocument.text(repository());
        assertThat(DoctorDocument.used(repository()))
                .allSatisfy(code -> assertThat(text)
                        .as("an explanation of %s, from a line of Javadoc at its constant", code)
                        .containsPattern("\\|[^|]*" + code + "[^|]*\\| [^|]+ \\|"));
    }

    private static Path repository() {
        Path folder = Path.of("").toAbsolutePath();
        while (!Files.exists(folder.resolve("ep-bom/pom.xml"))) {
            folder = folder.getParent();
            assertThat(folder).as("run from inside the repository").isNotNull();
        }
        return folder;
    }
}
