package site

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"retwis/internal/redis/store"
)

// Each level is logged once, and again after memory has been freed.
func TestMemoryWatch(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := memoryWatch{log: slog.New(slog.NewTextHandler(&log, nil)), reported: map[string]int{}}
	for _, step := range []struct {
		used int64
		want string
	}{
		{50, ""},
		{79, ""},
		{80, "filling up"},
		{85, ""},
		{90, "nearly full"},
		{81, ""},
		{99, ""},
		{100, "is full"},
		{120, ""},
		{76, ""},
		{82, ""},
		{74, ""},
		{91, "nearly full"},
		{0, ""},
	} {
		log.Reset()
		w.check([]store.MemoryUse{{Address: "a", Used: step.used, Max: 100}, {Address: "b", Used: 1 << 40}})
		if got := log.String(); !strings.Contains(got, step.want) || (step.want == "") != (got == "") {
			t.Errorf("at %d: %q, want %q", step.used, got, step.want)
		}
	}
}
