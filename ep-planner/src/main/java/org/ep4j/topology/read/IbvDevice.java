package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.TopologyException;

/**
 * One device in the output of {@code ibv_devinfo}.
 *
 * @param vendor PCI vendor; -1 when unknown
 * @param part PCI device; -1 when unknown
 * @param card equal for devices of one card; empty when unknown
 * @param guid node GUID; empty when unknown
 * @param atomics such as {@code ATOMIC_HCA (1)}; empty without {@code -v}
 * @param lost warnings about values that could not be read
 */
record IbvDevice(
        String name,
        int vendor,
        int part,
        String card,
        String guid,
        String atomics,
        List<NicPort> ports,
        List<String> lost) {
    private static final Pattern FIELD = Pattern.compile("\\s*([A-Za-z_]+):\\s*(.*)");
    private static final Pattern GID = Pattern.compile(
            "\\s*GID\\[\\s*(\\d{1,5})\\]:\\s*([0-9a-fA-F:.]{2,45})(?:,\\s*(RoCE v2|RoCE v1|IB/RoCE v1|IB|IWARP))?\\s*");
    private static final Pattern WIDTH = Pattern.compile("(\\d{1,2})X\\b.*");
    private static final Pattern SPEED = Pattern.compile("(\\d{1,5}(?:\\.\\d{1,3})?) Gbps.*");

    /** The code that ibv_devinfo prints after the words, and after "invalid speed" where it is older than the speed. */
    private static final Pattern CODE = Pattern.compile(".*\\((\\d{1,5})\\)");

    /** Lanes by code ({@code enum ib_port_width} of Linux). */
    private static final Map<String, Integer> WIDTHS = Map.of("1", 1, "2", 4, "4", 8, "8", 12, "16", 2);

    /** Gigabits a second of a lane by code ({@code enum ib_port_speed} of Linux): SDR to XDR. */
    private static final Map<String, Double> SPEEDS = Map.of(
            "1", 2.5, "2", 5.0, "4", 10.0, "8", 10.0, "16", 14.0, "32", 25.0, "64", 50.0, "128", 100.0, "256", 200.0);

    private static final Pattern MTU = Pattern.compile("(\\d{1,5})\\b.*");

    /** Verbs report the organisation that made a device, which for older makers is not their PCI vendor id. */
    private static final Map<Integer, Integer> PCI_VENDOR = Map.of(0x02c9, 0x15b3);

    /** A device being read: its fields, and those of its ports by number. */
    private record Draft(int line, String name, Map<String, String> fields, Map<Integer, PortDraft> ports) {}

    private record PortDraft(Map<String, String> fields, List<Gid> gids) {}

    static List<IbvDevice> all(String source, String text) {
        List<Draft> drafts = new ArrayList<>();
        Set<String> names = new HashSet<>();
        Optional<PortDraft> port = Optional.empty();
        List<String> lines = text.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            Matcher gid = GID.matcher(lines.get(i));
            Matcher field = FIELD.matcher(lines.get(i));
            if (gid.matches()) {
                int line = i + 1;
                List<Gid> gids = port.orElseThrow(() -> Faults.at(source, line, "a GID comes before the first port"))
                        .gids();
                if (gids.size() == Limits.GIDS) {
                    throw Faults.at(source, line, "a port has more than " + Limits.GIDS + " GIDs");
                }
                gid(gid).ifPresent(gids::add);
            } else if (field.matches()) {
                String key = field.group(1);
                String value = field.group(2).strip();
                if (key.equals("hca_id")) {
                    if (!value.matches("[\\w.-]{1,64}") || !names.add(value)) {
                        throw Faults.at(source, i + 1, "hca_id is " + Faults.quote(value) + "; expected a new name");
                    }
                    if (drafts.size() == Limits.NICS) {
                        throw Faults.at(source, i + 1, "more than " + Limits.NICS + " devices");
                    }
                    drafts.add(new Draft(i + 1, value, new TreeMap<>(), new TreeMap<>()));
                    port = Optional.empty();
                } else if (!drafts.isEmpty()) {
                    Draft device = drafts.get(drafts.size() - 1);
                    if (key.equals("port")) {
                        port = Optional.of(port(source, i + 1, device, value));
                    } else {
                        port.map(PortDraft::fields).orElse(device.fields()).putIfAbsent(key, value);
                    }
                }
            }
        }
        return drafts.stream().map(draft -> device(source, draft)).toList();
    }

    /** A GUID in the form that all sources have; empty where a driver reports zeros. */
    static String guid(String text) {
        String guid = text.strip().toLowerCase(Locale.ROOT);
        return guid.matches("[0:]*") ? "" : guid;
    }

    private static PortDraft port(String source, int line, Draft device, String value) {
        PortDraft port = new PortDraft(new TreeMap<>(), new ArrayList<>());
        if (!value.matches("[1-9]\\d{0,2}")
                || Integer.parseInt(value) > Limits.PORTS
                || device.ports().put(Integer.parseInt(value), port) != null) {
            throw Faults.at(
                    source,
                    line,
                    "a port of " + device.name() + " has the number " + Faults.quote(value)
                            + "; expected a number from 1 to " + Limits.PORTS
                            + " that no earlier port of the device has");
        }
        return port;
    }

    private static IbvDevice device(String source, Draft draft) {
        String expected = draft.fields().getOrDefault("phys_port_cnt", "");
        if (!expected.equals(Integer.toString(draft.ports().size()))) {
            throw Faults.at(
                    source,
                    draft.line(),
                    draft.name() + " has phys_port_cnt " + Faults.quote(expected) + ", and "
                            + draft.ports().size() + " ports are listed; use the whole output of ibv_devinfo");
        }
        int vendor = number(source, draft, "vendor_id");
        return new IbvDevice(
                draft.name(),
                PCI_VENDOR.getOrDefault(vendor, vendor),
                number(source, draft, "vendor_part_id"),
                guid(draft.fields().getOrDefault("sys_image_guid", "")),
                guid(draft.fields().getOrDefault("node_guid", "")),
                draft.fields().getOrDefault("atomic_cap", ""),
                draft.ports().entrySet().stream()
                        .map(entry -> port(source, draft, entry.getKey(), entry.getValue()))
                        .toList(),
                draft.ports().entrySet().stream()
                        .filter(entry -> entry.getValue().fields().containsKey("active_speed")
                                && rate(entry.getValue().fields()) == 0)
                        .map(entry ->
                                "the rate of " + draft.name() + ":" + entry.getKey() + " is not known: its speed is "
                                        + Faults.quote(entry.getValue().fields().getOrDefault("active_speed", ""))
                                        + ", its width "
                                        + Faults.quote(entry.getValue().fields().getOrDefault("active_width", "")))
                        .toList());
    }

    private static NicPort port(String source, Draft device, int number, PortDraft draft) {
        String state = draft.fields().getOrDefault("state", "");
        if (state.isEmpty()) {
            throw Faults.at(source, device.line(), "port " + number + " of " + device.name() + " has no state");
        }
        return new NicPort(
                number,
                state.startsWith("PORT_ACTIVE") ? NicPort.State.ACTIVE : NicPort.State.DOWN,
                VerbsPorts.linkLayer(draft.fields().getOrDefault("link_layer", "")),
                rate(draft.fields()),
                matched(MTU, draft.fields().getOrDefault("active_mtu", ""))
                        .map(Integer::parseInt)
                        .orElse(0),
                matched(Pattern.compile("(\\d{1,6})"), draft.fields().getOrDefault("port_lid", ""))
                        .map(Integer::parseInt)
                        .orElse(0),
                "",
                draft.gids(),
                !draft.gids().isEmpty(),
                "");
    }

    /** Lanes times the rate of one, which only {@code -v} prints; 0 when unknown. */
    private static double rate(Map<String, String> fields) {
        String width = fields.getOrDefault("active_width", "");
        String speed = fields.getOrDefault("active_speed", "");
        Optional<Integer> lanes = matched(WIDTH, width)
                .map(Integer::valueOf)
                .or(() -> matched(CODE, width).map(WIDTHS::get));
        Optional<Double> lane = matched(SPEED, speed)
                .map(Double::valueOf)
                .or(() -> matched(CODE, speed).map(SPEEDS::get));
        return lanes.isPresent() && lane.isPresent() ? lanes.get() * lane.get() : 0;
    }

    private static Optional<String> matched(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        return matcher.matches() ? Optional.of(matcher.group(1)) : Optional.empty();
    }

    private static Optional<Gid> gid(Matcher gid) {
        String type = Optional.ofNullable(gid.group(3)).orElse("");
        String named = type.equals("RoCE v1") || type.equals("IB") ? "IB/RoCE v1" : type;
        int index = Integer.parseInt(gid.group(1));
        return Gid.expand(gid.group(2)).map(address -> new Gid(index, address, named, ""));
    }

    /** Hexadecimal with {@code 0x}, decimal without. */
    private static int number(String source, Draft device, String key) {
        String text = device.fields().getOrDefault(key, "");
        try {
            return text.isEmpty() ? -1 : Integer.decode(text);
        } catch (NumberFormatException e) {
            throw new TopologyException(
                    Faults.at(source, device.line(), key + " of " + device.name() + " is " + Faults.quote(text))
                                    .getMessage()
                            + "; expected a number such as 0x02c9 or 4129",
                    e);
        }
    }
}
