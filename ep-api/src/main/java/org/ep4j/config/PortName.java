package org.ep4j.config;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apiguardian.api.API;

/**
 * A port of a NIC, written {@code name:port}.
 *
 * @param nic name of the device
 * @param port number from 1; 0 when the text has none
 */
@API(status = API.Status.INTERNAL, since = "0.1")
public record PortName(String nic, int port) {
    /** Names may contain colons themselves, as {@code nic@0000:0c:00.0} does. */
    private static final Pattern WITH_PORT = Pattern.compile("(.*\\S)\\s*:\\s*(\\d{1,4})");

    /** Reads {@code name:port} or a name alone; white space around the name and the port is ignored. */
    public static PortName parse(String text) {
        String stripped = text.strip();
        Matcher matcher = WITH_PORT.matcher(stripped);
        return matcher.matches()
                ? new PortName(matcher.group(1), Integer.parseInt(matcher.group(2)))
                : new PortName(stripped, 0);
    }

    @Override
    public String toString() {
        return port == 0 ? nic : nic + ":" + port;
    }
}
