package org.ep4j.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.ep4j.cli.GeneratedPage;
import org.ep4j.cli.Repository;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The reference of the doctor's checks is what the codes say. */
@Tag("verify")
final class DoctorPageTest {
    @Test
    void thePageExplainsEveryCheck() throws IOException {
        GeneratedPage.check("docs/reference/doctor.md", DoctorPage.text(Repository.root()));
    }

    @Test
    void theHelpOfTheCommandExplainsChecksOfDevicesAndBackends() throws IOException {
        GeneratedPage.check(
                "ep-cli/src/main/resources/org/ep4j/cli/probe-checks.txt", DoctorPage.probeChecks(Repository.root()));
    }

    @Test
    void codesOfProbesAreListedToo() {
        assertThat(DoctorPage.text(Repository.root()))
                .contains("| EP-SHM-002 | the system is 64-bit Linux |")
                .contains("| EP-SPI-001 |");
    }

    @Test
    void everyCodeThatASourceNamesIsExplained() {
        String text = DoctorPage.text(Repository.root());
        assertThat(DoctorPage.used(Repository.root()))
                .allSatisfy(code -> assertThat(text)
                        .as("an explanation of %s, from a line of Javadoc at its constant", code)
                        .containsPattern("\\|[^|]*" + code + "[^|]*\\| [^|]+ \\|"));
    }
}
