package org.ep4j.engine.bootstrap;

import java.util.List;
import org.ep4j.Bootstrap;
import org.junit.jupiter.api.Tag;

@Tag("verify")
class TcpBootstrapTest extends BootstrapContract {
    @Override
    List<Bootstrap> form(int size) {
        return TcpGroup.form(TcpGroup.clock(TcpGroup.settings(0, size, 0), clock));
    }

    @Override
    void kill(Bootstrap member) {
        ((TcpBootstrap) member).cut();
    }
}
