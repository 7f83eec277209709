// Reads records of events.accepted.v1: one JSON line {"headers": {...}, "value": "<base64>"} each, as a Kafka client has them.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
)

const recordBytesMax = 1_000_000

type event struct {
	EventID   string `json:"event_id"`
	EventName string `json:"event_name"`
}

type envelope struct {
	V           int     `json:"v"`
	AppID       string  `json:"app_id"`
	InstallUUID string  `json:"install_uuid"`
	Events      []event `json:"events"`
	Body        struct {
		Events []event `json:"events"`
	} `json:"body"`
}

// inflate gives the contents of all members of a gzip file, and an error above recordBytesMax.
func inflate(value []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(value))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(reader, recordBytesMax+1))
	if err == nil && len(text) > recordBytesMax {
		err = errors.New("record too large")
	}
	return text, err
}

func readEnvelope(headers map[string]string, value []byte) (envelope, error) {
	var read envelope
	if headers["content-encoding"] == "gzip" {
		var err error
		if value, err = inflate(value); err != nil {
			return read, err
		}
	}
	if err := json.Unmarshal(value, &read); err != nil {
		return read, err
	}
	switch read.V {
	case 1:
	case 2:
		read.Events = read.Body.Events
	default:
		return read, errors.New("envelope of an unknown version")
	}
	return read, nil
}

func printEvents(line []byte) error {
	var record struct {
		Headers map[string]string `json:"headers"`
		Value   []byte            `json:"value"` // base64
	}
	if err := json.Unmarshal(line, &record); err != nil {
		return err
	}
	envelope, err := readEnvelope(record.Headers, record.Value)
	if err != nil {
		return err
	}
	for _, one := range envelope.Events {
		fmt.Println(envelope.AppID, envelope.InstallUUID, one.EventID, one.EventName)
	}
	return nil
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 4*recordBytesMax)
	for lines.Scan() {
		if err := printEvents(lines.Bytes()); err != nil {
			log.Print("record left out: ", err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}
