import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Answers questions from standard input, one line each: decimal.format and replace.null.with.default, then an envelope
 * in base64, parted by tabs. The answer is what JsonConverter writes of it without the envelope, in base64, after `=`;
 * `0` for a value that is null; after `!` why it refused, and after `?` what happened when it took the value and could
 * not write it.
 */
public final class Oracle {
    public static void main(String[] arguments) throws IOException {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            String[] question = line.split("\t", -1);
            String answer = answer(question[0], question[1], Base64.getDecoder().decode(question[2]));
            answers.println(answer.replace('\n', ' ').replace('\r', ' '));
        }
        answers.flush();
    }

    private static String answer(String decimals, String defaults, byte[] envelope) {
        SchemaAndValue read;
        try (JsonConverter reader = new JsonConverter()) {
            reader.configure(Map.of("schemas.enable", "true", "replace.null.with.default", defaults), false);
            read = reader.toConnectData("t", envelope);
        } catch (RuntimeException refused) {
            return "!" + refused;
        }
        if (read.value() == null) {
            return "0";
        }
        try (JsonConverter writer = new JsonConverter()) {
            writer.configure(Map.of("schemas.enable", "false", "decimal.format", decimals,
                    "replace.null.with.default", defaults), false);
            byte[] written = writer.fromConnectData("t", read.schema(), read.value());
            return "=" + Base64.getEncoder().encodeToString(written);
        } catch (RuntimeException refused) {
            return "?" + refused;
        }
    }
}
