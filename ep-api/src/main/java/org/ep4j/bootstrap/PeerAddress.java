package org.ep4j.bootstrap;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.ep4j.EpUnavailableException;

/**
 * Where a member listens for the others.
 *
 * @param address of its machine; empty for that of rank 0, which each member reaches by an address of its own
 * @param port there
 */
record PeerAddress(Optional<InetAddress> address, int port) {
    byte[] encode() {
        byte[] bytes = address.map(InetAddress::getAddress).orElse(new byte[0]);
        return ByteBuffer.allocate(4 + bytes.length).putInt(port).put(bytes).array();
    }

    static PeerAddress parse(byte[] bytes) {
        try {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            int port = buffer.getInt();
            byte[] address = new byte[buffer.remaining()];
            buffer.get(address);
            return new PeerAddress(
                    address.length == 0 ? Optional.empty() : Optional.of(InetAddress.getByAddress(address)), port);
        } catch (UnknownHostException | java.nio.BufferUnderflowException e) {
            throw new EpUnavailableException(
                    "a member told an address of " + bytes.length
                            + " bytes, must have 4, 8 or 20; run the same ep4j version on all ranks",
                    e);
        }
    }

    /** The address to connect to, for a member that reaches rank 0 at {@code rankZero}. */
    InetSocketAddress from(InetAddress rankZero) {
        return new InetSocketAddress(address.orElse(rankZero), port);
    }
}
