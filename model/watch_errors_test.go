package model

import (
	"testing"

	"retwis/internal/redistest"
)

// A watch goes on after a script has kept the server busy.
func TestBusyIsTemporary(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t, "lua-time-limit 1")
	busy, client, done := server.Client(t), server.Client(t), make(chan error, 1)
	go func() {
		done <- busy.Do(t.Context(), busy.B().Eval().Script("while true do end").Numkeys(0).Build()).Error()
	}()
	var err error
	for err == nil { // until the script runs
		err = client.Do(t.Context(), client.B().Xrange().Key("changes").Start("-").End("+").Build()).Error()
	}
	if !temporary(err) {
		t.Errorf("%v ends a watch", err)
	}
	for killed := false; !killed; {
		killed = client.Do(t.Context(), client.B().ScriptKill().Build()).Error() == nil
	}
	if err := <-done; temporary(err) {
		t.Errorf("%v does not end a watch", err)
	}
}
