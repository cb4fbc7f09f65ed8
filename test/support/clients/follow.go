// Follows changes with net/http, and prints the data of each event on a line. The parameters are environment variables: URL, TOKEN, BODY.
package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

var last string

// follow reads one stream to its end.
func follow() error {
	request, err := http.NewRequest("POST", os.Getenv("URL")+"/topics/changes", strings.NewReader(os.Getenv("BODY")))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Apikey "+os.Getenv("TOKEN"))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		return fmt.Errorf("status %s", response.Status)
	}
	fields := map[string]string{}
	scanner := bufio.NewScanner(response.Body)
	// By default a line is limited to 64 KiB. The line of an event can be slightly longer, or much longer with a large value.
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		line := scanner.Text()
		if line != "" {
			name, value, _ := strings.Cut(line, ": ")
			fields[name] = value
			continue
		}
		if data, found := fields["data"]; found && fields["event"] == "" {
			fmt.Println(data)
			last = fields["id"]
		}
		fields = map[string]string{}
	}
	return scanner.Err()
}

func main() {
	for {
		fmt.Fprintln(os.Stderr, follow())
		time.Sleep(200 * time.Millisecond)
	}
}
