package org.ep4j.cli.soak;

import java.util.List;
import java.util.Optional;
import tools.jackson.databind.json.JsonMapper;

/** Records as lines of text: a mark, the name of the type and JSON. */
final class Lines {
    private static final String MARK = "@soak:";

    private Lines() {}

    static String encode(Object message) {
        return MARK + message.getClass().getSimpleName() + " "
                + JsonMapper.shared().writeValueAsString(message);
    }

    /** Reads a line of one of {@code types}; empty when it has no mark. */
    static <T> Optional<T> decode(String line, Class<T> family, List<Class<? extends T>> types) {
        int blank = line.indexOf(' ');
        if (!line.startsWith(MARK) || blank < 0) {
            return Optional.empty();
        }
        String name = line.substring(MARK.length(), blank);
        return types.stream()
                .filter(type -> type.getSimpleName().equals(name))
                .findFirst()
                .map(type -> family.cast(JsonMapper.shared().readValue(line.substring(blank + 1), type)));
    }
}
