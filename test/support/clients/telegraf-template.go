// Executes a batch template, read from standard input, on several metrics, like Telegraf's output plugins; prints the body. The template
// engine is the real one. The metrics are stubs with the methods that Telegraf documents for templates, and only those functions of the
// sprig library are available that the template uses.
package main

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"strings"
	"text/template"
	"time"
)

type metric struct {
	name   string
	tags   map[string]string
	fields map[string]interface{}
}

func (m metric) Name() string                   { return m.name }
func (m metric) Tags() map[string]string        { return m.tags }
func (m metric) Fields() map[string]interface{} { return m.fields }
func (m metric) Tag(key string) string          { return m.tags[key] }
func (m metric) Field(key string) interface{}   { return m.fields[key] }
func (m metric) Time() time.Time                { return time.UnixMilli(1700000000123) }

var functions = template.FuncMap{
	"dict":    func() map[string]interface{} { return map[string]interface{}{} },
	"replace": func(old, new, text string) string { return strings.ReplaceAll(text, old, new) },
	"set": func(dict map[string]interface{}, key string, value interface{}) map[string]interface{} {
		dict[key] = value
		return dict
	},
	// The result is empty for a value that JSON cannot represent.
	"toJson": func(value interface{}) string {
		text, _ := json.Marshal(value)
		return string(text)
	},
}

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	metrics := []metric{
		{"cpu", map[string]string{"host": "web1", "cpu": "cpu0"}, map[string]interface{}{"usage_idle": 1.5}},
		{"disk", map[string]string{"host": "web1", "path": "/var"}, map[string]interface{}{
			"free": uint64(18446744073709551615), "used": int64(-9007199254740993), "share": math.NaN(), "read_only": false,
			"label": "a \"<b>\" \\ é\n",
		}},
		{"a/b", nil, map[string]interface{}{"share": math.Inf(1)}},
		{"cpu", map[string]string{"host": "web1", "cpu": "cpu0"}, map[string]interface{}{"usage_idle": 2.25}},
	}
	parsed := template.Must(template.New("batch").Funcs(functions).Parse(string(text)))
	if err := parsed.Execute(os.Stdout, &metrics); err != nil {
		panic(err)
	}
}
