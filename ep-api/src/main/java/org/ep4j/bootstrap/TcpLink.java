package org.ep4j.bootstrap;

import java.util.List;

/**
 * The link of a member to a hub in another process.
 *
 * @param connection to it
 * @param hub its rank
 */
record TcpLink(Connection connection, int hub) implements HubLink {
    @Override
    public void declare(String scope, List<Integer> ranks) {
        connection.send(Wire.declare(scope, ranks));
    }

    @Override
    public void contribute(String scope, String tag, byte[] mine) {
        connection.send(Wire.contribute(scope, tag, mine));
    }

    @Override
    public void giveUp(String scope, String tag) {
        connection.send(Wire.giveUp(scope, tag));
    }

    @Override
    public void leave(String scope) {
        connection.send(Wire.leave(scope));
    }
}
