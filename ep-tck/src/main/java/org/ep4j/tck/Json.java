package org.ep4j.tck;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** JSON of reports, indented for people. */
public final class Json {
    private static final JsonMapper INDENTED =
            JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();

    private Json() {}

    /** Returns a value as JSON, without a line feed at the end. */
    public static String of(Object value) {
        // Bytes take a third of the memory that a growing string takes.
        return new String(INDENTED.writeValueAsBytes(value), StandardCharsets.UTF_8);
    }

    /** Returns the fields of an object, in their order. */
    public static Map<String, Object> fields(Object... namesAndValues) {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            fields.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return fields;
    }
}
