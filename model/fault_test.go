package model_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/model"
)

// writer is the name of the connections of a process that is killed.
const writer = "writer"

// The test binary also runs as a writer, to be killed.
func TestMain(m *testing.M) {
	if url := os.Getenv("MODEL_TEST_WRITER"); url != "" {
		partitions, _ := strconv.Atoi(os.Getenv("MODEL_TEST_PARTITIONS"))
		if err := writeUntilKilled(url, partitions); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	redistest.Main(m)
}

// writeUntilKilled writes citizens until it is killed. It prints a line once it has started.
func writeUntilKilled(url string, partitions int) error {
	go func() { // ends the process when the parent test ends, however that happens
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	opt, err := rueidis.ParseURL(url)
	if err != nil {
		return err
	}
	opt.ClientName = writer
	client, err := rueidis.NewClient(opt)
	if err != nil {
		return err
	}
	citizens, err := model.New[citizen](context.Background(), client, model.Options{Name: "citizen", Partitions: partitions})
	if err != nil {
		return err
	}
	for w := range 8 {
		random := rand.New(rand.NewPCG(uint64(w), rand.Uint64()))
		go func() {
			for i := 0; ; i++ {
				err := anything(context.Background(), citizens, random)
				if err == nil && i == 20 && w == 0 {
					fmt.Println("writing")
				}
			}
		}()
	}
	select {}
}

// startWriter starts a writer and waits until it is writing.
func startWriter(t *testing.T, url string, partitions int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MODEL_TEST_WRITER="+url, fmt.Sprint("MODEL_TEST_PARTITIONS=", partitions))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil { // stays open as long as this process lives
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	word := make([]byte, len("writing"))
	if _, err := io.ReadFull(out, word); err != nil || string(word) != "writing" {
		rest, _ := io.ReadAll(out)
		t.Errorf("%q%q, %v", word, rest, err)
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// Writers killed at any moment leave consistent records and indexes. In a model with partitions
// they may leave unique values that no record has, and that any record can take.
func TestWritersKilled(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprint(partitions, " partitions"), func(t *testing.T) {
			t.Parallel()
			server := redistest.TCP(t)
			opt := model.Options{Name: "citizen", Partitions: partitions}
			for range 3 {
				cmd := startWriter(t, server.URL(), partitions)
				time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond) // any moment will do
				kill(cmd)
				server.WaitDisconnected(t, writer)
				left(t, server.Client(t), opt)
			}
		})
	}
}

// A server killed during writes restarts with consistent records and indexes.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprint(partitions, " partitions"), func(t *testing.T) {
			t.Parallel()
			server := redistest.TCP(t, "appendonly yes", "appendfsync always", `save ""`)
			opt := model.Options{Name: "citizen", Partitions: partitions}
			for range redistest.Cases(1, 3) {
				cmd := startWriter(t, server.URL(), partitions)
				time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond) // any moment will do
				server.Kill(t)
				kill(cmd)
				server.Restart(t, true)
				left(t, server.Client(t), opt)
			}
		})
	}
}

// left checks the leftovers of a killed writer, and resolves abandoned claims by claiming their
// values.
func left(t *testing.T, client rueidis.Client, opt model.Options) {
	t.Helper()
	citizens := store[citizen](t, client, opt)
	for _, email := range abandoned(t, client, opt, citizens, "email") {
		c, err := citizens.Create(t.Context(), citizen{Email: email})
		if err != nil {
			t.Fatalf("nobody has %s: %v", email, err)
		}
		if err := citizens.Delete(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
	for _, phone := range abandoned(t, client, opt, citizens, "phone") {
		c, err := citizens.Create(t.Context(), citizen{Email: "nobody else's", Phone: &phone})
		if err != nil {
			t.Fatalf("nobody has %s: %v", phone, err)
		}
		if err := citizens.Delete(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
	if len(agree(t, client, opt, citizens)) == 0 {
		t.Error("no record is left")
	}
}

// abandoned returns the values of a unique index, in other slots, that no record has. Looking
// up a value that a record has confirms its claim.
func abandoned(t *testing.T, client rueidis.Client, opt model.Options, citizens *model.Store[citizen], index string) []string {
	t.Helper()
	var all []string
	for i := range opt.Partitions {
		fields, err := client.Do(t.Context(), client.B().Hgetall().Key(fmt.Sprintf("{%s.%d}.by.%s", opt.Name, i, index)).Build()).AsStrMap()
		if err != nil {
			t.Fatal(err)
		}
		for value, text := range fields {
			id, _, deadline := cut(text)
			c, err := citizens.Get(t.Context(), id)
			if has := err == nil && (index == "email" && c.Email == value || index == "phone" && c.Phone != nil && *c.Phone == value); !has {
				all = append(all, value)
			} else if deadline != "" {
				settled(t, citizens, index, value)
			}
		}
	}
	return all
}

// settled looks up a value that a record has.
func settled(t *testing.T, citizens *model.Store[citizen], index, value string) {
	t.Helper()
	c := citizen{Email: value}
	if index == "phone" {
		c = citizen{Email: "nobody's", Phone: &value}
	}
	if c, err := citizens.Create(t.Context(), c); err == nil {
		t.Fatalf("%s %s is had by %s too", index, value, c.ID)
	}
}
