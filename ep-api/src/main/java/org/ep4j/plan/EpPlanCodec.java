package org.ep4j.plan;

import static org.ep4j.plan.RankProfileCodec.readCount;
import static org.ep4j.plan.RankProfileCodec.readText;
import static org.ep4j.plan.RankProfileCodec.writeText;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.plan.Rejection.Cause;
import org.ep4j.spi.PathOffer;

/**
 * An {@link EpPlan} as bytes: profiles, options, one decision for each kind of pairs, NICs. Which pair is of which kind
 * follows from the profiles. Compressed, since most profiles of a group are alike.
 */
final class EpPlanCodec {
    private static final int MAGIC = 0x4550_504C;
    private static final int FORMAT = 3;

    private EpPlanCodec() {}

    static byte[] encode(EpPlan plan) {
        var body = new ByteArrayOutputStream();
        try (var out = new DataOutputStream(body)) {
            out.writeInt(plan.ranks());
            for (RankProfile profile : plan.profiles()) {
                byte[] bytes = profile.encode();
                out.writeInt(bytes.length);
                out.write(bytes);
            }
            writeOptions(out, plan.options());
            out.writeBoolean(plan.given());
            writeDecisions(out, plan.decisions());
            writeShares(out, plan.shares());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Packed.pack(MAGIC, FORMAT, body.toByteArray());
    }

    static EpPlan decode(byte[] bytes) {
        try {
            byte[] body = Packed.unpack(MAGIC, FORMAT, bytes);
            try (var in = new DataInputStream(new ByteArrayInputStream(body))) {
                EpPlan plan = read(in);
                if (in.available() > 0) {
                    throw new IOException(in.available() + " bytes too many");
                }
                return plan;
            }
        } catch (IOException | EpException | IllegalArgumentException e) {
            throw new EpMismatchException(
                    bytes.length + " bytes are not a plan that this ep4j reads (" + e.getMessage()
                            + "); write and read the plan with the same ep4j version",
                    e);
        }
    }

    private static EpPlan read(DataInputStream in) throws IOException {
        List<RankProfile> profiles = new ArrayList<>();
        for (int i = readCount(in); i > 0; i--) {
            profiles.add(RankProfile.decode(in.readNBytes(readCount(in))));
        }
        GivenPlan.checkOrder(profiles);
        PlanOptions options = readOptions(in);
        boolean given = in.readBoolean();
        List<RankProfile> shared = new ProfilePool().share(profiles);
        RankClasses classes =
                given ? RankClasses.separate(shared.size()) : RankClasses.of(shared, Planner.choices(shared, options));
        PairKinds kinds = PairKinds.of(classes);
        List<Decision> decisions = readDecisions(in, kinds.kinds().size());
        return new EpPlan(shared, options, kinds, decisions, readShares(in, shared.size()), given);
    }

    private static void writeOptions(DataOutputStream out, PlanOptions options) throws IOException {
        writeTexts(out, options.backends().require());
        writeTexts(out, options.backends().prefer());
        writeTexts(out, options.backends().exclude());
        writeText(out, options.nics().map());
        writeText(out, options.nics().include());
        writeText(out, options.nics().exclude());
        writeText(out, options.objective().name());
        out.writeInt(options.lanes());
        out.writeInt(options.proxies());
        out.writeBoolean(options.hybrid());
        out.writeBoolean(options.rails());
    }

    private static PlanOptions readOptions(DataInputStream in) throws IOException {
        BackendChoice backends = new BackendChoice(readTexts(in), readTexts(in), readTexts(in));
        NicChoice nics = new NicChoice(readText(in), readText(in), readText(in));
        return new PlanOptions(
                backends,
                nics,
                Objective.valueOf(readText(in)),
                in.readInt(),
                in.readInt(),
                in.readBoolean(),
                in.readBoolean());
    }

    /** Kinds that were decided alike refer to one decision. */
    private static void writeDecisions(DataOutputStream out, List<Decision> decisions) throws IOException {
        Map<Decision, Integer> distinct = new LinkedHashMap<>();
        decisions.forEach(decision -> distinct.putIfAbsent(decision, distinct.size()));
        out.writeInt(distinct.size());
        for (Decision decision : distinct.keySet()) {
            writeDecision(out, decision);
        }
        out.writeInt(decisions.size());
        for (Decision decision : decisions) {
            out.writeInt(distinct.getOrDefault(decision, 0));
        }
    }

    private static List<Decision> readDecisions(DataInputStream in, int kinds) throws IOException {
        List<Decision> distinct = new ArrayList<>();
        for (int i = readCount(in); i > 0; i--) {
            distinct.add(readDecision(in));
        }
        int count = readCount(in);
        if (count != kinds) {
            throw new IOException(
                    "it has paths for " + count + " kinds of pairs, but its profiles have " + kinds + " kinds");
        }
        List<Decision> decisions = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            decisions.add(pick(distinct, in.readInt()));
        }
        return decisions;
    }

    private static void writeDecision(DataOutputStream out, Decision decision) throws IOException {
        PathOffer offer = decision.offer();
        writeText(out, decision.backend());
        writeText(out, offer.kind().name());
        out.writeDouble(offer.gigabytesPerSecond());
        out.writeDouble(offer.latencyMicros());
        writeTexts(out, offer.nics());
        out.writeBoolean(offer.staged());
        writeText(out, offer.flow());
        out.writeInt(offer.sharers());
        out.writeInt(decision.rejected().size());
        for (Rejection rejection : decision.rejected()) {
            writeText(out, rejection.backend());
            writeText(out, rejection.cause().name());
            writeText(out, rejection.text());
        }
        out.writeInt(decision.lanes());
    }

    private static Decision readDecision(DataInputStream in) throws IOException {
        String backend = readText(in);
        PathOffer offer = new PathOffer(
                PathKind.valueOf(readText(in)),
                in.readDouble(),
                in.readDouble(),
                readTexts(in),
                in.readBoolean(),
                readText(in),
                in.readInt());
        List<Rejection> rejected = new ArrayList<>();
        for (int i = readCount(in); i > 0; i--) {
            rejected.add(new Rejection(readText(in), Cause.valueOf(readText(in)), readText(in)));
        }
        return new Decision(backend, offer, rejected, in.readInt());
    }

    private static void writeShares(DataOutputStream out, List<Map<String, NicShare>> shares) throws IOException {
        Map<Map<String, NicShare>, Integer> distinct = new LinkedHashMap<>();
        shares.forEach(share -> distinct.putIfAbsent(share, distinct.size()));
        out.writeInt(distinct.size());
        for (Map<String, NicShare> share : distinct.keySet()) {
            out.writeInt(share.size());
            for (var entry : new TreeMap<>(share).entrySet()) {
                writeText(out, entry.getKey());
                writeTexts(out, entry.getValue().ports());
                writeText(out, entry.getValue().reason());
            }
        }
        for (Map<String, NicShare> share : shares) {
            out.writeInt(distinct.getOrDefault(share, 0));
        }
    }

    private static List<Map<String, NicShare>> readShares(DataInputStream in, int ranks) throws IOException {
        List<Map<String, NicShare>> distinct = new ArrayList<>();
        for (int i = readCount(in); i > 0; i--) {
            Map<String, NicShare> share = new HashMap<>();
            for (int j = readCount(in); j > 0; j--) {
                share.put(readText(in), new NicShare(readTexts(in), readText(in)));
            }
            distinct.add(Map.copyOf(share));
        }
        List<Map<String, NicShare>> shares = new ArrayList<>();
        for (int i = 0; i < ranks; i++) {
            shares.add(pick(distinct, in.readInt()));
        }
        return shares;
    }

    private static <T> T pick(List<T> from, int index) throws IOException {
        if (index < 0 || index >= from.size()) {
            throw new IOException(
                    "they refer to entry " + index + ", but the entry must be in [0, " + from.size() + ")");
        }
        return from.get(index);
    }

    private static void writeTexts(DataOutputStream out, List<String> texts) throws IOException {
        out.writeInt(texts.size());
        for (String text : texts) {
            writeText(out, text);
        }
    }

    private static List<String> readTexts(DataInputStream in) throws IOException {
        List<String> texts = new ArrayList<>();
        for (int i = readCount(in); i > 0; i--) {
            texts.add(readText(in));
        }
        return texts;
    }
}
