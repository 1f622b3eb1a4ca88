package org.ep4j.examples.llm;

import java.io.IOException;
import java.io.PrintStream;
import java.lang.module.ModuleFinder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import org.ep4j.EpException;
import picocli.CommandLine;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** Generates text with a mixture-of-experts model. Starts ranks as processes, unless a launcher has set {@code RANK}. */
@Command(
        name = "run",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Generate text with a Qwen3MoeForCausalLM model. Its experts are spread over ranks, which exchange tokens"
                    + " through ep4j. Prefill uses high throughput, decode uses low latency.",
            "Without --model, the program runs a random model of that architecture, which shows only the speed."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every rank that was not lost generated its texts",
            "2:wrong usage, or a model that cannot be run",
            "4:a rank failed",
        })
public final class MoeLlm implements Callable<Integer> {
    /** Set where the process that started a rank reads its standard output. */
    private static final String REPORT = "ep4j.examples.llm.report";

    /** Heap of a rank beside weights, keys and values: rows, results, the JVM itself. */
    private static final long HEAP = 512 << 20;

    private static final int FAILED = 4;

    @Option(
            names = "--model",
            paramLabel = "DIR",
            description = "Folder with config.json, *.safetensors and tokenizer.json.")
    private Optional<Path> model = Optional.empty();

    @Option(names = "--ranks", paramLabel = "N", defaultValue = "2", description = "Ranks. Default: ${DEFAULT-VALUE}.")
    private int ranks;

    @Option(
            names = "--device",
            paramLabel = "D",
            defaultValue = "host",
            description = "Device of every rank: host or cuda. Default: ${DEFAULT-VALUE}.")
    private String device = "host";

    @ArgGroup
    private Prompts given = new Prompts();

    private static final class Prompts {
        @Option(names = "--prompt", paramLabel = "TEXT", description = "Text to continue.")
        private Optional<String> text = Optional.empty();

        @Option(
                names = "--prompts",
                paramLabel = "FILE",
                description = "File with a JSON list of texts. All texts are continued at the same time.")
        private Optional<Path> file = Optional.empty();
    }

    @Option(
            names = "--tokens",
            paramLabel = "N",
            defaultValue = "64",
            description = "Maximum number of tokens to generate for each prompt. Default: ${DEFAULT-VALUE}.")
    private int tokens;

    @Option(
            names = "--json",
            paramLabel = "OUT",
            description =
                    "Write prompts, token ids, texts, and the logits that follow each prompt, as JSON to this file.")
    private Optional<Path> json = Optional.empty();

    @Option(
            names = "--temperature",
            paramLabel = "T",
            defaultValue = "0",
            description = "Sample at this temperature; 0 chooses the most probable token. Default: ${DEFAULT-VALUE}.")
    private float temperature;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "Seed of sampling. Default: ${DEFAULT-VALUE}.")
    private long seed;

    @Option(
            names = "--no-exchange",
            description =
                    "With --ranks 1: compute without ep4j, in FP32. By default a single rank exchanges with itself.")
    private boolean alone;

    @Option(
            names = "--kill",
            paramLabel = "RANK@TOKEN",
            description = "Kill rank RANK when its sequences have TOKEN tokens each, to see the other ranks go on.")
    private Optional<String> kill = Optional.empty();

    @Option(
            names = "--batches",
            paramLabel = "1|2",
            description =
                    "Number of batches of a decode step. Two batches take turns: while the rows of one batch travel,"
                            + " the other batch is computed. Default: 2 on the host, 1 on GPUs.")
    private Optional<Integer> batches = Optional.empty();

    @Option(names = "--threads", paramLabel = "N", description = "Threads of a rank. Default: processors / ranks.")
    private Optional<Integer> threads = Optional.empty();

    @Option(
            names = "--random",
            paramLabel = "H,L,E,K,V",
            defaultValue = "1024,24,32,4,32768",
            split = ",",
            description =
                    "Hidden size, layers, experts, top-k and vocabulary of the random model. Default: ${DEFAULT-VALUE}.")
    private List<Integer> random = List.of();

    @Option(
            names = "--random-prompts",
            paramLabel = "N,T",
            defaultValue = "4,64",
            split = ",",
            description = "Number of prompts for the random model, and tokens per prompt. Default: ${DEFAULT-VALUE}.")
    private List<Integer> randomPrompts = List.of();

    @Spec
    private CommandSpec spec = CommandSpec.create();

    private MoeLlm() {}

    /** See {@code --help}. */
    public static void main(String[] args) {
        System.exit(run(args));
    }

    /** Runs the command and returns its exit code. */
    static int run(String... args) {
        CommandLine line = new CommandLine(new MoeLlm());
        line.setExecutionExceptionHandler((failure, command, parsed) -> {
            if (failure instanceof ModelException) {
                command.getErr().println(failure.getMessage());
                return CommandLine.ExitCode.USAGE;
            }
            if (failure instanceof EpException) {
                command.getErr().println(failure.getMessage());
                return FAILED;
            }
            throw failure;
        });
        line.setParameterExceptionHandler((failure, given) -> {
            String nearest = failure instanceof UnmatchedArgumentException unmatched
                    ? unmatched.getSuggestions().stream()
                            .findFirst()
                            .map(option -> "; did you mean " + option + "?")
                            .orElse("")
                    : "";
            failure.getCommandLine().getErr().println(failure.getMessage() + nearest + " (--help lists the options)");
            return CommandLine.ExitCode.USAGE;
        });
        return line.execute(args);
    }

    @Override
    public Integer call() throws InterruptedException {
        ModelConfig config = config();
        List<String> texts = texts();
        Job job = job(config, texts);
        Map<String, String> environment = System.getenv();
        if (environment.containsKey("RANK")) {
            PrintStream out = System.out;
            if (Boolean.getBoolean(REPORT)) {
                new Rank(job, new JsonLines(out)).run();
            } else {
                require(
                        json.isEmpty() && kill.isEmpty(),
                        "--json and --kill do not work under a launcher; start the ranks with --ranks instead");
                Console console = new Console(out, System.err, texts, 1, tokens, model.isPresent());
                int rank = Integer.parseInt(environment.get("RANK"));
                if (rank == 0) {
                    int size = Integer.parseInt(environment.getOrDefault("WORLD_SIZE", "1"));
                    console.line(describe(job, size, Runtime.getRuntime().maxMemory()));
                }
                new Rank(job, console.of(rank)).run();
                console.summary();
            }
            return CommandLine.ExitCode.OK;
        }
        return launch(job, texts);
    }

    private ModelConfig config() {
        require(ranks >= 1 && ranks <= 1024, "--ranks is " + ranks + "; give 1 to 1024");
        require(tokens >= 1, "--tokens is " + tokens + "; give 1 or more");
        require(temperature >= 0, "--temperature is " + temperature + "; give 0 or more");
        require(
                device.matches("host|cuda(:[0-9]+)?"),
                "--device is " + device + "; give host, or cuda for the GPUs of this machine");
        require(!alone || device.equals("host"), "--no-exchange needs --device host, but --device is " + device);
        batches.ifPresent(count -> require(count == 1 || count == 2, "--batches is " + count + "; give 1 or 2"));
        require(!alone || ranks == 1, "--no-exchange needs --ranks 1, but --ranks is " + ranks);
        json.ifPresent(file -> {
            // Not only after hours of work.
            Path folder = file.toAbsolutePath().getParent();
            require(
                    folder != null && Files.isWritable(Files.exists(file) ? file : folder) && !Files.isDirectory(file),
                    "--json " + file + " cannot be written; give a file in an existing folder that is writable");
        });
        if (model.isPresent()) {
            ModelConfig config = ModelConfig.read(model.get());
            Weights.check(model.get(), config);
            return config;
        }
        require(
                random.size() == 5 && random.stream().allMatch(n -> n > 0),
                "--random is " + random + "; give five numbers above 0: hidden, layers, experts, top-k, vocabulary");
        require(random.get(0) % 128 == 0, "--random: hidden is " + random.get(0) + "; give a multiple of 128");
        require(
                random.get(3) <= random.get(2),
                "--random: top-k is " + random.get(3) + "; give at most " + random.get(2) + ", the number of experts");
        return ModelConfig.random(random.get(0), random.get(1), random.get(2), random.get(3), random.get(4));
    }

    private List<String> texts() {
        if (model.isEmpty()) {
            require(
                    given.text.isEmpty() && given.file.isEmpty(),
                    "--prompt and --prompts need --model: a random model has no tokenizer");
            require(
                    randomPrompts.size() == 2 && randomPrompts.stream().allMatch(n -> n > 0),
                    "--random-prompts is " + randomPrompts + "; give two numbers above 0: prompts, tokens per prompt");
            return java.util.Collections.nCopies(randomPrompts.get(0), "");
        }
        if (given.text.isPresent()) {
            return List.of(given.text.get());
        }
        Path file = given.file.orElseThrow(() -> new ParameterException(
                spec.commandLine(), "nothing to continue; give --prompt TEXT or --prompts FILE"));
        try {
            List<String> all = Arrays.asList(JsonMapper.shared().readValue(Files.readAllBytes(file), String[].class));
            require(!all.isEmpty(), file + " is an empty list");
            return all;
        } catch (NoSuchFileException e) {
            throw new ModelException("--prompts " + file + " is missing; give a JSON list of strings", e);
        } catch (IOException e) {
            throw new ModelException(file + " cannot be read: " + e.getMessage(), e);
        } catch (JacksonException e) {
            throw new ModelException(file + " is not a JSON list of strings: " + e.getOriginalMessage(), e);
        }
    }

    private Job job(ModelConfig config, List<String> texts) {
        List<List<Integer>> prompts = new ArrayList<>();
        if (model.isPresent()) {
            try (Texts tokenizer = new Texts(model.get())) {
                texts.forEach(text -> prompts.add(tokenizer.ids(text)));
            }
        } else {
            SplittableRandom ids = new SplittableRandom(seed);
            texts.forEach(text -> prompts.add(ids.ints(randomPrompts.get(1), 0, config.vocabulary())
                    .boxed()
                    .toList()));
        }
        for (int i = 0; i < prompts.size(); i++) {
            int size = prompts.get(i).size();
            require(size > 0, "prompt " + i + " is empty; give at least one token");
            require(
                    size + tokens <= config.longest(),
                    "prompt " + i + " has " + size + " tokens, and --tokens is " + tokens
                            + "; their sum can be at most " + config.longest() + " for this model");
            int unknown =
                    prompts.get(i).stream().mapToInt(Integer::intValue).max().orElse(0);
            require(
                    unknown < config.vocabulary(),
                    "tokenizer.json gives token id " + unknown + ", but vocab_size in config.json is "
                            + config.vocabulary()
                            + "; use the two files of one model");
        }
        int own = threads.orElseGet(() -> Math.max(1, Runtime.getRuntime().availableProcessors() / ranks));
        require(own >= 1, "--threads is " + own + "; give 1 or more");
        int turns = batches.orElse(device.equals("host") ? 2 : 1);
        return new Job(
                model, config, !alone, device, prompts, tokens, temperature, seed, turns, own, kill.map(this::halt));
    }

    private Job.Halt halt(String text) {
        String[] parts = text.split("@", -1);
        try {
            Job.Halt halt = new Job.Halt(Integer.parseInt(parts[0]), Integer.parseInt(parts[parts.length - 1]));
            require(
                    parts.length == 2 && halt.rank() >= 0 && halt.rank() < ranks && halt.tokens() > 0 && ranks > 1,
                    "--kill is " + text + "; give RANK@TOKEN with a RANK below " + ranks
                            + " and a TOKEN of 1 or more; --kill needs --ranks 2 or more");
            return halt;
        } catch (NumberFormatException e) {
            throw new ParameterException(
                    spec.commandLine(), "--kill is " + text + "; give RANK@TOKEN, such as 1@20", e);
        }
    }

    private int launch(Job job, List<String> texts) throws InterruptedException {
        long heap = heap(job);
        Console console = new Console(System.out, System.err, texts, ranks, tokens, model.isPresent());
        console.line(describe(job, ranks, heap));
        List<Listener> listeners = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            listeners.add(console.of(rank));
        }
        int failed = 0;
        try (Launcher launcher = new Launcher(command(heap), ranks)) {
            for (int left = ranks; left > 0; ) {
                Launcher.Event event = launcher.next();
                if (event instanceof Launcher.Event.Line line) {
                    if (!JsonLines.read(line.text(), listeners.get(line.rank()))) {
                        console.line("[" + line.rank() + "] " + line.text());
                    }
                } else if (event instanceof Launcher.Event.Complaint complaint) {
                    if (!complaint.text().contains("Using incubator modules")) {
                        console.line("[" + complaint.rank() + "] " + complaint.text());
                    }
                } else if (event instanceof Launcher.Event.Exit exit) {
                    left--;
                    boolean expected =
                            job.halt().filter(h -> h.rank() == exit.rank()).isPresent();
                    if (exit.code() != 0 && !expected) {
                        console.line("rank " + exit.rank() + " ended with exit code " + exit.code());
                        failed++;
                    }
                }
            }
        }
        console.summary();
        json.ifPresent(file -> write(file, texts, console));
        // A rank that others have gone on without is not a failure of theirs.
        return failed > console.lost().size() || console.continuations().isEmpty() ? FAILED : CommandLine.ExitCode.OK;
    }

    /** Bytes of a rank's heap; refuses a model that does not fit before anything is loaded. */
    private long heap(Job job) {
        ModelConfig config = job.config();
        int experts = (config.experts() + ranks - 1) / ranks;
        long cached = job.prompts().stream()
                        .mapToLong(prompt -> prompt.size() + tokens)
                        .sum()
                * 8L
                * config.layers()
                * config.kvHeads()
                * config.headDim();
        // On a GPU, weights, keys and values are in its memory; it says itself when they do not fit.
        long heap = HEAP + (device.equals("host") ? Weights.bytes(config, experts) + cached / ranks : 0);
        long available = Memory.available();
        require(
                heap * ranks <= available,
                "the model does not fit: " + ranks + " ranks need " + ((heap * ranks) >> 20) + " MiB, but "
                        + (available >> 20) + " MiB are free; use fewer ranks, a smaller model or a larger machine");
        return heap;
    }

    private String describe(Job job, int size, long heap) {
        ModelConfig c = job.config();
        return (model.isPresent() ? model.get().toString() : "a random model, for speed alone") + ": hidden "
                + c.hidden() + ", "
                + c.layers() + " layers, " + c.experts() + " experts, top-" + c.topK() + "; " + size
                + (alone ? " rank without exchange, " : " ranks, ") + job.threads() + " threads and " + (heap >> 20)
                + " MiB each";
    }

    private List<String> command(long heap) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx" + (heap >> 20) + "m",
                // Weights fill the old generation, which by default would be two thirds of the heap.
                "-Xmn" + ((HEAP / 2) >> 20) + "m",
                "-XX:+UseSerialGC",
                "-XX:-UsePerfData",
                "-D" + REPORT + "=true"));
        if (ModuleFinder.ofSystem().find(Product.VECTOR_MODULE).isPresent()) {
            command.addAll(List.of("--add-modules", Product.VECTOR_MODULE));
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), MoeLlm.class.getName()));
        command.addAll(spec.commandLine().getParseResult().originalArgs());
        return command;
    }

    private void write(Path file, List<String> texts, Console console) {
        List<Map<String, Object>> all = new ArrayList<>();
        console.continuations().forEach((index, c) -> {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("prompt", texts.get(index));
            one.put("promptIds", c.promptIds());
            one.put("ids", c.ids());
            one.put("text", c.text());
            one.put("logitsAfterPrompt", c.logitsAfterPrompt());
            all.add(one);
        });
        try {
            Files.writeString(file, JsonMapper.shared().writeValueAsString(all), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new ModelException("--json " + file + " cannot be written: " + e, e);
        }
    }

    private void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new ParameterException(spec.commandLine(), otherwise);
        }
    }
}
