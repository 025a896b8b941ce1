package shell

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"retwis/internal/redis/store"
)

// ownServer holds the settings of an embedded server. Every command may start the server, or take
// it over when the site ends, so the variables apply to all commands. Only a few commands have the
// flags.
type ownServer struct {
	flags  *pflag.FlagSet
	fsync  Choice
	memory maxMemory
}

func newOwnServer() *ownServer {
	modes := []string{"everysec", "always"}
	s := &ownServer{flags: pflag.NewFlagSet("", pflag.ContinueOnError), fsync: Choice{Value: modes[0], values: modes}}
	s.flags.Var(&s.fsync, "fsync", "when the embedded server forces writes to the disk: everysec, always")
	s.flags.Var(&s.memory, "max-memory", "how much memory the embedded server may use: auto (60 % of the machine's), none, or a size such as 2GB")
	return s
}

// AddServer adds the flags of an embedded server. Their variables apply to every command.
func AddServer(c *Command) {
	c.Flags().AddFlagSet(c.server.flags)
	// RegisterFlagCompletionFunc fails only if the flag already has completions.
	_ = c.RegisterFlagCompletionFunc("fsync", cobra.FixedCompletions(c.server.fsync.values, cobra.ShellCompDirectiveNoFileComp))
}

// Configure completes the options for opening a command's database.
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

// minMemory is the minimum of --max-memory. A server with a small site needs more.
const minMemory = 16 << 20

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
	case size < minMemory:
		return fmt.Errorf("%d bytes is too little: use at least 16MB", size)
	default:
		m.bytes = int64(size)
	}
	return nil
}
