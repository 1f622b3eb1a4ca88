package com.example.tcp;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import org.ep4j.EpPath;
import org.ep4j.config.ConfigKey;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.SpiVersion;
import org.ep4j.transport.posted.PostedBackend;

/** TCP between ranks on the host device, as backend {@value #ID}. */
public final class TcpProvider implements EpBackendProvider {
    static final String ID = "tcp";

    static final ConfigKey<String> ADDRESS =
            ConfigKey.text("ep.tcp.address", "127.0.0.1", "IP address at which the other ranks reach this one");

    @Override
    public String id() {
        return ID;
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(1, 0);
    }

    @Override
    public List<ConfigKey<?>> configKeys() {
        return List.of(ADDRESS);
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        String address = ADDRESS.get(request.config());
        ProbeReport.Builder report = ProbeReport.builder().identity("address", address);
        report.check(
                request.device().type().equals("host")
                        ? Check.pass("TCP-001", "device host")
                        : Check.notApplicable("TCP-001", "device " + request.device(), "set ep.device=host"));
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName(address))) {
            report.check(Check.pass("TCP-002", "address " + address));
            report.fact("loopback", String.valueOf(socket.getInetAddress().isLoopbackAddress()));
        } catch (IOException e) {
            report.check(Check.fail("TCP-002", "no socket on " + address + ": " + e, "set " + ADDRESS.name()));
        }
        return report.build();
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        boolean loopback = from.facts(ID).containsValue("true") || to.facts(ID).containsValue("true");
        if (!from.hostId().equals(to.hostId()) && (loopback || from.identity(ID).equals(to.identity(ID)))) {
            return Offer.none("not an address for each machine", "set " + ADDRESS.name() + " to what others reach");
        }
        return Offer.path(EpPath.Kind.HOST_POSTED)
                .gigabytesPerSecond(Estimates.SOCKET_GIGABYTES)
                .latencyMicros(Estimates.SOCKET_MICROS)
                .build();
    }

    @Override
    public EpBackend open(OpenContext context) {
        return PostedBackend.open(ID, context, peers -> new TcpEndpoint(context, peers));
    }
}
