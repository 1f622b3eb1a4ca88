package org.ep4j.engine.bootstrap;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.engine.bootstrap.Handshake.Hello;
import org.ep4j.engine.bootstrap.Handshake.Proof;
import org.ep4j.engine.bootstrap.Handshake.Reply;

/** An attacker between a member and the rendezvous that forwards the handshake unchanged and changes one record afterwards. */
final class ManInTheMiddle implements AutoCloseable {
    /** Change of a record. */
    enum Act {
        CHANGE,
        DROP,
        REPEAT,
        SWAP
    }

    private static final int REPLY_HEAD_BYTES = Hello.PREFIX_BYTES + 3;

    private final ServerSocket listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
    private final AtomicBoolean acted = new AtomicBoolean();
    private final Act act;
    private final boolean toServer;
    private final int at;
    private final int bit;

    /**
     * A listener of its own, before the server's port.
     *
     * @param toServer direction of the record
     * @param at its number in that direction
     * @param bit of the record that {@link Act#CHANGE} inverts; taken modulo its length
     */
    ManInTheMiddle(int serverPort, Act act, boolean toServer, int at, int bit) throws IOException {
        this.act = act;
        this.toServer = toServer;
        this.at = at;
        this.bit = bit;
        daemon(() -> serve(serverPort));
    }

    int port() {
        return listener.getLocalPort();
    }

    /** Whether the record came. */
    boolean acted() {
        return acted.get();
    }

    private void serve(int serverPort) {
        try {
            Socket member = listener.accept();
            Socket server = new Socket(InetAddress.getLoopbackAddress(), serverPort);
            member.setTcpNoDelay(true);
            server.setTcpNoDelay(true);
            daemon(() -> pump(member, server, true));
            daemon(() -> pump(server, member, false));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private void pump(Socket from, Socket to, boolean up) {
        try (from;
                to) {
            DataInputStream in = new DataInputStream(from.getInputStream());
            OutputStream out = to.getOutputStream();
            if (up) {
                out.write(in.readNBytes(Hello.PREFIX_BYTES + Hello.REST_BYTES));
                out.write(in.readNBytes(Proof.BYTES));
            } else {
                out.write(in.readNBytes(REPLY_HEAD_BYTES + Reply.CHALLENGE_BYTES + Proof.BYTES));
                out.write(in.readNBytes(REPLY_HEAD_BYTES + Proof.BYTES + 8));
            }
            byte[] held = new byte[0];
            for (int number = 0; ; number++) {
                byte[] record = record(in);
                if (up != toServer || number < at || number > at + 1) {
                    out.write(record);
                } else if (number == at) {
                    acted.set(true);
                    switch (act) {
                        case CHANGE -> {
                            record[bit / 8 % record.length] ^= (byte) (1 << bit % 8);
                            out.write(record);
                        }
                        case DROP -> {
                            // Gone.
                        }
                        case REPEAT -> {
                            out.write(record);
                            out.write(record);
                        }
                        case SWAP -> held = record;
                    }
                } else {
                    out.write(record);
                    out.write(held);
                }
            }
        } catch (IOException e) {
            // One side has ended the connection: the other one is ended, too.
            return;
        }
    }

    private static byte[] record(DataInputStream in) throws IOException {
        int length = in.readUnsignedShort();
        byte[] record = new byte[2 + length + 16];
        ByteBuffer.wrap(record).putShort((short) length);
        in.readFully(record, 2, record.length - 2);
        return record;
    }

    private static void daemon(Runnable work) {
        Thread thread = new Thread(work, "test-middle");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
