package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.List;

/**
 * A list of NICs as {@code NCCL_IB_HCA} has it: {@code [^][=]NAME[:PORT],...}; without {@code =} a name stands for all that
 * begin with it. With {@code GPU:} before each name it is {@code ep.nic.map}.
 */
final class NicList {
    private final List<String> names;
    private final boolean exact;

    private NicList(List<String> names, boolean exact) {
        this.names = names;
        this.exact = exact;
    }

    static NicList parse(String text, boolean withGpu) {
        String list = text.strip();
        list = list.startsWith("^") ? list.substring(1) : list;
        boolean exact = list.startsWith("=");
        list = exact ? list.substring(1) : list;
        List<String> names = new ArrayList<>();
        for (String entry : list.split(",", -1)) {
            String[] parts = entry.strip().split(":", -1);
            int at = withGpu ? 1 : 0;
            if (at < parts.length && !parts[at].isEmpty()) {
                names.add(parts[at]);
            }
        }
        return new NicList(names, exact);
    }

    /** Names that stand for none of these. */
    List<String> unknown(List<String> present) {
        return names.stream()
                .filter(name -> present.stream().noneMatch(nic -> exact ? nic.equals(name) : nic.startsWith(name)))
                .toList();
    }
}
