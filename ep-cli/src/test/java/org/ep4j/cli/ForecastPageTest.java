package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The page on the accuracy of forecasts is what the model gives. */
@Tag("verify")
final class ForecastPageTest {
    @Test
    void thePageComparesTheModelWithPublishedFigures() throws Exception {
        Ran ran = Ran.ep("forecast-page");
        assertThat(ran.code()).isZero();
        GeneratedPage.check("docs/planning/forecast-accuracy.md", ran.out());
    }
}
