package org.ep4j.backend.ibrc;

/** That of a thread to a link which others may see to as well: it does nothing where one has since. For that thread alone. */
final class Attention {
    private final Link link;
    private long looked;

    Attention(Link link) {
        this.link = link;
    }

    /** Sees to the link; true when that was needed, for something was there. */
    boolean give() {
        long now = link.looked();
        if (now != looked) {
            looked = now;
            return false;
        }
        boolean moved = link.tryProgress();
        looked = link.looked();
        return moved;
    }
}
