package shell

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"retwis/internal/redis/store"
)

// ownServer has the settings of an embedded server. Every command may start it, or take it over
// when the site ends, so the variables set them for all commands; only a few have the flags.
type ownServer struct {
	flags  *pflag.FlagSet
	fsync  Choice
	memory maxMemory
}

func newOwnServer() *ownServer {
	modes := []string{"everysec", "always"}
	s := &ownServer{flags: pflag.NewFlagSet("", pflag.ContinueOnError), fsync: Choice{Value: modes[0], values: modes}}
	s.flags.Var(&s.fsync, "fsync", "when our own server forces writes to the disk: everysec, always")
	s.flags.Var(&s.memory, "max-memory", "how much memory our own server may use: auto (60 % of the machine's), none, or a size such as 2GB")
	return s
}

// AddServer adds the flags of an embedded server, which have variables in every command.
func AddServer(c *Command) {
	c.Flags().AddFlagSet(c.server.flags)
	// It fails only where a flag has completions already.
	_ = c.RegisterFlagCompletionFunc("fsync", cobra.FixedCompletions(c.server.fsync.values, cobra.ShellCompDirectiveNoFileComp))
}

// Configure completes the options with which a command opens its database.
func Configure(c *Command, opt store.Options) store.Options {
	if opt.Logger == nil {
		opt.Logger = c.Log()
	}
	opt.Getenv, opt.Create = c.Getenv, c.Creates
	opt.Fsync, opt.MaxMemory = c.server.fsync.Value, c.server.memory.bytes
	return opt
}

// maxMemory is the value of --max-memory: store.Options.MaxMemory.
type maxMemory struct{ bytes int64 }

// leastMemory is less than a server with a small site needs.
const leastMemory = 16 << 20

// Type implements pflag.Value.
func (m *maxMemory) Type() string { return "size" }

func (m *maxMemory) String() string {
	switch m.bytes {
	case 0:
		return "auto"
	case store.NoMemoryLimit:
		return "none"
	}
	size := ByteSize(m.bytes)
	return size.String()
}

// Set implements pflag.Value.
func (m *maxMemory) Set(text string) error {
	var size ByteSize
	switch {
	case text == "auto":
		m.bytes = 0
	case text == "none":
		m.bytes = store.NoMemoryLimit
	case size.Set(text) != nil:
		return errors.New("use auto, none, or a size such as 512MB or 2GB")
	case size < leastMemory:
		return fmt.Errorf("%d bytes are too few: use at least 16MB", size)
	default:
		m.bytes = int64(size)
	}
	return nil
}
