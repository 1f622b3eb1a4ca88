package org.ep4j.bootstrap;

import java.util.List;

/**
 * What a member asks another one directly, when its hub is gone or a member of its own has gone.
 *
 * @param join true when the asker has no hub and wants the other one to be it
 * @param heldLost true when the asker holds the other one lost
 * @param asker group of the asker
 * @param lost ranks that the asker holds lost
 */
record Question(boolean join, boolean heldLost, Standing asker, List<Integer> lost) {
    Question {
        lost = List.copyOf(lost);
    }
}
