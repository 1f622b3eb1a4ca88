package org.ep4j.plan;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Locale;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.Inflater;

/** Compressed bytes behind a head: magic number, format, length of what was compressed, CRC-32 of the compressed bytes. */
final class Packed {
    /** A plan of 8,192 ranks has a few tens of megabytes; what says that it is larger is damaged. */
    private static final int MOST = 1 << 30;

    private Packed() {}

    static byte[] pack(int magic, int format, byte[] body) {
        var compressed = new ByteArrayOutputStream();
        var bytes = new ByteArrayOutputStream();
        try (var deflater = new DeflaterOutputStream(compressed);
                var head = new DataOutputStream(bytes)) {
            deflater.write(body);
            deflater.finish();
            head.writeInt(magic);
            head.writeInt(format);
            head.writeInt(body.length);
            head.writeInt(crc(compressed.toByteArray(), 0));
            head.write(compressed.toByteArray());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /**
     * Reads {@link #pack}.
     *
     * @throws IOException when the bytes are something else or damaged
     */
    static byte[] unpack(int magic, int format, byte[] bytes) throws IOException {
        try (var head = new DataInputStream(new ByteArrayInputStream(bytes))) {
            int foundMagic = head.readInt();
            int foundFormat = head.readInt();
            int length = head.readInt();
            int crc = head.readInt();
            if (foundMagic != magic) {
                throw new IOException(String.format(Locale.ROOT, "they begin with %08x, not %08x", foundMagic, magic));
            }
            if (foundFormat != format) {
                throw new IOException("they have format " + foundFormat + ", but this ep4j reads format " + format);
            }
            if (length < 0 || length > MOST) {
                throw new IOException(
                        "they declare a length of " + length + " bytes, but the length must be in [0, " + MOST + "]");
            }
            int start = bytes.length - head.available();
            if (crc(bytes, start) != crc) {
                throw new IOException("they are cut or damaged");
            }
            byte[] body = inflate(bytes, start, length);
            if (body.length != length) {
                throw new IOException(
                        "they declare a length of " + length + " bytes, but unpack to " + body.length + " bytes");
            }
            return body;
        }
    }

    /** Takes no more memory than there are bytes, whatever the head says. */
    private static byte[] inflate(byte[] bytes, int start, int most) throws IOException {
        Inflater inflater = new Inflater();
        try {
            inflater.setInput(bytes, start, bytes.length - start);
            var body = new ByteArrayOutputStream();
            byte[] part = new byte[8192];
            int read = inflater.inflate(part);
            while (read > 0 && body.size() <= most) {
                body.write(part, 0, read);
                read = inflater.inflate(part);
            }
            if (!inflater.finished() || inflater.getRemaining() > 0) {
                throw new IOException("they are cut, damaged, or followed by other bytes");
            }
            return body.toByteArray();
        } catch (DataFormatException e) {
            throw new IOException("they are damaged: " + e.getMessage(), e);
        } finally {
            inflater.end();
        }
    }

    private static int crc(byte[] bytes, int start) {
        CRC32 crc = new CRC32();
        crc.update(bytes, start, bytes.length - start);
        return (int) crc.getValue();
    }
}
