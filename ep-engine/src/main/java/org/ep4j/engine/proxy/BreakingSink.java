package org.ep4j.engine.proxy;

/** Hands commands to a sink, but none for a peer for which one has failed. */
final class BreakingSink implements CommandSink {
    private final CommandSink sink;
    private final BrokenPeers broken;

    BreakingSink(CommandSink sink, BrokenPeers broken) {
        this.sink = sink;
        this.broken = broken;
    }

    @Override
    public void write(int ring, int peer, long target, long source, long bytes) {
        if (!broken.has(peer)) {
            sink.write(ring, peer, target, source, bytes);
        }
    }

    @Override
    public void advance(int ring, int peer, int counter, long value) {
        if (!broken.has(peer)) {
            sink.advance(ring, peer, counter, value);
        }
    }
}
