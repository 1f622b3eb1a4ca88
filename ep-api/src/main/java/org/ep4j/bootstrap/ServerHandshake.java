package org.ep4j.bootstrap;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Arrays;
import org.ep4j.config.EpKeys;
import org.jspecify.annotations.Nullable;

/**
 * The server's side of one handshake: a few messages of fixed sizes, all before one deadline. The server proves first that it knows the secret,
 * so that a member shows nothing to one that does not.
 */
final class ServerHandshake implements IoLoop.ChannelHandler {
    /** What happens in a handshake. Called by the thread of the loop. */
    interface Owner {
        /**
         * Decides whether a member that has proved who it is may come in. {@link #accept} follows, at once or later.
         *
         * @throws RefusedException if it must not come in
         */
        void identified(ServerHandshake handshake) throws RefusedException;

        /** Takes over the channel of a member that knows that it is in: another handler has to serve it from now on. */
        void accepted(ServerHandshake handshake);

        /** Takes note that there will be no member. Called once. */
        void ended(ServerHandshake handshake, String why);

        /** Takes note that the channel is closed. */
        void closed(ServerHandshake handshake);
    }

    /** The member must not come in; the message is what it is told. */
    static final class RefusedException extends Exception {
        private static final long serialVersionUID = 1L;

        RefusedException(String message) {
            super(message);
        }
    }

    private enum Step {
        PREFIX,
        REST,
        PROOF,
        /** Proved; the rank may have to become free. */
        IDENTIFIED,
        /** The last message is being written. */
        ACCEPTED,
        /** The reason is being written; what still comes is dropped, so that the reason is not lost. */
        REFUSED,
        OVER
    }

    private static final long NEVER = Long.MAX_VALUE / 4;

    private final SocketChannel channel;
    private final TcpSettings settings;
    private final byte[] secretKey;
    private final byte[] salt;
    private final Owner owner;
    private final Deadline deadline;
    private final String remote;
    private final byte[] nonce = Proof.nonce();
    private ByteBuffer in = ByteBuffer.allocate(Hello.PREFIX_BYTES);
    private ByteBuffer out = ByteBuffer.allocate(0);
    private Step step = Step.PREFIX;
    private int dropped;
    private @Nullable SelectionKey key;
    private @Nullable Hello hello;
    private byte[] challenge = new byte[0];
    /** Key of this connection. Set with {@link #hello}. */
    private byte[] connectionKey = new byte[0];

    /**
     * The handshake of a connection that has just come.
     *
     * @param secretKey derived from the secret: {@link Secret#key}
     * @param salt with which it was derived
     */
    ServerHandshake(SocketChannel channel, TcpSettings settings, byte[] secretKey, byte[] salt, Owner owner)
            throws IOException {
        this.channel = channel;
        this.settings = settings;
        this.secretKey = secretKey;
        this.salt = salt;
        this.owner = owner;
        remote = channel.getRemoteAddress().toString();
        deadline = settings.deadline(settings.handshake());
    }

    SocketChannel channel() {
        return channel;
    }

    /** Address of the member, for messages. */
    String remote() {
        return remote;
    }

    /** Rank that the member has. Known once it is identified. */
    int rank() {
        return hello().rank();
    }

    /** True if the other handshake is another attempt of the same join. */
    boolean isOfSameProcess(ServerHandshake other) {
        return Proof.same(hello().process(), other.hello().process());
    }

    /** True if the other handshake, of the same process, began before this one. */
    boolean isLaterThan(ServerHandshake other) {
        return hello().attempt() > other.hello().attempt();
    }

    /** Keys and times of what follows the handshake. */
    Connection.Session session() {
        byte[] said = hello().bytes();
        return new Connection.Session(
                Proof.of(connectionKey, Proof.Purpose.FROM_SERVER, said, challenge),
                Proof.of(connectionKey, Proof.Purpose.FROM_MEMBER, said, challenge),
                settings.heartbeat(),
                settings.silence());
    }

    private Hello hello() {
        Hello said = hello;
        if (said == null) {
            throw new IllegalStateException("the member has not said who it is");
        }
        return said;
    }

    @Override
    public void registered(SelectionKey itsKey) {
        key = itsKey;
    }

    @Override
    public void ready() throws IOException {
        try {
            while (advance()) {
                // Until more has to come, or to be written.
            }
        } catch (RefusedException e) {
            refuse(e);
        }
    }

    /** Does one step; false if it has to wait for the other side. */
    private boolean advance() throws IOException, RefusedException {
        switch (step) {
            case PREFIX -> {
                if (!fill()) {
                    return false;
                }
                int version = Hello.version(in.array());
                if (version != Hello.VERSION) {
                    throw new RefusedException("this rank speaks version " + version
                            + " of the rendezvous protocol, rank 0 version " + Hello.VERSION
                            + "; run the same ep4j version on all ranks");
                }
                expect(Step.REST, Hello.REST_BYTES);
            }
            case REST -> {
                if (!fill()) {
                    return false;
                }
                hello = Hello.parse(Hello.VERSION, in.array());
                checkBothHaveSecrets(hello());
                connectionKey = Secret.connectionKey(secretKey, hello().salt());
                challenge = Reply.challenge(settings.secret(), nonce, salt);
                byte[] proof = Proof.of(connectionKey, Proof.Purpose.SERVER, hello().bytes(), challenge);
                write(new Reply(Reply.Type.CHALLENGE, concat(challenge, proof)));
                expect(Step.PROOF, Proof.BYTES);
            }
            case PROOF -> {
                if (!flush() || !fill()) {
                    return false;
                }
                checkProof();
                expect(Step.IDENTIFIED, 1);
                owner.identified(this);
            }
            case IDENTIFIED -> {
                if (fill()) {
                    throw new IOException(
                            "the client sent more than its proof before rank 0 had accepted the connection");
                }
                return false;
            }
            case ACCEPTED -> {
                if (flush()) {
                    handOver();
                }
                return false;
            }
            case REFUSED -> {
                if (flush()) {
                    channel.shutdownOutput();
                    drop();
                }
                return false;
            }
            case OVER -> {
                return false;
            }
        }
        return true;
    }

    /** Asks the owner once more, for whom the rank has become free. Called by the thread of the loop. */
    void identifyAgain() {
        if (step != Step.IDENTIFIED) {
            return;
        }
        try {
            owner.identified(this);
        } catch (RefusedException e) {
            refuse(e);
        } catch (Throwable e) {
            failed(e);
        }
    }

    /** As {@link #ready}, with a failure as its end. Called by the thread of the loop. */
    void tryReady() {
        try {
            ready();
        } catch (IOException | RuntimeException e) {
            failed(e);
        }
    }

    /** Number of messages that have come from the member, in whole or in part; more once the server has answered. */
    int progress() {
        return switch (step) {
            case PREFIX -> in.position() == 0 ? 0 : 1;
            case REST -> 1;
            default -> 2;
        };
    }

    /** True if nothing more follows. */
    boolean isOver() {
        return step == Step.OVER;
    }

    /** Whether the member has proved who it is. */
    boolean isIdentified() {
        return step == Step.IDENTIFIED || step == Step.ACCEPTED;
    }

    private void expect(Step next, int bytes) {
        step = next;
        in = ByteBuffer.allocate(bytes);
    }

    private boolean fill() throws IOException {
        while (in.hasRemaining()) {
            int got = channel.read(in);
            if (got < 0 && progress() == 0) {
                // Health checks do so, and a rank that tries another address first: nothing was refused.
                close();
                return false;
            }
            if (got < 0) {
                throw new EOFException(
                        step == Step.PROOF
                                ? "the client ended its handshake after it had received rank 0's proof; the client and rank 0"
                                        + " may have different secrets"
                                : "the connection ended during its handshake");
            }
            if (got == 0) {
                return false;
            }
        }
        return true;
    }

    private boolean flush() throws IOException {
        if (out.hasRemaining()) {
            channel.write(out);
        }
        SelectionKey mine = key;
        if (mine != null && mine.isValid()) {
            mine.interestOps(SelectionKey.OP_READ | (out.hasRemaining() ? SelectionKey.OP_WRITE : 0));
        }
        return !out.hasRemaining();
    }

    private void write(Reply reply) throws IOException {
        out = ByteBuffer.wrap(reply.bytes());
        flush();
    }

    private void checkBothHaveSecrets(Hello said) throws RefusedException {
        boolean mine = !settings.secret().isEmpty();
        if (said.secret() != mine) {
            throw new RefusedException(
                    (mine ? "rank 0 has a secret, this rank has none" : "this rank has a secret, rank 0 has none")
                            + "; set " + EpKeys.BOOTSTRAP_SECRET.environmentName() + " to the same text on all ranks");
        }
    }

    /** Checks the member's proof, then what it claims. */
    private void checkProof() throws RefusedException {
        Hello said = hello();
        if (!Proof.same(Proof.of(connectionKey, Proof.Purpose.MEMBER, said.bytes(), challenge), in.array())) {
            throw new RefusedException("this rank and rank 0 have different secrets; set "
                    + EpKeys.BOOTSTRAP_SECRET.environmentName() + " to the same text on all ranks");
        }
        if (said.size() != settings.size()) {
            throw new RefusedException("this rank was started for " + said.size() + " ranks, rank 0 for "
                    + settings.size() + "; set the same " + TcpSettings.WORLD_SIZE + " on all ranks");
        }
        if (said.rank() < 0 || said.rank() >= settings.size()) {
            throw new RefusedException("rank " + said.rank() + " does not exist, must be in [0, " + settings.size()
                    + "); correct " + TcpSettings.RANK);
        }
    }

    /** Lets the member in. */
    void accept() throws IOException {
        byte[] timing = ByteBuffer.allocate(8)
                .putInt(millis(settings.heartbeat()))
                .putInt(millis(settings.silence()))
                .array();
        byte[] proof = Proof.of(connectionKey, Proof.Purpose.ACCEPTED, hello().bytes(), challenge, timing);
        step = Step.ACCEPTED;
        out = ByteBuffer.wrap(new Reply(Reply.Type.ACCEPTED, concat(proof, timing)).bytes());
        if (flush()) {
            handOver();
        }
    }

    private void handOver() {
        step = Step.OVER;
        SelectionKey mine = key;
        if (mine != null && mine.isValid()) {
            mine.interestOps(0);
        }
        boolean taken = false;
        try {
            owner.accepted(this);
            taken = true;
        } finally {
            if (!taken) {
                try {
                    close();
                } finally {
                    owner.ended(this, "rank 0 had no memory for another member");
                }
            }
        }
    }

    /** Says why, and waits until the member has read it. */
    private void refuse(RefusedException e) {
        String why = Sockets.describe(e);
        step = Step.REFUSED;
        owner.ended(this, why);
        try {
            write(Reply.refused(why));
            ready();
        } catch (IOException gone) {
            close();
        }
    }

    private void drop() throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(Reply.MAX_BODY);
        int got = channel.read(buffer);
        while (got > 0 && dropped < Reply.MAX_BODY) {
            dropped += got;
            buffer.clear();
            got = channel.read(buffer);
        }
        if (got != 0) {
            close();
        }
    }

    @Override
    public long onTimer(long now) {
        if (step == Step.OVER) {
            return NEVER;
        }
        if (deadline.passed()) {
            failed(new IOException(
                    "its handshake was not done after " + settings.handshake().toSeconds() + " s"));
            return NEVER;
        }
        return deadline.remainingNanos();
    }

    @Override
    public void failed(Throwable failure) {
        if (step == Step.OVER) {
            return;
        }
        boolean isNews = step != Step.REFUSED;
        close();
        if (isNews) {
            owner.ended(this, Sockets.describe(failure));
        }
    }

    /** Ends the handshake without a word. Called by the thread of the loop. */
    void close() {
        step = Step.OVER;
        try {
            Sockets.close(channel);
        } finally {
            owner.closed(this);
        }
    }

    private static byte[] concat(byte[] a, byte[] b) {
        byte[] both = Arrays.copyOf(a, a.length + b.length);
        System.arraycopy(b, 0, both, a.length, b.length);
        return both;
    }

    private static int millis(Duration duration) {
        return (int) Math.min(Integer.MAX_VALUE, duration.toMillis());
    }
}
