package site

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"retwis/internal/redis/store"
)

func TestMaxMemory(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"auto": 0, "none": store.NoMemoryLimit, "2GB": 2 << 30, "512mb": 512 << 20} {
		var m MaxMemory
		if err := m.Set(text); err != nil || m.Bytes() != want {
			t.Errorf("%s: %d, %v; want %d", text, m.Bytes(), err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "1MB", "much", "60%"} {
		if err := new(MaxMemory).Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if limit := store.DefaultMaxMemory(); limit < leastMemory {
		t.Errorf("the default is %d", limit)
	}
}

// Each level is logged once, and again after the memory was freed.
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
		{80, "fills up"},
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
		w.look([]store.MemoryUse{{Address: "a", Used: step.used, Max: 100}, {Address: "b", Used: 1 << 40}})
		if got := log.String(); !strings.Contains(got, step.want) || (step.want == "") != (got == "") {
			t.Errorf("at %d: %q, want %q", step.used, got, step.want)
		}
	}
}
