package org.ep4j.bootstrap;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.ep4j.config.EpKeys;

/** The server's side of one handshake: fixed-size messages, all before one deadline, never waited for. */
final class ServerHandshake implements Reactor.Channel {
    private enum Step {
        PREFIX,
        REST,
        PROOF,
        /** The refusal is sent; what still comes is swallowed, so that closing does not cut the text off. */
        REFUSED,
        OVER
    }

    private final Acceptor acceptor;
    private final Gate gate;
    private final SocketChannel socket;
    private final String who;
    private final Deadline deadline = Deadline.in(Acceptor.HANDSHAKE);
    private final byte[] nonce = Keys.random(Keys.BYTES);
    private Step step = Step.PREFIX;
    private ByteBuffer in = ByteBuffer.allocate(Hello.PREFIX_BYTES);
    private Session session;
    private int swallowed;

    ServerHandshake(Acceptor acceptor, Gate gate, SocketChannel socket, String who) {
        this.acceptor = acceptor;
        this.gate = gate;
        this.socket = socket;
        this.who = who;
        this.session = new Session(gate.key(), Hello.NOBODY, nonce);
    }

    @Override
    public void ready(SelectionKey key) throws IOException {
        while (step != Step.OVER) {
            int got = socket.read(in);
            if (got < 0) {
                throw new EOFException(
                        "the connection ended after " + in.position() + " of " + in.capacity() + " bytes");
            }
            if (step == Step.REFUSED) {
                swallow(got);
            }
            if (in.hasRemaining()) {
                return;
            }
            try {
                advance();
            } catch (RefusedException e) {
                refuse(Sockets.describe(e));
            }
        }
    }

    @Override
    public void tick(long now) {
        if (deadline.passed()) {
            end("its handshake was not done after " + Acceptor.HANDSHAKE.toSeconds() + " s");
        }
    }

    @Override
    public void broken(Throwable cause) {
        end(Sockets.describe(cause));
    }

    /** Ends the handshake without a result. */
    void end(String why) {
        if (step != Step.REFUSED && step != Step.OVER) {
            acceptor.refused(who, why);
        }
        step = Step.OVER;
        acceptor.done(this);
        Sockets.close(socket);
    }

    private void advance() throws IOException, RefusedException {
        byte[] bytes = in.array();
        switch (step) {
            case PREFIX -> {
                int version = Hello.version(bytes);
                if (version != Hello.VERSION) {
                    throw new RefusedException(
                            "this rank speaks version " + version + " of the rendezvous protocol, rank 0 version "
                                    + Hello.VERSION + "; run the same ep4j version on all ranks");
                }
                expect(Step.REST, Hello.REST_BYTES);
            }
            case REST -> {
                session = new Session(gate.key(), Hello.parse(Hello.VERSION, bytes), nonce);
                reply(new Reply(
                        Reply.Type.CHALLENGE,
                        ByteBuffer.allocate(1 + Keys.SALT_BYTES + Keys.BYTES)
                                .put((byte) (gate.secret() ? 1 : 0))
                                .put(gate.salt())
                                .put(nonce)
                                .array()));
                expect(Step.PROOF, Keys.BYTES);
            }
            case PROOF -> {
                check(bytes);
                accept();
            }
            case REFUSED, OVER -> in.clear();
        }
    }

    private void check(byte[] proof) throws RefusedException {
        Hello hello = session.hello();
        if (!Keys.same(session.memberProof(), proof)) {
            String what = hello.secret() == gate.secret()
                    ? "the secret of this rank is not that of rank 0"
                    : hello.secret()
                            ? "this rank has a secret, rank 0 has none"
                            : "rank 0 has a secret, this rank has none";
            throw new RefusedException(
                    what + "; set " + EpKeys.BOOTSTRAP_SECRET.environmentName() + " to the same text on all ranks");
        }
        if (hello.size() != gate.size()) {
            throw new RefusedException("this rank was started for " + hello.size() + " ranks, rank 0 for " + gate.size()
                    + "; set the same " + TcpSettings.WORLD_SIZE + " on all ranks");
        }
        if (hello.rank() < 0 || hello.rank() >= gate.size()) {
            throw new RefusedException("rank " + hello.rank() + " does not exist, must be in [0, " + gate.size()
                    + "); correct " + TcpSettings.RANK);
        }
        gate.check(hello, who);
    }

    private void accept() throws IOException {
        byte[] terms = gate.terms().encode();
        reply(new Reply(
                Reply.Type.ACCEPTED,
                ByteBuffer.allocate(Keys.BYTES + Terms.BYTES)
                        .put(session.serverProof(terms))
                        .put(terms)
                        .array()));
        Connection connection = new Connection(acceptor.reactor(), socket, session.up(), session.down(), gate.terms());
        connection.handler(gate.enter(session.hello(), who, connection));
        step = Step.OVER;
        acceptor.done(this);
        connection.start();
    }

    private void refuse(String text) throws IOException {
        acceptor.refused(who, text);
        step = Step.REFUSED;
        in = ByteBuffer.allocate(Reply.MAX_BODY);
        reply(Reply.refused(text));
        socket.shutdownOutput();
    }

    private void swallow(int got) throws IOException {
        swallowed += got;
        in.clear();
        if (swallowed > Reply.MAX_BODY) {
            throw new IOException("it goes on after it was refused");
        }
    }

    private void expect(Step next, int bytes) {
        step = next;
        in = ByteBuffer.allocate(bytes);
    }

    /** A reply fits into what a new socket takes at once. */
    private void reply(Reply reply) throws IOException {
        ByteBuffer out = reply.encode();
        socket.write(out);
        if (out.hasRemaining()) {
            throw new IOException("it does not take " + out.remaining() + " more bytes");
        }
    }
}
