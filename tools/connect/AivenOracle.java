// Objects of Aiven's own writers: a configuration and records in, one object out, a line for each.
//
// Lines in: type, fields, envelope, encoding, then a field for each record of key, value, offset, timestamp and
// headers, which are separated by ";" (bytes in base64, "-" for null; of headers name:value,name:value).
// Values are JSON without a schema; of csv bytes. Keys are text. Lines out: the object in base64.

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;

import io.aiven.kafka.connect.common.config.CompressionType;
import io.aiven.kafka.connect.common.config.FormatType;
import io.aiven.kafka.connect.common.config.OutputField;
import io.aiven.kafka.connect.common.config.OutputFieldEncodingType;
import io.aiven.kafka.connect.common.config.OutputFieldType;
import io.aiven.kafka.connect.common.output.OutputWriter;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.apache.kafka.connect.storage.StringConverter;

public class AivenOracle {
    private static final JsonConverter JSON = new JsonConverter();
    private static final StringConverter TEXT = new StringConverter();
    private static final SimpleHeaderConverter HEADERS = new SimpleHeaderConverter();

    public static void main(String[] args) throws Exception {
        JSON.configure(Map.of("schemas.enable", false), false);
        TEXT.configure(Map.of(), true);
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(Base64.getEncoder().encodeToString(object(line.split("\t"))));
        }
    }

    private static byte[] object(String[] given) throws Exception {
        List<OutputField> fields = new ArrayList<>();
        for (String name : given[1].split(",")) {
            fields.add(new OutputField(OutputFieldType.forName(name), OutputFieldEncodingType.forName(given[3])));
        }
        var out = new ByteArrayOutputStream();
        try (var writer = OutputWriter.builder()
                .withCompressionType(CompressionType.NONE)
                .withExternalProperties(Map.of())
                .withOutputFields(fields)
                .withEnvelopeEnabled(Boolean.valueOf(given[2]))
                .build(out, FormatType.forName(given[0]))) {
            for (int at = 4; at < given.length; at++) {
                writer.writeRecord(record(given[at].split(";", -1), given[0].equals("csv")));
            }
        }
        return out.toByteArray();
    }

    private static SinkRecord record(String[] given, boolean csv) {
        SchemaAndValue key = TEXT.toConnectData("t", bytes(given[0]));
        SchemaAndValue value = csv
                ? new SchemaAndValue(Schema.OPTIONAL_BYTES_SCHEMA, bytes(given[1]))
                : JSON.toConnectData("t", bytes(given[1]));
        var headers = new ConnectHeaders();
        for (String each : given[4].isEmpty() ? new String[0] : given[4].split(",")) {
            String[] parts = each.split(":", -1);
            String name = new String(bytes(parts[0]), StandardCharsets.UTF_8);
            headers.add(name, HEADERS.toConnectHeader("t", name, bytes(parts[1])));
        }
        Long timestamp = given[3].equals("-") ? null : Long.valueOf(given[3]);
        return new SinkRecord("t", 0, key.schema(), key.value(), value.schema(), value.value(),
                Long.parseLong(given[2]), timestamp, TimestampType.CREATE_TIME, headers);
    }

    private static byte[] bytes(String text) {
        return text.equals("-") ? null : Base64.getDecoder().decode(text);
    }
}
