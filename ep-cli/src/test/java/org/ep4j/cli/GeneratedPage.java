package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A page of the documents whose text comes from the code. */
public final class GeneratedPage {
    private static final String WRITE = "ep4j.docs.write";

    private GeneratedPage() {}

    /**
     * Fails where a page is not what the code says, or writes it where {@code -Dep4j.docs.write=true} is given.
     *
     * @param page its path from the root of the repository
     * @param text what it must be
     */
    public static void check(String page, String text) throws IOException {
        Path file = Repository.root().resolve(page);
        if (Boolean.getBoolean(WRITE)) {
            Files.createDirectories(file.getParent());
            Files.writeString(file, text);
        }
        assertThat(Files.exists(file) ? Files.readString(file) : "")
                .as(
                        "%s is out of date: mvn -pl ep-cli -am test -Dtest='*PageTest' -D%s=true"
                                + " -Dsurefire.failIfNoSpecifiedTests=false writes it",
                        page, WRITE)
                .isEqualTo(text);
    }
}
