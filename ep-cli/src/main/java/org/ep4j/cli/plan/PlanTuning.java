package org.ep4j.cli.plan;

import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpConfig.Setting;
import org.ep4j.cli.plan.PlanReport.Tuned;
import org.ep4j.cli.plan.PlanReport.TunedSetting;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.TunedSettings;
import org.ep4j.plan.TunedSettings.Choice;
import org.ep4j.plan.TunedSettings.Shape;
import org.ep4j.spi.RankProfile;

/** Settings that {@code ./ep tune} has found on this machine for a planned group. */
final class PlanTuning {
    private PlanTuning() {}

    /**
     * Returns the measurements that were made with the devices, ranks and backends of a plan, and with the shape of the request.
     *
     * @param plan as a group of the same ranks would make it
     * @param problems takes a sentence for each file that cannot be used
     */
    static List<Tuned> of(GroupPlan plan, PlanRequest request, Consumer<String> problems) {
        EpConfig config = request.settings().config();
        if (request.tuned().isEmpty() || EpKeys.TUNE.get(config).equals("off")) {
            return List.of();
        }
        RankProfile first = plan.profiles().get(0);
        // How many multiprocessors a GPU has is not in the description of a machine.
        Fingerprint planned = first.device().isGpu()
                ? Fingerprint.ofGpu(plan, 0, first.locality().architecture(), 0)
                : Fingerprint.ofHost(plan, 0);
        return TunedSettings.read(request.tuned().get(), problems).stream()
                .filter(one -> one.shape().equals(Shape.of(request.shape()))
                        && one.fingerprint().matches(planned))
                .map(one -> new Tuned(
                        one.measured(),
                        one.fingerprint().text(),
                        one.choices().stream()
                                .map(choice -> setting(choice, config))
                                .toList()))
                .toList();
    }

    private static TunedSetting setting(Choice choice, EpConfig config) {
        // One that cannot be tuned is left out when the file is read.
        Optional<Setting> given = Optional.ofNullable(TunedSettings.TUNABLE.get(choice.setting()))
                .map(key -> key.setting(config))
                .filter(setting -> setting.origin() != Origin.DEFAULT);
        return new TunedSetting(
                choice.setting(),
                choice.value(),
                choice.reason(),
                given.map(setting -> place(setting) + " is " + setting.text()).orElse(""));
    }

    /** Returns where a setting is given; one that this command gives is named itself. */
    private static String place(Setting setting) {
        return setting.origin() == Origin.BUILDER ? setting.name() : setting.place();
    }
}
