package shell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// Choice is the value of a flag that takes one of a fixed set of values.
type Choice struct {
	Value  string
	values []string
}

// AddChoice adds a flag whose default is the first value.
func (c *Command) AddChoice(name, usage string, values ...string) *Choice {
	choice := &Choice{Value: values[0], values: values}
	c.Flags().Var(choice, name, usage+": "+strings.Join(values, ", "))
	// RegisterFlagCompletionFunc fails only if the flag already has completions.
	_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	return choice
}

// CompleteArgument returns the completion for a command whose argument n, counted from 0, is one of
// words.
func CompleteArgument(n int, words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) != n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

func (c *Choice) String() string { return c.Value }

// Type implements pflag.Value.
func (c *Choice) Type() string { return "word" }

// Set implements pflag.Value.
func (c *Choice) Set(value string) error {
	if !slices.Contains(c.values, value) {
		return fmt.Errorf("use one of %s", strings.Join(c.values, ", "))
	}
	c.Value = value
	return nil
}

// ByteSize is the value of a flag that takes a number of bytes: 4MB, 512KB, 65536.
type ByteSize int64

// Type implements pflag.Value.
func (b *ByteSize) Type() string { return "bytes" }

func (b *ByteSize) String() string {
	switch n := int64(*b); {
	case n > 0 && n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "MB"
	case n > 0 && n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "KB"
	default:
		return strconv.FormatInt(n, 10)
	}
}

// Set implements pflag.Value.
func (b *ByteSize) Set(text string) error {
	digits := strings.ToUpper(text)
	unit := int64(1)
	for _, u := range []struct {
		name string
		size int64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}} {
		if rest, ok := strings.CutSuffix(digits, u.name); ok {
			digits, unit = rest, u.size
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("use a number of bytes, such as 65536, 512KB, 4MB or 1GB")
	}
	*b = ByteSize(n * unit)
	return nil
}
