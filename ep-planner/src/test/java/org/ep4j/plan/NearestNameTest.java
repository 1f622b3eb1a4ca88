package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import org.ep4j.testing.AlphaChars;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Property;
import org.ep4j.testing.StringLength;
import org.junit.jupiter.api.Tag;

@Tag("verify")
class NearestNameTest {
    @Property
    void theNearestNameOfAKnownNameIsItself(@ForAll @AlphaChars @StringLength(min = 1, max = 12) String name) {
        assertThat(NearestName.of(name, Set.of(name, name + "xx", "y" + name + "yy")))
                .isEqualTo(name);
    }

    @Property
    void distanceIsAMetric(
            @ForAll @StringLength(max = 8) String a,
            @ForAll @StringLength(max = 8) String b,
            @ForAll @StringLength(max = 8) String c) {
        int ab = NearestName.distance(a, b);
        assertThat(ab).isEqualTo(NearestName.distance(b, a));
        assertThat(ab == 0).isEqualTo(a.equals(b));
        assertThat(ab).isBetween(Math.abs(a.length() - b.length()), Math.max(a.length(), b.length()));
        assertThat(NearestName.distance(a, c)).isLessThanOrEqualTo(ab + NearestName.distance(b, c));
    }
}
