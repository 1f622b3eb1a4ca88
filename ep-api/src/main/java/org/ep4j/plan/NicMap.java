package org.ep4j.plan;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.EpConfigException;
import org.ep4j.config.EpKeys;

/**
 * Which NICs each GPU is to use, as users write it: {@code 0:mlx5_0:1,1:mlx5_1}.
 *
 * @param entries ports by GPU index, as text; {@code *} for GPUs that are not named
 */
record NicMap(Map<String, List<PortName>> entries) {
    /** Stands for every GPU that has no entry. */
    static final String REST = "*";

    private static final Pattern ENTRY = Pattern.compile("(\\d{1,4}|\\*)\\s*:\\s*([^:\\s].*)");

    static NicMap parse(String text) {
        Map<String, List<PortName>> entries = new LinkedHashMap<>();
        for (String part : text.split(",", -1)) {
            if (part.isBlank()) {
                continue;
            }
            Matcher matcher = ENTRY.matcher(part.trim());
            if (!matcher.matches()) {
                throw wrong(text, part);
            }
            PortName port = PortName.parse(matcher.group(2));
            if (port.nic().endsWith(":")) {
                throw wrong(text, part);
            }
            String gpu = matcher.group(1).equals(REST) ? REST : Integer.toString(Integer.parseInt(matcher.group(1)));
            entries.computeIfAbsent(gpu, k -> new ArrayList<>()).add(port);
        }
        return new NicMap(entries);
    }

    private static EpConfigException wrong(String text, String part) {
        return new EpConfigException(EpKeys.NIC_MAP.name() + " is \"" + text + "\", in which \"" + part.trim()
                + "\" is not GPU:NIC or GPU:NIC:PORT; write for example 0:mlx5_0:1,1:mlx5_1:1");
    }

    boolean isEmpty() {
        return entries.isEmpty();
    }

    /** NICs of a GPU that is named; empty when it is not. */
    List<PortName> of(int gpu) {
        return entries.getOrDefault(Integer.toString(gpu), List.of());
    }

    /** NICs of the GPUs that are not named. */
    List<PortName> rest() {
        return entries.getOrDefault(REST, List.of());
    }
}
