// ARX on a CSV file: java -cp arx.jar Arx.java table.csv k output.csv hierarchies full|local column ...
//
// full: full-domain recoding, with a tenth of the records suppressed at most.
// local: local recoding, the fast form (each record may be recoded to levels of its own).
// Columns that are not named are insensitive. A suppressed record is a row of * only.

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;

public class Arx {
    public static void main(String[] words) throws Exception {
        boolean local = words[4].equals("local");
        Set<String> quasi = new HashSet<>(Arrays.asList(words).subList(5, words.length));
        Data data = Data.create(new File(words[0]), StandardCharsets.UTF_8, ',');
        DataHandle original = data.getHandle();
        for (int column = 0; column < original.getNumColumns(); column++) {
            String name = original.getAttributeName(column);
            if (quasi.contains(name)) {
                File tree = new File(words[3], name + ".csv");
                data.getDefinition().setAttributeType(name, Hierarchy.create(tree, StandardCharsets.UTF_8, ';'));
            } else {
                data.getDefinition().setAttributeType(name, AttributeType.INSENSITIVE_ATTRIBUTE);
            }
        }
        ARXConfiguration asked = ARXConfiguration.create();
        asked.addPrivacyModel(new KAnonymity(Integer.parseInt(words[1])));
        asked.setSuppressionLimit(local ? 1d : 0.1d);
        asked.setQualityModel(local ? Metric.createLossMetric(0d) : Metric.createLossMetric());
        ARXResult result = new ARXAnonymizer().anonymize(data, asked);
        DataHandle output = result.getOutput();
        if (local) {
            result.optimizeIterativeFast(output, 0.01d);
        }
        output.save(words[2], ',');
    }
}
