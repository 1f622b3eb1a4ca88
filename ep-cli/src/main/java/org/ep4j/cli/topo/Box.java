package org.ep4j.cli.topo;

import java.util.List;

/**
 * A box with text.
 *
 * @param kind what it stands for
 * @param place where it is
 * @param lines text inside, cut where it is too long
 * @param tip all that is known, shown under the pointer and read aloud
 */
record Box(BoxKind kind, Rect place, List<String> lines, String tip) {
    Box {
        lines = List.copyOf(lines);
    }
}
