package org.ep4j.cli.soak;

import java.util.Map;
import java.util.TreeMap;

/** What every thread of this JVM does. */
final class StackDump {
    private StackDump() {}

    static String text() {
        Map<String, StackTraceElement[]> byName = new TreeMap<>();
        Thread.getAllStackTraces()
                .forEach((thread, frames) ->
                        byName.put(thread.getName() + " (" + thread.getId() + ", " + thread.getState() + ")", frames));
        StringBuilder text = new StringBuilder();
        byName.forEach((name, frames) -> {
            text.append(name).append('\n');
            for (StackTraceElement frame : frames) {
                text.append("    at ").append(frame).append('\n');
            }
        });
        return text.toString();
    }
}
