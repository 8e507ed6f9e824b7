import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.TimeZone;
import org.joda.time.DateTime;
import org.joda.time.DateTimeZone;
import org.joda.time.format.DateTimeFormat;
import org.joda.time.format.DateTimeFormatter;
import org.joda.time.format.ISODateTimeFormat;

/** Answers questions from standard input, one line each, with what Joda-Time says; fields are parted by tabs. */
public final class Oracle {
    private static final DateTimeFormatter TIMESTAMP = ISODateTimeFormat.dateTimeParser();

    public static void main(String[] arguments) throws IOException {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.println(escaped(answer(unescaped(line).split("\u0001", -1))));
        }
        answers.flush();
    }

    private static String answer(String[] question) {
        try {
            switch (question[0]) {
                case "zone":
                    return DateTimeZone.forID(question[1]).getID();
                case "java":
                    return DateTimeZone.forTimeZone(TimeZone.getTimeZone(question[1])).getID();
                case "zones":
                    return String.join(" ", DateTimeZone.getAvailableIDs());
                case "print":
                    return print(question[1], question[2], question[3], Long.parseLong(question[4]));
                case "bucket":
                    return Long.toString(
                            bucket(question[1], Long.parseLong(question[2]), Long.parseLong(question[3])));
                case "timestamp":
                    return Long.toString(timestamp(question[1], question[2]));
                case "transitions":
                    return transitions(question[1], Long.parseLong(question[2]), Long.parseLong(question[3]));
                default:
                    throw new IllegalStateException("No such question: " + question[0]);
            }
        } catch (IllegalArgumentException | ArithmeticException | UnsupportedOperationException refused) {
            return "!" + refused.getMessage();
        }
    }

    private static String print(String pattern, String zone, String locale, long at) {
        DateTimeFormatter formatter = DateTimeFormat.forPattern(pattern);
        formatter = formatter.withZone(DateTimeZone.forID(zone)).withLocale(Locale.forLanguageTag(locale));
        return formatter.print(new DateTime(at));
    }

    /** The sink's own formula, but with the floor of the quotient: the same from 1970 on. */
    private static long bucket(String id, long duration, long at) {
        DateTimeZone zone = DateTimeZone.forID(id);
        long local = Math.floorDiv(zone.convertUTCToLocal(at), duration) * duration;
        return zone.convertLocalToUTC(local, false);
    }

    /** The sink's rule for text, with a zone for what names none. */
    private static long timestamp(String zone, String text) {
        if (text.matches("-?[0-9]{1,19}")) {
            return Long.parseLong(text);
        }
        return TIMESTAMP.withZone(DateTimeZone.forID(zone)).parseMillis(text);
    }

    /** The offset at `from`, then every change of it: "offset", "at offset", ... */
    private static String transitions(String id, long from, long until) {
        DateTimeZone zone = DateTimeZone.forID(id);
        StringBuilder found = new StringBuilder().append(zone.getOffset(from));
        long at = from;
        for (long next = zone.nextTransition(at); next != at && next <= until; next = zone.nextTransition(at)) {
            if (zone.getOffset(next) != zone.getOffset(next - 1)) {
                found.append(' ').append(next).append(' ').append(zone.getOffset(next));
            }
            at = next;
        }
        return found.toString();
    }

    private static String unescaped(String line) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (c == '\t') {
                text.append('\u0001');
            } else if (c == '\\') {
                c = line.charAt(++i);
                text.append(c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c);
            } else {
                text.append(c);
            }
        }
        return text.toString();
    }

    private static String escaped(String text) {
        return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r");
    }
}
