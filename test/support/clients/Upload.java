// Uploads numbered lines with java.net.http, and prints the text of the response and then its status. The parameters are environment
// variables: URL, TOKEN, NAME, LINES. The argument is "length" if the body has one, "expect" if the client waits for a 100. The client is
// the default one, which offers HTTP/2 with each request.
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.net.URI;
import java.net.http.*;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.util.Enumeration;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

public class Upload {
    static Stream<String> lines() {
        return IntStream.range(0, Integer.parseInt(System.getenv("LINES"))).mapToObj(i -> {
            String operation = i % 500 == 250 ? "\"set\",\"path\":\"none" : "\"addAndSet\",\"path\":\"up";
            return String.format("{\"op\":%s/%s/%d\",\"value\":%d}\n", operation, System.getenv("NAME"), i, i);
        });
    }

    static InputStream stream() {
        var lines = lines().iterator();
        return new SequenceInputStream(new Enumeration<InputStream>() {
            @Override
            public boolean hasMoreElements() {
                return lines.hasNext();
            }

            @Override
            public InputStream nextElement() {
                return new ByteArrayInputStream(lines.next().getBytes(StandardCharsets.UTF_8));
            }
        });
    }

    public static void main(String[] args) throws Exception {
        var request = HttpRequest.newBuilder(URI.create(System.getenv("URL")))
            .header("authorization", "Apikey " + System.getenv("TOKEN"))
            .header("content-type", "application/x-ndjson")
            .expectContinue(args[0].equals("expect"))
            .POST(args[0].equals("length")
                ? BodyPublishers.ofString(lines().collect(Collectors.joining()))
                : BodyPublishers.ofInputStream(Upload::stream));
        var response = HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
        System.out.println(response.body());
        System.out.println(response.statusCode());
    }
}
