// Uploads numbered lines with net/http, and prints the text of the response and then its status. The parameters are environment variables:
// URL, TOKEN, NAME, LINES. The argument is "length" if the body has one. The client is the default one.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

func writeLines(to io.Writer) error {
	count, _ := strconv.Atoi(os.Getenv("LINES"))
	for i := 0; i < count; i++ {
		operation := `"addAndSet","path":"up`
		if i%500 == 250 {
			operation = `"set","path":"none`
		}
		if _, err := fmt.Fprintf(to, `{"op":%s/%s/%d","value":%d}`+"\n", operation, os.Getenv("NAME"), i, i); err != nil {
			return err
		}
	}
	return nil
}

func body() io.Reader {
	if os.Args[1] == "length" {
		var whole bytes.Buffer
		writeLines(&whole)
		return &whole
	}
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(writeLines(writer)) }()
	return reader
}

func main() {
	request, _ := http.NewRequest("POST", os.Getenv("URL"), body())
	request.Header.Set("authorization", "Apikey "+os.Getenv("TOKEN"))
	request.Header.Set("content-type", "application/x-ndjson")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("\n%d\n", response.StatusCode)
}
