package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The page of the documents is what the model gives. */
@Tag("verify")
final class ForecastPageTest {
    @Test
    void thePageOfTheDocumentsIsWhatTheModelGives() throws Exception {
        Ran ran = Ran.ep("forecast-page");
        assertThat(ran.code()).isZero();
        assertThat(Files.readString(Repository.root().resolve("docs/README.md")))
                .as("docs/README.md; ./ep forecast-page > docs/README.md writes it anew")
                .isEqualTo(ran.out());
    }
}
