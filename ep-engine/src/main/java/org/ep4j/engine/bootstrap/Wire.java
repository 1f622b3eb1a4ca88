package org.ep4j.engine.bootstrap;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.ep4j.Bootstrap.MemberState;

/** Encodes calls between members and hub as frames, and decodes them. */
final class Wire {
    /** Longest detail text; what is longer is cut. */
    private static final int MAX_TEXT = 4096;

    private interface Body {
        void write(DataOutputStream out) throws IOException;
    }

    private Wire() {}

    static Frame declare(String scope, List<Integer> ranks) {
        return frame(Frame.Type.DECLARE, out -> {
            out.writeUTF(scope);
            writeRanks(out, ranks);
        });
    }

    static Frame contribute(String scope, String tag, byte[] mine) {
        return new Frame(Frame.Type.CONTRIBUTE, List.of(key(scope, tag), mine.clone()));
    }

    static Frame giveUp(String scope, String tag) {
        return new Frame(Frame.Type.GIVE_UP, List.of(key(scope, tag)));
    }

    static Frame leave(String scope) {
        return frame(Frame.Type.LEAVE, out -> out.writeUTF(scope));
    }

    /** Encodes a result in as many frames as the limit of the payload needs; the parts are not copied. */
    static List<Frame> result(String scope, String tag, List<byte[]> parts) {
        List<Frame> frames = new ArrayList<>();
        int first = 0;
        while (first < parts.size()) {
            int end = first + 1;
            long bytes = 4L + parts.get(first).length;
            while (end < parts.size() && bytes + 4 + parts.get(end).length <= HubClient.MAX_BYTES) {
                bytes += 4 + parts.get(end).length;
                end++;
            }
            List<byte[]> some = parts.subList(first, end);
            int from = first;
            List<byte[]> body = new ArrayList<>();
            body.add(bytes(out -> {
                out.writeUTF(scope);
                out.writeUTF(tag);
                out.writeInt(from);
                out.writeInt(some.size());
                for (byte[] part : some) {
                    out.writeInt(part.length);
                }
            }));
            body.addAll(some);
            frames.add(new Frame(Frame.Type.RESULT, body));
            first = end;
        }
        return frames;
    }

    static Frame failed(String scope, String tag, GatherFailure failure) {
        return frame(Frame.Type.FAILED, out -> {
            out.writeUTF(scope);
            out.writeUTF(tag);
            out.writeUTF(failure.kind().name());
            writeRanks(out, failure.ranks());
            out.writeUTF(cut(failure.text()));
        });
    }

    static Frame memberGone(String scope, int rank, MemberState state, String reason) {
        return frame(Frame.Type.MEMBER_GONE, out -> {
            out.writeUTF(scope);
            out.writeInt(rank);
            out.writeUTF(state.name());
            out.writeUTF(cut(reason));
        });
    }

    /** Applies a frame of member {@code rank} of {@code size} to the hub; returns whether the member left the group. */
    static boolean toHub(Frame frame, int rank, int size, Hub hub) throws IOException {
        DataInputStream in = frame.open();
        if (frame.type() == Frame.Type.HEARTBEAT) {
            return false;
        }
        String scope = in.readUTF();
        switch (frame.type()) {
            case DECLARE -> {
                List<Integer> ranks = readRanks(in, size);
                if (scope.isEmpty() || !Character.isDigit(scope.charAt(0))) {
                    // Members must not redefine the scopes of the group.
                    throw new IOException(
                            "received a subgroup with the key \"" + scope + "\", which must begin with a digit");
                }
                if (new HashSet<>(ranks).size() != ranks.size() || !ranks.contains(rank)) {
                    throw new IOException("received a subgroup with the ranks " + ranks
                            + ", which must be distinct and include rank " + rank);
                }
                hub.declare(rank, scope, ranks);
            }
            case CONTRIBUTE -> {
                String tag = in.readUTF();
                byte[] mine = in.readAllBytes();
                if (mine.length > HubClient.MAX_BYTES) {
                    throw new IOException("received a part of " + mine.length + " bytes");
                }
                hub.contribute(rank, scope, tag, mine);
            }
            case GIVE_UP -> hub.giveUp(rank, scope, in.readUTF());
            case LEAVE -> {
                hub.leave(rank, scope);
                return scope.equals(Hub.ROOT);
            }
            default -> throw new IOException("received " + frame.type() + " from a member");
        }
        return false;
    }

    /** Applies a frame of the hub to a member. */
    static void toMember(Frame frame, HubClient client) throws IOException {
        DataInputStream in = frame.open();
        if (frame.type() == Frame.Type.HEARTBEAT) {
            return;
        }
        String scope = in.readUTF();
        int size = client.root().size();
        switch (frame.type()) {
            case RESULT -> {
                String tag = in.readUTF();
                int first = in.readInt();
                int[] lengths = new int[checked(in.readInt(), size)];
                for (int i = 0; i < lengths.length; i++) {
                    lengths[i] = checked(in.readInt(), in.available());
                }
                List<byte[]> parts = new ArrayList<>();
                for (int length : lengths) {
                    byte[] part = new byte[checked(length, in.available())];
                    in.readFully(part);
                    parts.add(part);
                }
                client.parts(scope, tag, first, parts);
            }
            case FAILED -> {
                String tag = in.readUTF();
                GatherFailure.Kind kind = GatherFailure.Kind.valueOf(in.readUTF());
                client.failed(scope, tag, new GatherFailure(kind, readRanks(in, size), in.readUTF()));
            }
            case MEMBER_GONE -> {
                int rank = checked(in.readInt(), size - 1);
                MemberState state = MemberState.valueOf(in.readUTF());
                client.memberGone(scope, rank, state, in.readUTF());
            }
            default -> throw new IOException("received " + frame.type() + " from the hub");
        }
    }

    private static void writeRanks(DataOutputStream out, List<Integer> ranks) throws IOException {
        out.writeInt(ranks.size());
        for (int rank : ranks) {
            out.writeInt(rank);
        }
    }

    private static List<Integer> readRanks(DataInputStream in, int size) throws IOException {
        int count = checked(in.readInt(), size);
        List<Integer> ranks = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            ranks.add(checked(in.readInt(), size - 1));
        }
        return ranks;
    }

    private static int checked(int value, int max) throws IOException {
        if (value < 0 || value > max) {
            throw new IOException("received the number " + value + ", which must be in [0, " + max + "]");
        }
        return value;
    }

    private static String cut(String text) {
        return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT);
    }

    private static byte[] key(String scope, String tag) {
        return bytes(out -> {
            out.writeUTF(scope);
            out.writeUTF(tag);
        });
    }

    private static Frame frame(Frame.Type type, Body body) {
        return new Frame(type, List.of(bytes(body)));
    }

    private static byte[] bytes(Body body) {
        var bytes = new ByteArrayOutputStream();
        try (var out = new DataOutputStream(bytes)) {
            body.write(out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }
}
