package org.ep4j.cli.topo;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.ep4j.topology.model.TopologyException;
import org.ep4j.topology.read.Limits;

/** Content of an archive, unpacked. Reading past a limit fails, so that a reader takes no more memory than that. */
final class BoundedStream extends FilterInputStream {
    private final String archive;
    private long left = Limits.UNPACKED;
    private long header = Long.MAX_VALUE;

    BoundedStream(String archive, InputStream in) {
        super(in);
        this.archive = archive;
    }

    /** Limits what is read next to the size of the header of an entry. */
    void beginHeader() {
        header = Limits.HEADER;
    }

    /** Ends the limit of a header: the content of an entry is read next. */
    void beginContent() {
        header = Long.MAX_VALUE;
    }

    @Override
    public int read() throws IOException {
        int value = super.read();
        count(value < 0 ? 0 : 1);
        return value;
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
        int count = super.read(buffer, offset, length);
        count(Math.max(0, count));
        return count;
    }

    @Override
    public long skip(long count) throws IOException {
        long skipped = super.skip(Math.min(count, left + 1));
        count(skipped);
        return skipped;
    }

    private void count(long bytes) {
        left -= bytes;
        header -= bytes;
        if (left < 0) {
            throw new TopologyException(archive + " unpacks to more than " + Limits.UNPACKED
                    + " bytes; pack only files of /sys and /proc, as docs/reference/doctor.md shows");
        }
        if (header < 0) {
            throw new TopologyException(
                    archive + " has an entry whose header, name and PAX records together have more than "
                            + Limits.HEADER + " bytes; pack the files again");
        }
    }
}
