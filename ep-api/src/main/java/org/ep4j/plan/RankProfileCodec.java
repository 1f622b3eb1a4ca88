package org.ep4j.plan;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.EpMismatchException;
import org.ep4j.plan.RankProfile.BackendProfile;
import org.ep4j.topology.Locality;

/** A {@link RankProfile} as bytes. Texts are UTF-8 of any length, each with its length before it. */
final class RankProfileCodec {
    private static final int FORMAT = 4;

    private RankProfileCodec() {}

    static byte[] encode(RankProfile profile) {
        var bytes = new ByteArrayOutputStream();
        try (var out = new DataOutputStream(bytes)) {
            out.writeInt(FORMAT);
            out.writeInt(profile.rank());
            writeText(out, profile.hostId());
            writeText(out, profile.hostName());
            out.writeLong(profile.pid());
            writeText(out, profile.device().toString());
            LocalityCodec.write(out, profile.locality());
            writeText(out, profile.domain());
            out.writeInt(profile.backends().size());
            for (var entry : profile.backends().entrySet()) {
                writeText(out, entry.getKey());
                out.writeBoolean(entry.getValue().usable());
                writeText(out, entry.getValue().why());
                writeMap(out, entry.getValue().facts());
                writeMap(out, entry.getValue().identity());
            }
            writeMap(out, profile.settings());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    static RankProfile decode(byte[] bytes) {
        try (var in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            int format = in.readInt();
            if (format != FORMAT) {
                throw new EpMismatchException("a rank sent a profile of format " + format
                        + ", but this ep4j reads format " + FORMAT + "; run the same ep4j version on all ranks");
            }
            RankProfile profile = read(in);
            if (in.available() > 0) {
                throw new IOException(in.available() + " bytes too many");
            }
            return profile;
        } catch (IOException | EpArgumentException e) {
            throw new EpMismatchException(
                    "a rank sent " + bytes.length + " bytes that are not a profile (" + e.getMessage()
                            + "); run the same ep4j version on all ranks",
                    e);
        }
    }

    private static RankProfile read(DataInputStream in) throws IOException {
        int rank = in.readInt();
        String hostId = readText(in);
        String hostName = readText(in);
        long pid = in.readLong();
        Device device = Device.parse(readText(in));
        Locality locality = LocalityCodec.read(in);
        String domain = readText(in);
        Map<String, BackendProfile> backends = new TreeMap<>();
        int count = readCount(in);
        for (int i = 0; i < count; i++) {
            String id = readText(in);
            boolean usable = in.readBoolean();
            String why = readText(in);
            backends.put(id, new BackendProfile(usable, why, readMap(in), readMap(in)));
        }
        return new RankProfile(rank, hostId, hostName, pid, device, locality, domain, backends, readMap(in));
    }

    private static void writeMap(DataOutputStream out, Map<String, String> map) throws IOException {
        out.writeInt(map.size());
        for (var entry : map.entrySet()) {
            writeText(out, entry.getKey());
            writeText(out, entry.getValue());
        }
    }

    private static Map<String, String> readMap(DataInputStream in) throws IOException {
        Map<String, String> map = new TreeMap<>();
        int count = readCount(in);
        for (int i = 0; i < count; i++) {
            map.put(readText(in), readText(in));
        }
        return map;
    }

    static void writeText(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    static String readText(DataInputStream in) throws IOException {
        byte[] bytes = new byte[readCount(in)];
        in.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** A number of things, each of which takes one byte at least. */
    static int readCount(DataInputStream in) throws IOException {
        int count = in.readInt();
        if (count < 0 || count > in.available()) {
            throw new IOException("it declares " + count + " entries in the " + in.available() + " bytes that follow");
        }
        return count;
    }
}
