package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.assertj.core.api.SoftAssertions;
import org.ep4j.topology.Distance;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicFamilies;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Machines of other people, with the nearest NICs of every GPU worked out independently of this project. */
@Tag("verify")
class TopologyAnswersTest {
    /** Answers that are held to be wrong, with the reason. */
    private static final Map<String, String> WRONG = Map.of();

    /** Files whose links are counted as written although they are none. */
    private static final Map<String, String> NO_LINKS =
            Map.of("Azure__azhpc-images__ncv4-topo.xml", "every GPU names itself as the other end of its NVLinks");

    private static final JsonMapper JSON = JsonMapper.shared();

    @TestFactory
    Stream<DynamicTest> nearestNicsAndPathTypesAgreeWithTheAnswers() {
        return answers().stream()
                .map(answer -> DynamicTest.dynamicTest(name(answer), () -> {
                    assumeFalse(WRONG.containsKey(name(answer)), () -> WRONG.get(name(answer)));
                    SoftAssertions softly = new SoftAssertions();
                    compare(answer, read(answer), softly);
                    softly.assertAll();
                }));
    }

    @Test
    void theAnswersAreThere() {
        Corpus.required();
        Map<String, Integer> files = new TreeMap<>();
        Map<String, Integer> gpus = new TreeMap<>();
        for (JsonNode answer : answers()) {
            files.merge(kind(answer), 1, Integer::sum);
            gpus.merge(kind(answer), answer.path("gpus").size(), Integer::sum);
        }
        System.out.println("Answers compared: files " + files + ", GPUs " + gpus + ", held to be wrong " + WRONG);
        assertThat(files).containsEntry("nccl-xml", 60).containsEntry("hwloc-xml", 20);
    }

    private static List<JsonNode> answers() {
        return Corpus.files("expected").stream()
                .map(file -> JSON.readTree(Corpus.text(file)))
                .toList();
    }

    private static Topology read(JsonNode answer) {
        Path file = Corpus.required().resolve(kind(answer)).resolve(name(answer));
        return Topologies.read(file);
    }

    private static void compare(JsonNode answer, Topology topology, SoftAssertions softly) {
        softly.assertThat(topology.gpus())
                .as("GPUs")
                .hasSize(answer.path("gpus").size());
        softly.assertThat(topology.nics().stream().map(Nic::name))
                .as("NICs")
                .containsExactlyInAnyOrderElementsOf(names(answer.path("nics"), "name"));
        List<Gpu> gpus = new ArrayList<>();
        for (JsonNode expected : answer.path("gpus")) {
            Gpu gpu = gpu(topology, expected);
            gpus.add(gpu);
            gpu(expected, topology, gpu, softly);
        }
        if (kind(answer).equals("nccl-xml")) {
            links(answer, topology, gpus, softly);
            pairs(answer.path("gpu_gpu"), topology, softly);
        } else if (kind(answer).equals("nvidia-smi-topo")) {
            labels(answer.path("gpu_gpu"), topology, softly);
        }
    }

    private static void gpu(JsonNode expected, Topology topology, Gpu gpu, SoftAssertions softly) {
        List<Nic> nearest = topology.nearestNics(gpu);
        softly.assertThat(nearest.stream().map(Nic::name))
                .as("nearest NICs of %s", gpu.name())
                .containsExactlyInAnyOrderElementsOf(nearest(expected));
        if (!nearest.isEmpty() && names(expected.path("nearest")).stream().noneMatch(NicFamilies::virtual)) {
            softly.assertThat(type(topology, gpu, nearest.get(0)))
                    .as("type of %s", gpu.name())
                    .isEqualTo(expected.path("type").asString());
        }
        expected.path("all")
                .propertyStream()
                .forEach(entry -> softly.assertThat(type(topology, gpu, nic(topology, gpu, entry.getKey())))
                        .as("%s to %s", gpu.name(), entry.getKey())
                        .isEqualTo(entry.getValue().asString()));
        if (!expected.path("numa").isNull()) {
            softly.assertThat(gpu.numa())
                    .as("NUMA node of %s", gpu.name())
                    .isEqualTo(expected.path("numa").asInt());
        }
    }

    /** The answers are NCCL's, to which a virtual interface is a NIC like others; where it is the nearest, the next nearest counts. */
    private static List<String> nearest(JsonNode expected) {
        List<String> nearest = names(expected.path("nearest"));
        if (nearest.stream().noneMatch(NicFamilies::virtual)) {
            return nearest;
        }
        Map<String, PathType> real = new TreeMap<>();
        expected.path("all")
                .propertyStream()
                .filter(nic -> !NicFamilies.virtual(nic.getKey()))
                .forEach(nic ->
                        real.put(nic.getKey(), PathType.valueOf(nic.getValue().asString())));
        return real.keySet().stream()
                .filter(name -> real.get(name) == Collections.min(real.values()))
                .toList();
    }

    private static void links(JsonNode answer, Topology topology, List<Gpu> gpus, SoftAssertions softly) {
        softly.assertThat(!topology.only(GpuSwitch.class).isEmpty())
                .as("NVSwitch")
                .isEqualTo(answer.path("nvs").asBoolean());
        for (int i = 0; i < gpus.size(); i++) {
            Gpu gpu = gpus.get(i);
            softly.assertThat(count(topology, gpu, LinkType.XGMI))
                    .as("xGMI of %s", gpu.name())
                    .isEqualTo(answer.path("xgmi").path(i).asInt());
            softly.assertThat(count(topology, gpu, LinkType.C2C))
                    .as("C2C of %s", gpu.name())
                    .isEqualTo(answer.path("c2c").path(i).asInt());
            if (!NO_LINKS.containsKey(name(answer))) {
                softly.assertThat(count(topology, gpu, LinkType.NVLINK))
                        .as("NVLinks of %s", gpu.name())
                        .isEqualTo(answer.path("nvlinks").path(i).asInt());
            }
        }
    }

    private static void pairs(JsonNode expected, Topology topology, SoftAssertions softly) {
        Map<String, Integer> found = new TreeMap<>();
        for (Gpu gpu : topology.gpus()) {
            for (Gpu other : topology.gpus()) {
                if (!gpu.equals(other)) {
                    found.merge(type(topology, gpu, other), 1, Integer::sum);
                }
            }
        }
        Map<String, Integer> wanted = new TreeMap<>();
        expected.propertyStream()
                .forEach(entry -> wanted.put(entry.getKey(), entry.getValue().asInt()));
        softly.assertThat(found).as("pairs by type").isEqualTo(wanted);
    }

    /** Kinds of pair, as {@code nvidia-smi} writes them: {@code NV18} is 18 NVLinks. */
    private static void labels(JsonNode expected, Topology topology, SoftAssertions softly) {
        Set<String> found = new TreeSet<>();
        for (Gpu gpu : topology.gpus()) {
            topology.gpus().stream()
                    .filter(other -> !other.equals(gpu))
                    .forEach(other -> found.add(type(topology, gpu, other)));
        }
        softly.assertThat(found)
                .as("types of pairs")
                .containsExactlyInAnyOrderElementsOf(expected.valueStream()
                        .map(label -> label.asString().replaceAll("NV[0-9]+", "NVL"))
                        .collect(Collectors.toSet()));
    }

    private static int count(Topology topology, Gpu gpu, LinkType type) {
        return topology.neighbours(gpu).stream()
                .flatMap(part -> topology.links(gpu, part).stream())
                .filter(link -> link.type() == type)
                .mapToInt(Link::count)
                .sum();
    }

    private static String type(Topology topology, Gpu gpu, Part to) {
        return topology.distance(gpu, to)
                .map(Distance::type)
                .map(PathType::name)
                .orElse("none");
    }

    private static Gpu gpu(Topology topology, JsonNode expected) {
        return topology.gpus().stream()
                .filter(gpu -> gpu.host() == expected.path("host").asInt(0))
                .filter(gpu -> expected.path("bus").isNull()
                        ? gpu.name().equals(expected.path("gpu").asString())
                        : gpu.address()
                                .equals(PciAddress.parse(expected.path("bus").asString())))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no GPU " + expected.path("bus")));
    }

    private static Nic nic(Topology topology, Gpu gpu, String name) {
        return topology.nics().stream()
                .filter(nic -> nic.host() == gpu.host() && nic.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no NIC " + name));
    }

    private static List<String> names(JsonNode array) {
        return array.valueStream().map(JsonNode::asString).toList();
    }

    private static List<String> names(JsonNode array, String key) {
        return array.valueStream().map(node -> node.path(key).asString()).toList();
    }

    private static String name(JsonNode answer) {
        return answer.path("file").asString();
    }

    private static String kind(JsonNode answer) {
        return answer.path("kind").asString();
    }
}
