package org.ep4j.cli;

import org.ep4j.cli.plan.ForecastPage;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The page on the accuracy of forecasts is what the model gives. */
@Tag("verify")
final class ForecastPageTest {
    @Test
    void thePageComparesTheModelWithPublishedFigures() throws Exception {
        GeneratedPage.check("docs/planning/forecast-accuracy.md", ForecastPage.markdown());
    }
}
