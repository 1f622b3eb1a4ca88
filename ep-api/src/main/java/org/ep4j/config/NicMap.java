package org.ep4j.config;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apiguardian.api.API;

/**
 * Which NICs each GPU is to use, as users write it: {@code 0:mlx5_0:1,1:mlx5_1}.
 *
 * @param entries ports by GPU index, as text; {@code *} for GPUs that are not named
 */
@API(status = API.Status.INTERNAL, since = "0.1")
public record NicMap(Map<String, List<PortName>> entries) {
    /** Stands for every GPU that has no entry. */
    static final String REST = "*";

    /** Copies the map. */
    public NicMap {
        entries = Collections.unmodifiableMap(new LinkedHashMap<>(entries));
    }

    private static final Pattern ENTRY = Pattern.compile("(\\d{1,4}|\\*)\\s*:\\s*([^:\\s].*)");

    /**
     * Reads a map.
     *
     * @throws NicListException when it is none
     */
    public static NicMap parse(String text) {
        Map<String, List<PortName>> entries = new LinkedHashMap<>();
        for (String part : text.split(",", -1)) {
            if (part.isBlank()) {
                continue;
            }
            Matcher matcher = ENTRY.matcher(part.trim());
            if (!matcher.matches()) {
                throw wrong(part);
            }
            PortName port = PortName.parse(matcher.group(2));
            if (port.nic().endsWith(":")) {
                throw wrong(part);
            }
            String gpu = matcher.group(1).equals(REST) ? REST : Integer.toString(Integer.parseInt(matcher.group(1)));
            entries.computeIfAbsent(gpu, k -> new ArrayList<>()).add(port);
        }
        return new NicMap(entries);
    }

    private static NicListException wrong(String part) {
        return new NicListException(
                "\"" + part.trim() + "\" is not GPU:NIC or GPU:NIC:PORT; write for example 0:mlx5_0:1,1:mlx5_1:1");
    }

    /** Returns true for a map that names nothing. */
    public boolean isEmpty() {
        return entries.isEmpty();
    }

    /** NICs that the map names for a GPU; empty if it does not name the GPU. */
    public List<PortName> of(int gpu) {
        return entries.getOrDefault(Integer.toString(gpu), List.of());
    }

    /** NICs of all GPUs that the map does not name. */
    public List<PortName> rest() {
        return entries.getOrDefault(REST, List.of());
    }
}
