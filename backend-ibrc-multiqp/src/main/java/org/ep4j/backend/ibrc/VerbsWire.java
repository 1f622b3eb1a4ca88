package org.ep4j.backend.ibrc;

import java.lang.ref.Reference;
import org.ep4j.transport.memory.NativeRecord;

/** The real verbs below a link. */
final class VerbsWire implements Wire {
    private final long[] queuePairs;
    private final NativeRecord completionQueues;
    private final long queueAddresses;
    private final int queues;

    /**
     * Over connected queue pairs.
     *
     * @param queuePairs by lane
     * @param completionQueues all of them
     */
    VerbsWire(long[] queuePairs, long[] completionQueues) {
        this.queuePairs = queuePairs.clone();
        this.queues = completionQueues.length;
        this.completionQueues = new NativeRecord(Long.BYTES * queues);
        this.queueAddresses = this.completionQueues.address();
        for (int i = 0; i < queues; i++) {
            this.completionQueues.buffer().putLong(Long.BYTES * i, completionQueues[i]);
        }
    }

    @Override
    public int post(SendQueue.Batch batch, int from, int to) {
        NativeRecord error = batch.error();
        try {
            return from + Verbs.post(batch.address(from), to - from, error.address());
        } finally {
            Reference.reachabilityFence(error);
        }
    }

    @Override
    public int poll(Completions into, int polls) {
        int found = Verbs.poll(queueAddresses, queues, into.address(), into.capacity(), polls);
        return found >= 0 ? found : (int) Errno.check(found, "ibv_poll_cq");
    }

    @Override
    public void stop(int lane) {
        // It fails where the device is gone, which ends the queue pair as well.
        Verbs.toError(queuePairs[lane]);
    }

    @Override
    public int postReceives(int lane, int count) {
        return Verbs.postReceives(queuePairs[lane], Completions.receiveId(lane), count);
    }

    @Override
    public String status(int status) {
        return VerbsLibrary.status(status);
    }

    @Override
    public String error(int error) {
        return Errno.text(error);
    }
}
