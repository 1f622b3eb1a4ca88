package org.ep4j.tck.rules;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.ep4j.Device;
import org.ep4j.EpGroup;
import org.ep4j.EpPath;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.ProfileCodec;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.spi.SpiVersion;
import org.ep4j.tck.TckSubject;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** The probe and the offers of a provider before anything is opened, and the plan that follows from them. */
final class ProbeScenario implements Scenario {
    private static final List<String> PARTS = List.of(
            "options of the plan", "own profile in the plan", "own paths in the plan", "explanation of the plan");

    /** Character that no text of a plan contains. */
    private static final String SEPARATOR = "\0";

    private static final Duration PROBE = Duration.ofSeconds(60);
    private static final Pattern ID = Pattern.compile("[a-z0-9-]{1,64}");
    private static final Pattern CODE = Pattern.compile("[A-Z0-9]+(-[A-Z0-9]+)+");

    @Override
    public void run(RankContext context) {
        String id = EpKeys.BACKEND_REQUIRE.get(context.config(Map.of()));
        EpBackendProvider provider = TckSubject.backendProvider(id)
                .orElseThrow(() -> new AssertionError("no backend " + id + " is found by ServiceLoader"));
        switch (context.params().text("case", "")) {
            case "identity" -> identity(provider, id);
            case "probe" -> probe(context, provider);
            case "strange-device" -> strangeDevice(context, provider);
            case "offer" -> offer(context, provider);
            case "names" -> names(context, provider);
            case "plan" -> plan(context, id);
            case "unknown-backend" -> unknownBackend(context);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    private static void identity(EpBackendProvider provider, String id) {
        Checks.equal("id()", provider.id(), id);
        Checks.that(ID.matcher(id).matches(), "the id must match " + ID + ", but is " + id);
        Checks.that(
                SpiVersion.CURRENT.runs(provider.spiVersion()),
                "the provider was compiled for SPI version " + provider.spiVersion() + ", but the kit has SPI version "
                        + SpiVersion.CURRENT);
        Set<String> names = new HashSet<>();
        EpKeys.all().forEach(key -> names.add(key.name()));
        for (ConfigKey<?> key : provider.configKeys()) {
            Checks.that(names.add(key.name()), "the key " + key.name() + " is declared twice");
            Checks.that(key.name().startsWith("ep."), "the key " + key.name() + " must begin with ep.");
            Checks.that(!key.help().isBlank(), "the key " + key.name() + " has no help");
        }
    }

    private static void probe(RankContext context, EpBackendProvider provider) {
        // Joins the group, whose backends start threads of their own.
        ProbeRequest request = request(context);
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        ProbeReport report = Checks.within(PROBE, "probe()", () -> provider.probe(request));
        Checks.that(report.usable(), "the probe fails: " + report.failures());
        Set<String> codes = new HashSet<>();
        for (Check check : report.checks()) {
            Checks.that(CODE.matcher(check.code()).matches(), "the code " + check.code() + " must match " + CODE);
            Checks.that(codes.add(check.code()), "the code " + check.code() + " is used twice");
            Checks.that(!check.detail().isBlank(), "the check " + check.code() + " says nothing");
        }
        ProbeReport second = provider.probe(request(context));
        Checks.equal("a second probe's facts", second.facts(), report.facts());
        Checks.equal("a second probe's identity", second.identity(), report.identity());
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            boolean left = !before.contains(thread)
                    && thread.isAlive()
                    && thread.getName().contains(provider.id());
            Checks.that(!left, "the probe left thread " + thread.getName() + " running");
        }
    }

    private static ProbeRequest request(RankContext context) {
        return ProbeRequest.of(context.group().device().id(), context.config(Map.of()), Patience.scaled(PROBE));
    }

    private static void strangeDevice(RankContext context, EpBackendProvider provider) {
        ProbeReport report = Checks.within(
                PROBE,
                "probe() of a device that does not exist",
                () -> provider.probe(ProbeRequest.of(
                        new Device("no-such-device", 99), context.config(Map.of()), Patience.scaled(PROBE))));
        Checks.that(!report.usable(), "a device that does not exist is reported as usable: " + report.checks());
        Checks.that(
                report.failures().stream().allMatch(c -> !c.remedy().isBlank()),
                "each failed check must have a remedy, but one has none: " + report.failures());
    }

    private static void offer(RankContext context, EpBackendProvider provider) {
        List<RankProfile> profiles = context.plan().profiles();
        for (RankProfile from : profiles) {
            for (RankProfile to : profiles) {
                Checks.equal("the second offer for the same ranks", provider.offer(from, to), provider.offer(from, to));
                Checks.equal(
                        "the offer for profiles that were encoded and decoded",
                        provider.offer(
                                ProfileCodec.decode(ProfileCodec.encode(from)),
                                ProfileCodec.decode(ProfileCodec.encode(to))),
                        provider.offer(from, to));
            }
        }
    }

    /** The planner asks for one offer for all pairs of ranks that differ only in names. */
    private static void names(RankContext context, EpBackendProvider provider) {
        List<RankProfile> profiles = context.plan().profiles();
        for (RankProfile from : profiles) {
            for (RankProfile to : profiles) {
                Checks.equal(
                        "the offer after every rank, host, domain and identity was renamed",
                        provider.offer(renamed(from), renamed(to)),
                        provider.offer(from, to));
                Checks.equal(
                        "the offer for a peer that was moved to a host of its own, whatever the name of that host",
                        provider.offer(from, moved(to, "a")),
                        provider.offer(from, moved(to, "b")));
            }
        }
    }

    /** Returns a profile with other names, which an offer may only compare: equal names stay equal, different ones different. */
    private static RankProfile renamed(RankProfile profile) {
        return withPrefix(profile, "renamed ", profile.rank() + 1000);
    }

    /** Returns the profile of the rank on a host without other ranks. */
    private static RankProfile moved(RankProfile profile, String host) {
        return withPrefix(profile, "moved to " + host + " ", profile.rank());
    }

    private static RankProfile withPrefix(RankProfile profile, String prefix, int rank) {
        Map<String, BackendProfile> backends = new TreeMap<>();
        profile.backends().forEach((id, found) -> {
            Map<String, String> identity = new TreeMap<>();
            found.identity().forEach((name, value) -> identity.put(name, prefix + value));
            backends.put(id, found.withIdentity(identity));
        });
        return RankProfile.builder(rank, prefix + profile.hostId(), profile.device())
                .hostName(prefix + profile.hostName())
                .pid(profile.pid() + 1000)
                .locality(profile.locality())
                .domain(profile.domain().isEmpty() ? "" : prefix + profile.domain())
                .backends(backends)
                .settings(profile.settings())
                .build();
    }

    private static void plan(RankContext context, String id) {
        GroupPlan plan = context.plan();
        Checks.equal("ranks of the plan", plan.ranks(), context.size());
        for (EpPath path : plan.paths()) {
            Checks.equal(
                    "the backend from " + path.from() + " to " + path.to(),
                    path.backend(),
                    path.from() == path.to() ? "local" : id);
            Checks.that(
                    path.from() == path.to() || path.rejected().stream().noneMatch(String::isBlank),
                    "a backend was rejected without a reason");
        }
        // The text of all paths is long, so each rank sends only the part about itself. All plans are the same if
        // each rank's part about any rank equals the part that this rank sent.
        List<byte[]> sent = context.allGather(
                String.join(SEPARATOR, parts(plan, context.rank())).getBytes(StandardCharsets.UTF_8));
        for (int rank = 0; rank < sent.size(); rank++) {
            List<String> theirs = List.of(new String(sent.get(rank), StandardCharsets.UTF_8).split(SEPARATOR, -1));
            List<String> ours = parts(plan, rank);
            Checks.equal("number of parts that rank " + rank + " sent", theirs.size(), ours.size());
            for (int i = 0; i < PARTS.size(); i++) {
                Checks.equal(PARTS.get(i) + " of rank " + rank, theirs.get(i), ours.get(i));
            }
        }
    }

    /** Returns the {@link #PARTS} of a plan as text. */
    private static List<String> parts(GroupPlan plan, int rank) {
        int first = rank * plan.ranks();
        return List.of(
                plan.options().toString(),
                plan.profiles().get(rank).toString(),
                plan.paths().subList(first, first + plan.ranks()).stream()
                        .map(path -> path + ", " + plan.offer(path.from(), path.to()))
                        .toList()
                        .toString(),
                plan.explain());
    }

    private static void unknownBackend(RankContext context) {
        EpUnavailableException refused =
                Checks.refused(EpUnavailableException.class, "a backend that is not on the class path", () -> {
                    EpGroup group = context.newGroup(Map.of(EpKeys.BACKEND_REQUIRE.name(), "no-such-backend"));
                    Checks.that(group.size() > 0, "a group without ranks");
                });
        Checks.mentions(refused, "no-such-backend");
    }
}
