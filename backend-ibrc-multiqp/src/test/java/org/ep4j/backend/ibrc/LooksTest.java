package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class LooksTest {
    private final Looks looks = new Looks();

    @Test
    void onlyWhoAsksForOnePeerAgainLooksOften() {
        try (LinkPair pair = new LinkPair(new Random(1), 1, 1, false, new LinkSettings(1 << 16, 32, Guard.minute()))) {
            Link one = pair.link(0);
            Link other = pair.link(1);
            assertThat(looks.at(one)).isEqualTo(1);
            assertThat(looks.at(one)).isGreaterThan(1);
            assertThat(looks.at(other)).isEqualTo(1);
            assertThat(looks.at(one)).isEqualTo(1);
        }
    }

    @Test
    void newsRunInOrderWhileTheyAreWanted() {
        News news = new News();
        List<String> done = new ArrayList<>();
        assertThat(news.any()).isFalse();
        news.add(() -> {
            done.add("first");
            news.add(() -> done.add("third"));
        });
        news.add(() -> done.add("second"));
        assertThat(news.any()).isTrue();
        news.run(() -> done.size() < 2);
        assertThat(done).containsExactly("first", "second");
    }
}
