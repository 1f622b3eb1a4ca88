package org.ep4j.bootstrap;

import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.function.UnaryOperator;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;

/**
 * A member's side of one handshake.
 *
 * @param rank of the member
 * @param size number of ranks that it knows
 * @param secret true when it has one
 * @param where the other side is, for messages
 * @param key gives the key for a salt
 * @param process random bytes that are the same in all attempts of one process
 */
@SuppressWarnings("ArrayRecordComponent") // compared by nobody
record ClientHandshake(int rank, int size, boolean secret, String where, UnaryOperator<byte[]> key, byte[] process) {
    /**
     * What the server decided.
     *
     * @param terms of the connection
     * @param session keys of the connection
     */
    record Accepted(Terms terms, Session session) {}

    /**
     * Asks to be let in.
     *
     * @throws IOException when the other side breaks off, is too slow or speaks another protocol; trying again may help
     * @throws EpUnavailableException when the server refused, or could not prove that it knows the secret
     */
    Accepted ask(Socket socket, Deadline deadline) throws IOException {
        Hello hello = new Hello(Hello.VERSION, rank, size, secret, process, Keys.random(Keys.BYTES));
        socket.getOutputStream().write(hello.bytes());
        ByteBuffer challenge =
                ByteBuffer.wrap(expect(Reply.Type.CHALLENGE, 1 + Keys.SALT_BYTES + Keys.BYTES, socket, deadline));
        challenge.get();
        byte[] salt = new byte[Keys.SALT_BYTES];
        challenge.get(salt);
        byte[] serverNonce = new byte[Keys.BYTES];
        challenge.get(serverNonce);
        Session session = new Session(key.apply(salt), hello, serverNonce);
        socket.getOutputStream().write(session.memberProof());
        byte[] accepted = expect(Reply.Type.ACCEPTED, Keys.BYTES + Terms.BYTES, socket, deadline);
        byte[] terms = Arrays.copyOfRange(accepted, Keys.BYTES, accepted.length);
        if (!Keys.same(session.serverProof(terms), Arrays.copyOf(accepted, Keys.BYTES))) {
            throw new EpUnavailableException("the rendezvous at " + where + " does not know the secret of rank " + rank
                    + ", so it is not that of this job; check the address, and "
                    + EpKeys.BOOTSTRAP_SECRET.environmentName());
        }
        return new Accepted(Terms.parse(terms), session);
    }

    private byte[] expect(Reply.Type type, int length, Socket socket, Deadline deadline) throws IOException {
        Reply reply = Reply.read(socket, deadline);
        if (reply.type() == Reply.Type.REFUSED) {
            throw new EpUnavailableException("rank 0 at " + where + " refused rank " + rank + ": " + reply.text());
        }
        if (reply.type() != type || reply.body().length != length) {
            throw new IOException(
                    "it sent " + reply.type() + " with " + reply.body().length + " bytes where " + type + " was due");
        }
        return reply.body();
    }
}
