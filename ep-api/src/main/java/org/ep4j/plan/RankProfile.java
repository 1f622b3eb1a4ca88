package org.ep4j.plan;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.Device;
import org.ep4j.EpMismatchException;

/**
 * What one rank reported about itself; the input of planning.
 *
 * @param rank number in the group
 * @param hostId equal for ranks that share one operating system, different otherwise
 * @param hostName name of the machine, for messages
 * @param pid process id on its host
 * @param device device of the rank
 * @param backends what each backend's probe found, by backend id
 * @param settings values of the settings that all ranks must share, by key
 */
public record RankProfile(
        int rank,
        String hostId,
        String hostName,
        long pid,
        Device device,
        Map<String, BackendProfile> backends,
        Map<String, String> settings) {
    private static final int FORMAT = 1;

    /**
     * One backend on one rank.
     *
     * @param usable true when no check failed
     * @param why why it is not usable, with remedies; empty when it is
     * @param facts what {@code offer} needs
     */
    public record BackendProfile(boolean usable, String why, Map<String, String> facts) {
        /** Copies the facts, in key order. */
        public BackendProfile {
            facts = Collections.unmodifiableMap(new TreeMap<>(facts));
        }
    }

    /** Copies the maps, in key order. */
    public RankProfile {
        backends = Collections.unmodifiableMap(new TreeMap<>(backends));
        settings = Collections.unmodifiableMap(new TreeMap<>(settings));
    }

    /** The facts of one backend; empty when this rank does not have it. */
    public Map<String, String> facts(String backend) {
        BackendProfile profile = backends.get(backend);
        return profile == null ? Map.of() : profile.facts();
    }

    /** One backend, or empty when this rank does not have it. */
    public Optional<BackendProfile> backend(String id) {
        return Optional.ofNullable(backends.get(id));
    }

    /** Name for messages: {@code rank 3 (host-a, pid 4711, host:0)}. */
    public String label() {
        return "rank " + rank + " (" + hostName + ", pid " + pid + ", " + device + ")";
    }

    /** The profile as bytes; equal profiles give equal bytes. */
    public byte[] encode() {
        var bytes = new ByteArrayOutputStream();
        try (var out = new DataOutputStream(bytes)) {
            out.writeInt(FORMAT);
            out.writeInt(rank);
            out.writeUTF(hostId);
            out.writeUTF(hostName);
            out.writeLong(pid);
            out.writeUTF(device.toString());
            out.writeInt(backends.size());
            for (var entry : backends.entrySet()) {
                out.writeUTF(entry.getKey());
                out.writeBoolean(entry.getValue().usable());
                out.writeUTF(entry.getValue().why());
                writeMap(out, entry.getValue().facts());
            }
            writeMap(out, settings);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /**
     * Reads {@link #encode}.
     *
     * @throws EpMismatchException when the bytes are not a profile of this version
     */
    public static RankProfile decode(byte[] bytes) {
        try (var in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            int format = in.readInt();
            if (format != FORMAT) {
                throw new EpMismatchException("a rank sent a profile of format " + format + ", this ep4j reads " + FORMAT
                        + "; run the same ep4j version on all ranks");
            }
            int rank = in.readInt();
            String hostId = in.readUTF();
            String hostName = in.readUTF();
            long pid = in.readLong();
            Device device = Device.parse(in.readUTF());
            Map<String, BackendProfile> backends = new TreeMap<>();
            int count = in.readInt();
            for (int i = 0; i < count; i++) {
                String id = in.readUTF();
                boolean usable = in.readBoolean();
                String why = in.readUTF();
                backends.put(id, new BackendProfile(usable, why, readMap(in)));
            }
            return new RankProfile(rank, hostId, hostName, pid, device, backends, readMap(in));
        } catch (IOException e) {
            throw new EpMismatchException(
                    "a rank sent " + bytes.length + " bytes that are not a profile; run the same ep4j version on all ranks", e);
        }
    }

    private static void writeMap(DataOutputStream out, Map<String, String> map) throws IOException {
        out.writeInt(map.size());
        for (var entry : map.entrySet()) {
            out.writeUTF(entry.getKey());
            out.writeUTF(entry.getValue());
        }
    }

    private static Map<String, String> readMap(DataInputStream in) throws IOException {
        Map<String, String> map = new TreeMap<>();
        int count = in.readInt();
        for (int i = 0; i < count; i++) {
            map.put(in.readUTF(), in.readUTF());
        }
        return map;
    }
}
