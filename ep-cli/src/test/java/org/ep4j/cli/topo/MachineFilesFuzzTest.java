package org.ep4j.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;
import org.ep4j.EpException;
import org.ep4j.EpShape;
import org.ep4j.cli.plan.PlanAnalysis;
import org.ep4j.cli.plan.PlanRequest;
import org.ep4j.cli.plan.PlanSettings;
import org.ep4j.cli.plan.SimulatedRanks;
import org.ep4j.cli.plan.SimulatedRanks.GpuLinks;
import org.ep4j.plan.Objective;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Mutations;
import org.ep4j.testing.Property;
import org.ep4j.topology.model.Printable;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyException;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import tools.jackson.databind.json.JsonMapper;

/**
 * Whatever describes a machine, damaged or made to do harm, gives a machine or a {@link TopologyException}, in time; and a machine can
 * be shown, drawn, written and planned for.
 */
@Tag("verify")
final class MachineFilesFuzzTest {
    /** Against endless loops only. */
    private static final Duration FOREVER = Duration.ofMinutes(2);

    private static final String SOURCE = "damaged";
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int BLOCK = 512;
    private static final int NAME = 100;
    private static final byte[] LONG_LINK = "././@LongLink".getBytes(StandardCharsets.US_ASCII);

    /** Fields of the header of an entry: sizes, kind, names and checksum. */
    private static final int[] FIELDS = {0, 1, 100, 124, 125, 135, 148, 156, 157, 257, 265, 345, 386, 482, 483, 495};

    private int machines;
    private int errors;

    /** What is read: a text, or an archive byte by byte, and a text that is merged onto the machine. */
    record Input(String machine, String archive, String merged) {}

    static Input input(Random random) {
        String merged = random.nextInt(8) == 0 ? Mutations.of(List.of(MachineSeeds.IBV_DEVINFO), random) : "";
        if (random.nextInt(4) > 0) {
            return new Input(Mutations.of(MachineSeeds.TEXTS, random), "", merged);
        }
        return new Input("", new String(archive(random), StandardCharsets.ISO_8859_1), merged);
    }

    private static byte[] archive(Random random) {
        Map<String, String> files = new TreeMap<>(random.nextBoolean() ? MachineSeeds.sys() : MachineSeeds.kfd());
        for (int left = random.nextInt(6); left > 0; left--) {
            damage(files, random);
        }
        byte[] tar = tar(files, random.nextInt(3) == 0 ? "machine/" : "");
        for (int left = random.nextInt(3) * random.nextInt(4); left > 0 && tar.length > BLOCK; left--) {
            tar = damage(tar, random);
        }
        byte[] packed = packed(tar);
        if (random.nextInt(10) == 0) {
            packed[random.nextInt(packed.length)] ^= (byte) (1 << random.nextInt(8));
        }
        return random.nextInt(20) == 0 ? Arrays.copyOf(packed, random.nextInt(packed.length)) : packed;
    }

    private static void damage(Map<String, String> files, Random random) {
        List<String> paths = new ArrayList<>(files.keySet());
        if (paths.isEmpty()) {
            return;
        }
        String path = paths.get(random.nextInt(paths.size()));
        String other = paths.get(random.nextInt(paths.size()));
        String text = files.getOrDefault(path, "");
        switch (random.nextInt(7)) {
            case 0 -> files.remove(path);
            case 1 -> files.put(Mutations.damage(path, paths, random), text);
            case 2 -> files.put(path, MachineSeeds.LINK + "../".repeat(random.nextInt(8)) + other);
            case 3 -> files.put(other, text);
            case 4 -> files.put(path.substring(0, path.lastIndexOf('/') + 1) + random.nextInt(1000), text);
            default -> files.put(path, Mutations.damage(text, new ArrayList<>(files.values()), random));
        }
    }

    private static byte[] tar(Map<String, String> files, String wrapper) {
        ByteArrayOutputStream tar = new ByteArrayOutputStream();
        files.forEach((path, text) -> {
            boolean link = text.startsWith(MachineSeeds.LINK);
            byte[] name = (wrapper + path).getBytes(StandardCharsets.UTF_8);
            byte[] target =
                    text.substring(link ? MachineSeeds.LINK.length() : 0).getBytes(StandardCharsets.UTF_8);
            if (name.length > NAME) {
                entry(tar, 'L', LONG_LINK, name, new byte[0]);
            }
            if (link && target.length > NAME) {
                entry(tar, 'K', LONG_LINK, target, new byte[0]);
            }
            entry(tar, link ? '2' : '0', name, link ? new byte[0] : target, link ? target : new byte[0]);
        });
        tar.writeBytes(new byte[2 * BLOCK]);
        return tar.toByteArray();
    }

    /** An entry as GNU tar writes it. */
    private static void entry(ByteArrayOutputStream tar, char kind, byte[] name, byte[] content, byte[] link) {
        byte[] header = new byte[BLOCK];
        System.arraycopy(name, 0, header, 0, Math.min(name.length, NAME));
        put(header, 100, "0000644\0" + "0000000\0" + "0000000\0");
        put(header, 124, String.format("%011o 00000000000 ", content.length));
        header[156] = (byte) kind;
        System.arraycopy(link, 0, header, 157, Math.min(link.length, NAME));
        put(header, 257, "ustar  ");
        checksum(header, 0);
        tar.writeBytes(header);
        tar.writeBytes(content);
        tar.writeBytes(new byte[(BLOCK - content.length % BLOCK) % BLOCK]);
    }

    private static void put(byte[] header, int place, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(bytes, 0, header, place, bytes.length);
    }

    private static byte[] damage(byte[] tar, Random random) {
        int blocks = tar.length / BLOCK;
        int from = random.nextInt(blocks) * BLOCK;
        int to = Math.min(tar.length, from + BLOCK * (1 + random.nextInt(4)));
        return switch (random.nextInt(5)) {
            case 0 -> joined(tar, 0, from, tar, to, tar.length);
            case 1 -> joined(tar, 0, to, tar, from, tar.length);
            case 2 -> Arrays.copyOf(tar, from);
            default -> {
                byte[] damaged = tar.clone();
                int field = FIELDS[random.nextInt(FIELDS.length)];
                byte[] with = random.nextBoolean()
                        ? new byte[] {(byte) "01234567LKxgSDV\0".charAt(random.nextInt(16))}
                        : "77777777777".getBytes(StandardCharsets.US_ASCII);
                System.arraycopy(with, 0, damaged, from + field, Math.min(with.length, BLOCK - field));
                if (random.nextInt(4) > 0) {
                    checksum(damaged, from);
                }
                yield damaged;
            }
        };
    }

    /** As a writer of the damaged header would have it, so that the reader goes on. */
    private static void checksum(byte[] tar, int header) {
        Arrays.fill(tar, header + 148, header + 156, (byte) ' ');
        int sum = 0;
        for (int i = 0; i < BLOCK; i++) {
            sum += tar[header + i] & 0xff;
        }
        put(tar, header + 148, String.format("%06o\0", sum));
    }

    private static byte[] joined(byte[] a, int from, int to, byte[] b, int start, int end) {
        byte[] both = Arrays.copyOf(Arrays.copyOfRange(a, from, to), to - from + end - start);
        System.arraycopy(b, start, both, to - from, end - start);
        return both;
    }

    private static byte[] packed(byte[] tar) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (OutputStream packed = new GZIPOutputStream(bytes) {
            {
                def.setLevel(Deflater.BEST_SPEED);
            }
        }) {
            packed.write(tar);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    @AfterEach
    void someWereMachinesAndSomeWereErrors() {
        System.out.println(machines + " machines, " + errors + " errors");
        assertThat(machines).isPositive();
        assertThat(errors).isPositive();
    }

    @Property(tries = 60_000, verify = 1000)
    void everyInputIsAMachineOrAnError(@ForAll("input") Input input) {
        int turn = machines + errors;
        boolean machine = assertTimeoutPreemptively(FOREVER, () -> isShown(input, turn));
        machines += machine ? 1 : 0;
        errors += machine ? 0 : 1;
    }

    static boolean isShown(Input input, int turn) {
        Topology machine;
        try {
            machine = input.archive().isEmpty()
                    ? Topologies.read(SOURCE, input.machine())
                    : Topologies.read(
                            SOURCE,
                            ArchiveReader.read(
                                    SOURCE,
                                    new ByteArrayInputStream(input.archive().getBytes(StandardCharsets.ISO_8859_1))));
            if (!input.merged().isEmpty()) {
                machine = Topologies.merge(machine, SOURCE, input.merged());
            }
        } catch (TopologyException e) {
            assertThat(e).hasMessageStartingWith(SOURCE);
            assertThat(e.getMessage()).isEqualTo(Printable.line(e.getMessage()));
            return false;
        }
        String text = TopologyTree.of(machine) + PathMatrix.of(machine) + String.join("\n", machine.warnings());
        assertThat(text).isEqualTo(Printable.text(text));
        if (turn % 4 == 0) {
            String json = TopologyJson.of(machine);
            assertThat(JSON.readTree(json).get("gpus").size())
                    .isEqualTo(machine.gpus().size());
            assertThat(json).isEqualTo(Printable.text(json));
        }
        if (turn % 16 == 0) {
            assertThat(MachineDrawing.of(machine)).contains("</svg>");
        }
        if (turn % 64 == 0 && machine.gpus().size() <= 16) {
            plan(machine);
        }
        return true;
    }

    /** A machine may lack what a plan needs, which a failure of ep4j's own says. */
    private static void plan(Topology machine) {
        try {
            assertThat(PlanAnalysis.of(
                                    machine,
                                    new PlanRequest(
                                            new SimulatedRanks.Options(1, 0, 0, GpuLinks.FILE, ""),
                                            PlanSettings.of(Map.of()),
                                            List.of(),
                                            Objective.BALANCED,
                                            EpShape.builder(7168, 256, 8)
                                                    .maxTokens(4096)
                                                    .maxLowLatencyTokens(128)
                                                    .build(),
                                            false,
                                            1,
                                            1,
                                            false,
                                            Optional.empty()))
                            .ranks())
                    .isPositive();
        } catch (EpException e) {
            assertThat(e.getMessage()).isNotEmpty();
        }
    }
}
