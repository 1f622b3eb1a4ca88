package org.ep4j.engine.bootstrap;

import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.transport.Deadline;
import org.jspecify.annotations.Nullable;

/**
 * The handshake of a member with the server on rank 0: four messages, all before one deadline. The member sends a {@link Hello}, the
 * server a challenge with its proof, the member its proof, the server the heartbeat times of the connection ({@link Reply}). The server
 * proves first that it knows the secret, so that a member reveals nothing to one that does not.
 *
 * <p>{@link #join} is the member's side, which blocks the calling thread. An object is the server's side of one connection and has no
 * lock: the thread of its {@link IoLoop} alone calls it. Only {@link #rank}, which no longer changes once the member is identified, is
 * also read by the loop that serves the member afterwards.
 */
final class Handshake implements IoLoop.ChannelHandler {
    /** Decides about a member and takes its channel over. Called by the thread of the loop. */
    interface Owner {
        /**
         * Decides whether an authenticated member may join. {@link #accept} follows, at once or later.
         *
         * @throws RefusedException if it must not join
         */
        void identified(Handshake handshake) throws RefusedException;

        /** Takes over the channel of an accepted member: another handler has to serve it from now on. */
        void accepted(Handshake handshake);

        /** Handles the end of a handshake without a member. Called once. */
        void ended(Handshake handshake, String why);

        /** Handles the end of the channel. */
        void closed(Handshake handshake);
    }

    /** Refusal of a member; the message is sent to it. */
    static final class RefusedException extends Exception {
        private static final long serialVersionUID = 1L;

        RefusedException(String message) {
            super(message);
        }
    }

    /** Derivation of the key of a rendezvous from the secret: {@link Secret#key}. */
    interface Keys {
        byte[] key(byte[] salt, int iterations);
    }

    private enum Step {
        PREFIX,
        REST,
        PROOF,
        /** Authenticated; the rank may have to become free. */
        IDENTIFIED,
        /** The last message is being written. */
        ACCEPTED,
        /** The reason is being written; input is discarded meanwhile, so that the reason is not lost. */
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
    private final byte[] nonce = nonce();
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
     * Begins the handshake of a new connection.
     *
     * @param secretKey derived from the secret: {@link Secret#key}
     * @param salt with which it was derived
     */
    Handshake(SocketChannel channel, TcpSettings settings, byte[] secretKey, byte[] salt, Owner owner)
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

    String remote() {
        return remote;
    }

    /** Rank of the member, once it is identified. */
    int rank() {
        return hello().rank();
    }

    /** Returns whether the other handshake is another attempt of the same join. */
    boolean isOfSameProcess(Handshake other) {
        return MessageDigest.isEqual(hello().process(), other.hello().process());
    }

    /** Returns whether the other handshake, of the same process, began before this one. */
    boolean isLaterThan(Handshake other) {
        return hello().attempt() > other.hello().attempt();
    }

    /** Keys and heartbeat times of the connection. */
    Connection.Session session() {
        byte[] first = hello().bytes();
        return new Connection.Session(
                Proof.FROM_SERVER.of(connectionKey, first, challenge),
                Proof.FROM_MEMBER.of(connectionKey, first, challenge),
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
                // Until it has to wait for the other side.
            }
        } catch (RefusedException e) {
            refuse(e);
        }
    }

    /** Does one step; returns false if it has to wait for the other side. */
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
                byte[] proof = Proof.SERVER.of(connectionKey, hello().bytes(), challenge);
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

    /** Asks the owner again, since the rank has become free. Called by the thread of the loop. */
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

    /** As {@link #ready}, but a failure ends the handshake. Called by the thread of the loop. */
    void tryReady() {
        try {
            ready();
        } catch (IOException | RuntimeException e) {
            failed(e);
        }
    }

    /** Number of messages that the member has sent, in whole or in part; more once the server has answered. */
    int progress() {
        return switch (step) {
            case PREFIX -> in.position() == 0 ? 0 : 1;
            case REST -> 1;
            default -> 2;
        };
    }

    boolean isOver() {
        return step == Step.OVER;
    }

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
                // Health checks do this, and ranks that try another address first: nothing was refused.
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
        IoLoop.setInterest(key, SelectionKey.OP_READ | (out.hasRemaining() ? SelectionKey.OP_WRITE : 0));
        return !out.hasRemaining();
    }

    private boolean write(Reply reply) throws IOException {
        out = ByteBuffer.wrap(reply.bytes());
        return flush();
    }

    private void checkBothHaveSecrets(Hello said) throws RefusedException {
        boolean mine = !settings.secret().isEmpty();
        if (said.secret() != mine) {
            throw new RefusedException(
                    (mine ? "rank 0 has a secret, this rank has none" : "this rank has a secret, rank 0 has none")
                            + "; set " + EpKeys.BOOTSTRAP_SECRET.environmentName() + " to the same text on all ranks");
        }
    }

    /** Checks the member's proof, then its rank and size. */
    private void checkProof() throws RefusedException {
        Hello said = hello();
        if (!MessageDigest.isEqual(Proof.MEMBER.of(connectionKey, said.bytes(), challenge), in.array())) {
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

    void accept() throws IOException {
        byte[] timing = ByteBuffer.allocate(8)
                .putInt(millis(settings.heartbeat()))
                .putInt(millis(settings.silence()))
                .array();
        byte[] proof = Proof.ACCEPTED.of(connectionKey, hello().bytes(), challenge, timing);
        step = Step.ACCEPTED;
        if (write(new Reply(Reply.Type.ACCEPTED, concat(proof, timing)))) {
            handOver();
        }
    }

    private void handOver() {
        step = Step.OVER;
        IoLoop.setInterest(key, 0);
        try {
            owner.accepted(this);
        } catch (RuntimeException | Error e) {
            try {
                close();
            } finally {
                owner.ended(this, "rank 0 had no memory for another member");
            }
            throw e;
        }
    }

    /** Sends the reason, and waits until the member has read it. */
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
        boolean isOpen = step != Step.REFUSED;
        close();
        if (isOpen) {
            owner.ended(this, Sockets.describe(failure));
        }
    }

    /** Closes the channel without an answer. Called by the thread of the loop. */
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

    /**
     * Performs the member's side.
     *
     * @param process the same bytes in all attempts of one join
     * @param attempt number of this attempt, greater than those before
     * @param keys derives the key from the secret
     * @throws IOException when the other side breaks off, is too slow or speaks another protocol; trying again may help
     * @throws EpUnavailableException when the server refused, or could not prove that it knows the secret
     */
    static Connection.Session join(
            Socket socket, TcpSettings settings, byte[] process, int attempt, Keys keys, Deadline deadline)
            throws IOException {
        byte[] memberSalt = nonce();
        byte[] hello = new Hello(
                        Hello.VERSION,
                        settings.rank(),
                        settings.size(),
                        !settings.secret().isEmpty(),
                        memberSalt,
                        process,
                        attempt)
                .bytes();
        socket.getOutputStream().write(hello);
        byte[] answer = receive(Reply.Type.CHALLENGE, Reply.CHALLENGE_BYTES + Proof.BYTES, socket, settings, deadline);
        byte[] challenge = Arrays.copyOf(answer, Reply.CHALLENGE_BYTES);
        ByteBuffer derivation = ByteBuffer.wrap(challenge).position(1 + Proof.BYTES);
        byte[] salt = new byte[Secret.SALT_BYTES];
        int iterations = derivation.get(salt).getInt();
        if (iterations < 1 || iterations > Secret.MAX_ITERATIONS) {
            throw new IOException("the server asks for " + iterations
                    + " iterations of PBKDF2, but the number must be in [1, " + Secret.MAX_ITERATIONS + "]");
        }
        byte[] key = Secret.connectionKey(keys.key(salt, iterations), memberSalt);
        byte[] proof = Arrays.copyOfRange(answer, Reply.CHALLENGE_BYTES, answer.length);
        if (!MessageDigest.isEqual(Proof.SERVER.of(key, hello, challenge), proof)) {
            // Nothing that depends on the secret has been sent: a server that does not know it learns nothing.
            throw new EpUnavailableException("the rendezvous at " + settings.host() + ":" + settings.port()
                    + " does not know the secret of rank " + settings.rank() + ": this rank and rank 0 have"
                    + " different secrets, or it is the rendezvous of another job; set "
                    + EpKeys.BOOTSTRAP_SECRET.environmentName()
                    + " to the same text on all ranks, and check the address");
        }
        socket.getOutputStream().write(Proof.MEMBER.of(key, hello, challenge));
        byte[] accepted = receive(Reply.Type.ACCEPTED, Proof.BYTES + 8, socket, settings, deadline);
        byte[] timing = Arrays.copyOfRange(accepted, Proof.BYTES, accepted.length);
        byte[] expected = Proof.ACCEPTED.of(key, hello, challenge, timing);
        if (!MessageDigest.isEqual(expected, Arrays.copyOf(accepted, Proof.BYTES))) {
            throw new IOException("the server's last message was changed in transit");
        }
        ByteBuffer millis = ByteBuffer.wrap(timing);
        int heartbeat = millis.getInt();
        int silence = millis.getInt();
        if (heartbeat < 1 || silence < heartbeat) {
            throw new IOException(
                    "the server asks for a heartbeat every " + heartbeat + " ms and a heartbeat timeout of " + silence
                            + " ms; the heartbeat must be at least 1 ms, and the timeout at least as long");
        }
        return new Connection.Session(
                Proof.FROM_MEMBER.of(key, hello, challenge),
                Proof.FROM_SERVER.of(key, hello, challenge),
                Duration.ofMillis(heartbeat),
                Duration.ofMillis(silence));
    }

    private static byte[] receive(Reply.Type type, int length, Socket socket, TcpSettings settings, Deadline deadline)
            throws IOException {
        Reply reply = Reply.read(socket, deadline);
        if (reply.type() == Reply.Type.REFUSED) {
            throw new EpUnavailableException("rank 0 at " + settings.host() + ":" + settings.port() + " refused rank "
                    + settings.rank() + ": " + reply.text());
        }
        if (reply.type() != type || reply.body().length != length) {
            throw new IOException("the server sent " + reply.type() + " with " + reply.body().length + " bytes where "
                    + type + " was due");
        }
        return reply.body();
    }

    static byte[] nonce() {
        return random(Proof.BYTES);
    }

    static byte[] random(int bytes) {
        byte[] random = new byte[bytes];
        new SecureRandom().nextBytes(random);
        return random;
    }

    /**
     * The first message of a member. Six bytes, the same in every version of the protocol, then the fields of this version.
     *
     * @param secret whether the member has a secret
     * @param salt random bytes, new in each attempt; the member's salt in {@link Secret#connectionKey}
     * @param process random bytes that are the same in all attempts of one join, so that a later one can replace an earlier one
     * @param attempt number of this attempt, greater than those before
     */
    @SuppressWarnings("ArrayRecordComponent") // compared by nobody
    record Hello(int version, int rank, int size, boolean secret, byte[] salt, byte[] process, int attempt) {
        /** "EP4J". */
        static final int MAGIC = 0x4550344a;

        static final int VERSION = 5;

        /** Bytes of magic and version. */
        static final int PREFIX_BYTES = 6;

        /** Bytes that follow the prefix in this version. */
        static final int REST_BYTES = 4 + 4 + 1 + 2 * Proof.BYTES + 4;

        byte[] bytes() {
            return ByteBuffer.allocate(PREFIX_BYTES + REST_BYTES)
                    .putInt(MAGIC)
                    .putShort((short) version)
                    .putInt(rank)
                    .putInt(size)
                    .put((byte) (secret ? 1 : 0))
                    .put(salt)
                    .put(process)
                    .putInt(attempt)
                    .array();
        }

        /**
         * Reads the version from a prefix.
         *
         * @throws IOException when it is not this protocol at all
         */
        static int version(byte[] prefix) throws IOException {
            ByteBuffer buffer = ByteBuffer.wrap(prefix);
            if (buffer.getInt() != MAGIC) {
                throw new IOException("the other side does not speak the rendezvous protocol (its first bytes: "
                        + HexFormat.ofDelimiter(" ").formatHex(prefix) + ")");
            }
            return Short.toUnsignedInt(buffer.getShort());
        }

        static Hello parse(int version, byte[] rest) {
            ByteBuffer buffer = ByteBuffer.wrap(rest);
            int rank = buffer.getInt();
            int size = buffer.getInt();
            boolean secret = buffer.get() != 0;
            byte[] salt = new byte[Proof.BYTES];
            buffer.get(salt);
            byte[] process = new byte[Proof.BYTES];
            buffer.get(process);
            return new Hello(version, rank, size, secret, salt, process, buffer.getInt());
        }
    }

    /**
     * A message of the server: magic, version, type, length, body. This envelope and a refusal are the same in every version of the
     * protocol, so that a member of another version can report why it was refused.
     */
    @SuppressWarnings("ArrayRecordComponent") // compared by nobody
    record Reply(Type type, byte[] body) {
        static final int MAX_BODY = 4096;

        private static final int HEAD_BYTES = Hello.PREFIX_BYTES + 1 + 2;

        static final int CHALLENGE_BYTES = 1 + Proof.BYTES + Secret.SALT_BYTES + Integer.BYTES;

        /** Types, with their numbers on the wire. */
        enum Type {
            /** The text of the refusal. */
            REFUSED(0),
            /** 1 byte: whether the server has a secret; its nonce, its salt, 4 bytes iterations of PBKDF2, its proof. */
            CHALLENGE(1),
            /** A proof of the times that follow: 4 bytes heartbeat and 4 bytes silence in milliseconds. */
            ACCEPTED(2);

            private final int number;

            Type(int number) {
                this.number = number;
            }

            static Optional<Type> of(int number) {
                return Arrays.stream(values()).filter(t -> t.number == number).findFirst();
            }
        }

        static byte[] challenge(Secret secret, byte[] nonce, byte[] salt) {
            return ByteBuffer.allocate(CHALLENGE_BYTES)
                    .put((byte) (secret.isEmpty() ? 0 : 1))
                    .put(nonce)
                    .put(salt)
                    .putInt(secret.iterations())
                    .array();
        }

        static Reply refused(String text) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            return new Reply(Type.REFUSED, bytes.length <= MAX_BODY ? bytes : Arrays.copyOf(bytes, MAX_BODY));
        }

        String text() {
            return new String(body, StandardCharsets.UTF_8);
        }

        byte[] bytes() {
            return ByteBuffer.allocate(HEAD_BYTES + body.length)
                    .putInt(Hello.MAGIC)
                    .putShort((short) Hello.VERSION)
                    .put((byte) type.number)
                    .putShort((short) body.length)
                    .put(body)
                    .array();
        }

        static Reply read(Socket socket, Deadline deadline) throws IOException {
            byte[] head;
            try {
                head = Sockets.read(socket, HEAD_BYTES, deadline);
            } catch (EOFException e) {
                throw new EOFException("the server closed the connection without a reply; check that it is the"
                        + " rendezvous of this job");
            }
            int version = Hello.version(Arrays.copyOf(head, Hello.PREFIX_BYTES));
            ByteBuffer buffer = ByteBuffer.wrap(head, Hello.PREFIX_BYTES, 3);
            int number = buffer.get();
            int length = Short.toUnsignedInt(buffer.getShort());
            Optional<Type> type = Type.of(number).filter(t -> t == Type.REFUSED || version == Hello.VERSION);
            if (type.isEmpty() || length > MAX_BODY) {
                throw new IOException(
                        "the server sent a reply of protocol version " + version + ", type " + number + ", length "
                                + length + "; this ep4j speaks version " + Hello.VERSION
                                + "; run the same ep4j version on all ranks");
            }
            return new Reply(type.get(), Sockets.read(socket, length, deadline));
        }
    }

    /**
     * Purposes of the HMACs by which both sides prove that they know the secret without sending it: HMAC-SHA256, under a key derived from
     * the secret, over everything that was sent before. The HMAC covers the name of the purpose (which is so part of the protocol), so
     * that no message can be replayed as another one. {@link MessageDigest#isEqual} compares two of them in constant time.
     */
    enum Proof {
        /** Key of one connection. */
        CONNECTION,
        /** Proof of the server on rank 0, which comes first. */
        SERVER,
        /** Proof of a rank that joins. */
        MEMBER,
        /** Proof of the server's last message. */
        ACCEPTED,
        /** Key of the records that the member sends. */
        FROM_MEMBER,
        /** Key of the records that the server sends. */
        FROM_SERVER;

        /** Bytes of a nonce, a member's salt, a proof and a key. */
        static final int BYTES = 32;

        /**
         * Computes one HMAC.
         *
         * @param key derived from the secret; the key of the connection for all purposes but {@link #CONNECTION}
         * @param messages sent in the handshake before
         */
        byte[] of(byte[] key, byte[]... messages) {
            Mac mac = mac(key);
            mac.update(name().getBytes(StandardCharsets.US_ASCII));
            for (byte[] message : messages) {
                for (int shift = 24; shift >= 0; shift -= 8) {
                    mac.update((byte) (message.length >> shift));
                }
                mac.update(message);
            }
            return mac.doFinal();
        }

        static Mac mac(byte[] key) {
            try {
                Mac mac = Mac.getInstance("HmacSHA256");
                mac.init(new SecretKeySpec(key, "HmacSHA256"));
                return mac;
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException("this Java has no HmacSHA256, which every Java must have", e);
            }
        }
    }
}
