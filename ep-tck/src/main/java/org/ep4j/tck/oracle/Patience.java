package org.ep4j.tck.oracle;

import java.time.Duration;
import java.util.Map;
import org.ep4j.EpArgumentException;

/**
 * Scales the kit's time limits for slow machines, such as emulated ones, by {@value #VARIABLE}. The delays that a scenario causes, and
 * timeouts that an operation must reach, are not scaled.
 */
public final class Patience {
    /** Environment variable with the factor, an integer from 1 to 100; 1 where it is not set. */
    public static final String VARIABLE = "EP_TCK_PATIENCE";

    private static final int LARGEST = 100;

    private Patience() {}

    /**
     * Returns a limit for this machine.
     *
     * @throws EpArgumentException when the variable is not a factor
     */
    public static Duration scaled(Duration limit) {
        return limit.multipliedBy(factor(System.getenv()));
    }

    static int factor(Map<String, String> environment) {
        String text = environment.getOrDefault(VARIABLE, "1");
        if (!text.matches("[1-9][0-9]{0,2}") || Integer.parseInt(text) > LARGEST) {
            throw new EpArgumentException(
                    VARIABLE,
                    text,
                    "an integer from 1 to " + LARGEST,
                    "all time limits of the kit are multiplied by this number");
        }
        return Integer.parseInt(text);
    }
}
