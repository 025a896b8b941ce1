package model_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/model"
)

// writer is the name of the connections of a process that is killed.
const writer = "writer"

// TestMain also runs the test binary as a writer process, for tests that kill writers.
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

// writeUntilKilled writes citizens until it is killed. It prints a dot per write.
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
			for {
				if err := randomWrite(context.Background(), citizens, random); err == nil {
					fmt.Print(".")
				}
			}
		}()
	}
	select {}
}

// startWriter starts a writer and waits until it has written some hundred times.
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
	dots := make([]byte, 150+rand.IntN(200))
	if n, err := io.ReadFull(out, dots); err != nil || strings.Trim(string(dots), ".") != "" {
		t.Errorf("the writer printed %q, %v; want dots", dots[:n], err)
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// Writers killed at any moment leave consistent records and indexes. With partitions, killed
// writers may leave claims of values that no record has, and any record can take these values.
func TestWritersKilled(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprint(partitions, " partitions"), func(t *testing.T) {
			t.Parallel()
			server := redistest.TCP(t)
			opt := model.Options{Name: "citizen", Partitions: partitions}
			for range 3 {
				cmd := startWriter(t, server.URL(), partitions)
				kill(cmd)
				server.WaitDisconnected(t, writer)
				checkLeftovers(t, server.Client(t), opt)
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
				server.Kill(t)
				kill(cmd)
				server.Restart(t, true)
				checkLeftovers(t, server.Client(t), opt)
			}
		})
	}
}

// checkLeftovers checks what a killed writer left, after it has claimed the values of abandoned
// claims.
func checkLeftovers(t *testing.T, client rueidis.Client, opt model.Options) {
	t.Helper()
	citizens := store[citizen](t, client, opt)
	for _, email := range abandoned(t, client, opt, citizens, "email") {
		c, err := citizens.Create(t.Context(), citizen{Email: email})
		if err != nil {
			t.Fatalf("e-mail address %s has an abandoned claim and cannot be taken: %v", email, err)
		}
		if err := citizens.Delete(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
	for _, phone := range abandoned(t, client, opt, citizens, "phone") {
		c, err := citizens.Create(t.Context(), citizen{Email: "nobody else's", Phone: &phone})
		if err != nil {
			t.Fatalf("phone number %s has an abandoned claim and cannot be taken: %v", phone, err)
		}
		if err := citizens.Delete(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
	if len(agree(t, client, opt, citizens)) == 0 {
		t.Error("the writers left no records")
	}
}

// abandoned returns the values of a unique index that are claimed but that no record has. It
// confirms the claims of other values.
func abandoned(t *testing.T, client rueidis.Client, opt model.Options, citizens *model.Store[citizen], index string) []string {
	t.Helper()
	var all []string
	for i := range opt.Partitions {
		fields, err := client.Do(t.Context(), client.B().Hgetall().Key(fmt.Sprintf("{%s.%d}.by.%s", opt.Name, i, index)).Build()).AsStrMap()
		if err != nil {
			t.Fatal(err)
		}
		for value, text := range fields {
			id, _, deadline := splitClaim(text)
			c, err := citizens.Get(t.Context(), id)
			if has := err == nil && (index == "email" && c.Email == value || index == "phone" && c.Phone != nil && *c.Phone == value); !has {
				all = append(all, value)
			} else if deadline != "" {
				checkTaken(t, citizens, index, value)
			}
		}
	}
	return all
}

// checkTaken fails the test if a new record can take a value. The attempt to take the value
// confirms the claim of its owner.
func checkTaken(t *testing.T, citizens *model.Store[citizen], index, value string) {
	t.Helper()
	c := citizen{Email: value}
	if index == "phone" {
		c = citizen{Email: "nobody's", Phone: &value}
	}
	if c, err := citizens.Create(t.Context(), c); err == nil {
		t.Fatalf("record %s could also take %s %s", c.ID, index, value)
	}
}
